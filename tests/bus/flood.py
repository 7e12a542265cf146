#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks for a long list N times on the bus at SOCKET and never reads an answer; then waits for standard input to end."""
import os
import socket
import struct
import sys


def string(s):
    return struct.pack("<I", len(s)) + s.encode() + b"\0"


def pad(data, to):
    return data + b"\0" * (-len(data) % to)


def call(serial, destination, path, interface, member, body=b"", signature=""):
    fields = b""
    for code, kind, value in ((1, "o", path), (2, "s", interface), (3, "s", member), (6, "s", destination)):
        fields = pad(fields, 8) + bytes([code, 1]) + kind.encode() + b"\0" + string(value)
    if signature:
        fields = pad(fields, 8) + bytes([8, 1]) + b"g\0" + bytes([len(signature)]) + signature.encode() + b"\0"
    return pad(struct.pack("<cBBBIII", b"l", 1, 0, 1, len(body), serial, len(fields)) + fields, 8) + body


bus = socket.socket(socket.AF_UNIX)
bus.connect(sys.argv[1])
bus.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
assert bus.recv(1000).startswith(b"OK ")
bus.sendall(b"BEGIN\r\n" + call(1, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello"))
bus.settimeout(5)
try:
    for i in range(int(sys.argv[2])):
        bus.sendall(call(i + 2, "org.pipewatch1", "/org/pipewatch1", "org.pipewatch1.Manager", "ListProcesses",
                         struct.pack("<I", 0), "u"))
except OSError as e:
    print("the bus takes no more:", e, file=sys.stderr)
print("sent", flush=True)
sys.stdin.read()
