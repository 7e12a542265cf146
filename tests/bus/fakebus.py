#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""fakebus.py SOCKET MEMBER=ANSWER,...: a bus at SOCKET for one client at a time, which answers each call of MEMBER with
the next of its answers, and from the last one on always with that: uint32 and string as u:NUMBER and s:TEXT, an error as
e:NAME, an empty answer as nothing; with - it does not answer, and with x it hangs up. Other calls get no answer. Says
which it got."""

import os
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../faults"))
from rawbus import Client, pad, string

ERROR = "org.freedesktop.DBus.Error."


def authenticate(connection):
    """Whoever it is."""
    lines = b""
    while b"BEGIN\r\n" not in lines:
        data = connection.recv(1000)
        if not data:
            return b""
        for line in data.decode().lstrip("\0").splitlines():
            if line == "AUTH EXTERNAL":
                connection.sendall(b"DATA\r\n")
            elif line.startswith(("AUTH EXTERNAL", "DATA")):
                connection.sendall(b"OK " + b"0" * 32 + b"\r\n")
            elif line.startswith("NEGOTIATE"):
                connection.sendall(b"ERROR\r\n")
        lines += data
    return lines.partition(b"BEGIN\r\n")[2]


def reply(serial, answer):
    kind, _, value = answer.partition(":")
    body, signature = b"", ""
    fields = bytes([5, 1]) + b"u\0" + struct.pack("<I", serial)
    if kind == "e":
        fields += pad(bytes([4, 1]) + b"s\0" + string(ERROR + value), 8)
        body, signature = string("So it is."), "s"
    elif kind:
        body, signature = struct.pack("<I", int(value)) if kind == "u" else string(value), kind
    fields += pad(bytes([7, 1]) + b"s\0" + string("org.freedesktop.DBus"), 8)
    if signature:
        fields += bytes([8, 1]) + b"g\0" + bytes([1]) + signature.encode() + b"\0"
    return pad(struct.pack("<cBBBIII", b"l", 3 if kind == "e" else 2, 0, 1, len(body), serial, len(fields)) + fields, 8) + body


def serve(connection, answers):
    peer = Client.__new__(Client)
    peer.socket, peer.buffer = connection, authenticate(connection)
    while True:
        _, fields, _ = peer.receive()
        member = fields.get(3)
        print(member, flush=True)
        given = answers.get(member, ["-"])
        answer = given.pop(0) if len(given) > 1 else given[0]
        if answer == "x":
            return
        if answer != "-":
            connection.sendall(reply(peer.received, answer))


def main():
    answers = {"Hello": ["s::1.1"], **{a.partition("=")[0]: a.partition("=")[2].split(",") for a in sys.argv[2:]}}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen(5)
        while True:
            connection, _ = listener.accept()
            with connection:
                try:
                    serve(connection, answers)
                except OSError:
                    pass


main()
