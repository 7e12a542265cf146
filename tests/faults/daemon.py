# SPDX-License-Identifier: GPL-2.0-or-later
"""A pipewatchd to be hurt, results as TAP, and the rows of a table of what came of it."""

import atexit
import mmap
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
BUILD = os.environ.get("BUILD", os.path.join(TOP, "build"))
PATIENCE = 20

results = failures = 0


def equal(name, got, wanted):
    global results, failures
    results += 1
    print("ok" if got == wanted else "not ok", results, "-", name, flush=True)
    if got != wanted:
        failures += 1
        print(f"# wanted: {wanted!r}\n# got:    {got!r}", flush=True)
    return got == wanted


def fault(what, promise, words, seen, wanted):
    """A result and, where it is as wanted, a row of the table: @words say what was seen."""
    if equal(what, seen, wanted):
        print(f"# fault: {what} | {words} | {promise}", flush=True)


def wait_for(condition, seconds=PATIENCE):
    """Until the condition gives something that is true, which is returned; else what it gave last."""
    end = time.monotonic() + seconds
    while True:
        try:
            value = condition()
        except OSError:
            value = None
        if value or time.monotonic() >= end:
            return value
        time.sleep(0.01)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Faults:
    """What tests/faults/preload.c maps."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "faults")
        with open(self.path, "wb") as f:
            f.write(bytes(32))
        with open(self.path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 32)

    def fail(self, first, last):
        # Off while it is changed.
        self.map[8:24] = bytes(16)
        self.map[0:8] = bytes(8)
        self.map[16:24] = struct.pack("<q", last)
        self.map[8:16] = struct.pack("<q", first)

    def off(self):
        self.fail(0, 0)

    @property
    def count(self):
        return struct.unpack("<q", self.map[0:8])[0]

    def step_clock(self, seconds):
        self.map[24:32] = struct.pack("<q", seconds)


class Daemon:
    """Started, with its notifications, its log in a file, and a port of its own."""

    def __init__(self, *arguments, program=os.path.join(BUILD, "pipewatchd"), port=None, bus="none", faults=None,
                 fds=None, environment=None, stderr=None, wait=True):
        self.directory = tempfile.mkdtemp(prefix="pipewatch-faults-")
        self.port = port or free_port()
        self.log_path = os.path.join(self.directory, "log")
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(os.path.join(self.directory, "notify"))
        self.notify.setblocking(False)
        self.notified = []
        environment = {**os.environ, **(environment or {}),
                       "NOTIFY_SOCKET": os.path.join(self.directory, "notify")}
        if faults:
            environment.update(LD_PRELOAD=os.path.join(BUILD, "tests/faults/preload.so"), FAULTS=faults.path)

        def limit():
            if fds:
                resource.setrlimit(resource.RLIMIT_NOFILE, (fds, fds))

        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [program, "--listen", f"127.0.0.1:{self.port}", "--bus", bus, *arguments],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr or log, env=environment, preexec_fn=limit)
        atexit.register(self.close)
        if wait and not wait_for(lambda: "READY=1" in self.notifications() or self.process.poll() is not None):
            raise TimeoutError("pipewatchd is not ready")

    def notifications(self):
        while self.notify.fileno() >= 0:
            try:
                self.notified += self.notify.recv(4096).decode().split("\n")
            except BlockingIOError:
                break
        return self.notified

    def log(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def said(self, text):
        return text in self.log()

    def connect(self, timeout=10, host=None):
        return socket.create_connection(("127.0.0.1", self.port), timeout, host and (host, 0))

    def ask(self, path="/metrics", timeout=10, headers=""):
        """The whole answer; b"" if the connection was closed without one."""
        try:
            with self.connect(timeout) as s:
                s.sendall(f"GET {path} HTTP/1.0\r\n{headers}\r\n".encode())
                answer = b""
                while data := s.recv(1 << 20):
                    answer += data
                return answer
        except ConnectionResetError:
            return b""

    def status(self, path="/metrics", timeout=10):
        """Of the answer; 0 for none, or a word for what went wrong."""
        try:
            answer = self.ask(path, timeout)
        except OSError as e:
            return str(e)
        return int(answer.split(b" ", 2)[1]) if answer else 0

    def sample(self, series):
        for line in self.ask().decode().splitlines():
            if line.startswith(series + " "):
                return float(line.split(" ")[-1])
        return None

    def alive(self):
        return self.process.poll() is None

    def state(self):
        """A letter, as ps has it."""
        with open(f"/proc/{self.process.pid}/stat") as f:
            return f.read().rpartition(") ")[2][0]

    def fds(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def resident_kb(self, what="VmRSS"):
        with open(f"/proc/{self.process.pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith(what + ":"))

    def forget_peak(self):
        """Of what is resident: VmHWM is what it is now."""
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as f:
            f.write("5")

    def signal(self, number):
        # Whoever does not read what it is told is waited for.
        self.notifications()
        self.process.send_signal(number)

    def exit(self, seconds=PATIENCE):
        """Its exit status, if it ends in time."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return "still running"

    def stop(self):
        """Ends it as systemd would; (exit status, seconds)."""
        began = time.monotonic()
        if self.alive():
            self.signal(signal.SIGTERM)
        status = self.exit()
        seconds = time.monotonic() - began
        self.close()
        return status, seconds

    def close(self):
        if self.alive():
            self.process.kill()
            self.process.wait()
        self.notify.close()
        subprocess.run(["rm", "-rf", self.directory], check=False)


def done(planned):
    if results != planned:
        print(f"# {results} results, {planned} planned")
    sys.exit(1 if failures else 0)
