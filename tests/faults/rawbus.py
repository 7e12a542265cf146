# SPDX-License-Identifier: GPL-2.0-or-later
"""A D-Bus client that does what it is told, however absurd, and a private bus to be on."""

import atexit
import os
import socket
import struct
import subprocess
import time

NAME, PATH, MANAGER = "org.pipewatch1", "/org/pipewatch1", "org.pipewatch1.Manager"
PROPERTIES = "org.freedesktop.DBus.Properties"

CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>unix:path={path}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
  <limit name="max_message_size">33554432</limit>
</busconfig>
"""


class Bus:
    """A dbus-daemon of our own, which takes messages of the size that the system bus does."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "bus")
        self.address = "unix:path=" + self.path
        self.configuration = os.path.join(directory, "bus.conf")
        with open(self.configuration, "w") as f:
            f.write(CONFIGURATION.format(path=self.path))
        self.process = None
        self.start()
        atexit.register(self.stop)

    def start(self):
        self.process = subprocess.Popen(["dbus-daemon", "--nofork", "--config-file", self.configuration],
                                        stderr=subprocess.DEVNULL)
        while not os.path.exists(self.path):
            time.sleep(0.01)

    def stop(self):
        self.process.kill()
        self.process.wait()
        if os.path.exists(self.path):
            os.unlink(self.path)


def pad(data, to):
    return data + b"\0" * (-len(data) % to)


def string(s):
    data = s.encode() if isinstance(s, str) else s
    return struct.pack("<I", len(data)) + data + b"\0"


class Client:
    """Speaks on the bus at a path; calls give (error name or None, signature, body)."""

    def __init__(self, path, timeout=10, files=False):
        self.socket = socket.socket(socket.AF_UNIX)
        # The timeout is one of answers, not of the bus itself.
        self.socket.settimeout(max(timeout, 20))
        self.socket.connect(path)
        self.serial = 0
        self.buffer = b""
        self.socket.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        if not self.socket.recv(1000).startswith(b"OK "):
            raise ConnectionError("the bus does not let us in")
        if files:
            self.socket.sendall(b"NEGOTIATE_UNIX_FD\r\n")
            self.socket.recv(1000)
        self.socket.sendall(b"BEGIN\r\n")
        self.call_bus("Hello")
        self.socket.settimeout(timeout)

    def close(self):
        self.socket.close()

    def send(self, member, signature="", body=b"", destination=NAME, path=PATH, interface=MANAGER, files=()):
        self.serial += 1
        fields = b""
        for code, kind, value in ((1, "o", path), (2, "s", interface), (3, "s", member), (6, "s", destination)):
            if value:
                fields = pad(fields, 8) + bytes([code, 1]) + kind.encode() + b"\0" + string(value)
        if signature:
            fields = pad(fields, 8) + bytes([8, 1]) + b"g\0" + bytes([len(signature)]) + signature.encode() + b"\0"
        if files:
            fields = pad(fields, 8) + bytes([9, 1]) + b"u\0" + struct.pack("<I", len(files))
        data = pad(struct.pack("<cBBBIII", b"l", 1, 0, 1, len(body), self.serial, len(fields)) + fields, 8) + body
        if files:
            socket.send_fds(self.socket, [data], files)
        else:
            self.socket.sendall(data)
        return self.serial

    def fill(self, n):
        while len(self.buffer) < n:
            data = self.socket.recv(65536)
            if not data:
                raise ConnectionError("the bus has hung up")
            self.buffer += data

    def receive(self):
        """One message: type, fields, body; its serial is in self.received. All of it or, in time, nothing."""
        self.fill(16)
        order = "<" if self.buffer[:1] == b"l" else ">"
        n_body, self.received, n_fields = struct.unpack(order + "III", self.buffer[4:16])
        begin = 16 + n_fields + -n_fields % 8
        self.fill(begin + n_body)
        message, raw, body = self.buffer[1], self.buffer[16:16 + n_fields], self.buffer[begin:begin + n_body]
        self.buffer = self.buffer[begin + n_body:]
        fields, at = {}, 0
        while at < len(raw):
            code, kind = raw[at], chr(raw[at + 2])
            at += 4
            if kind == "g":
                n = raw[at]
                fields[code], at = raw[at + 1:at + 1 + n].decode(), at + n + 2
            elif kind == "u":
                fields[code], at = struct.unpack_from(order + "I", raw, at)[0], at + 4
            else:
                n, = struct.unpack_from(order + "I", raw, at)
                fields[code], at = raw[at + 4:at + 4 + n].decode(), at + n + 5
            at += -at % 8
        return message, fields, body

    def call(self, *arguments, **keywords):
        serial = self.send(*arguments, **keywords)
        while True:
            kind, fields, body = self.receive()
            if kind in (2, 3) and fields.get(5) == serial:
                return fields.get(4), fields.get(8, ""), body

    def get(self, name):
        """A property that is a string; None if it cannot be had."""
        error, _, body = self.call("Get", "ss", pad(string(MANAGER), 4) + string(name), interface=PROPERTIES)
        return None if error else body[8:-1].decode()

    def call_bus(self, *arguments):
        return self.call(*arguments, destination="org.freedesktop.DBus", path="/org/freedesktop/DBus",
                         interface="org.freedesktop.DBus")

    def owner(self):
        error, _, body = self.call_bus("GetNameOwner", "s", string(NAME))
        return None if error else body[4:-1].decode()

    def request_name(self):
        error, _, body = self.call_bus("RequestName", "su", pad(string(NAME), 4) + struct.pack("<I", 4))
        if error or body != struct.pack("<I", 1):
            raise OSError("the name is not to be had")
