#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks for a long list N times on the bus at SOCKET and never reads an answer; then waits for standard input to end."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../faults"))
from rawbus import Client

client = Client(sys.argv[1], timeout=5)
try:
    for _ in range(int(sys.argv[2])):
        client.send("ListProcesses", "u", struct.pack("<I", 0))
except OSError as e:
    print("the bus takes no more:", e, file=sys.stderr)
print("sent", flush=True)
sys.stdin.read()
