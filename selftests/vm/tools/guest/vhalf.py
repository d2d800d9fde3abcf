#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""An iWARP server that closes its half of a connection: runs in a guest.

usage: vhalf.py ADDRESS PORT FILE read|trickle|mute

Answers one client and reads nothing until FILE exists. Then it sends a FIN. read: it reads to the end,
and prints how many whole Sends arrived. trickle: it reads little at a time. mute: it reads some data
before the FIN, and then nothing until it is killed.
"""

import os
import socket
import sys
import time

import iwpeer as iw

# read: small, so that more completes than TCP has room for. mute: enough for whole packets.
# trickle: enough for the window to take whole packets: else TCP treats it as shut, and gives up.
_RCVBUF = {"read": 16384, "trickle": 256 << 10, "mute": 128 << 10}
# Zero-copy needs a window of 64 KiB, and TCP's is smaller until data have arrived.
_WINDOW_GROWS = 2 << 20
# Zero-copy needs long FPDUs.
_FLAGS = {"read": iw.CRC | iw.ENHANCED, "trickle": iw.CRC | iw.ENHANCED, "mute": iw.ENHANCED | iw.LONG_FPDUS}


def _read_slowly(sock):
    """Read slowly: there is always progress, but vcm's 8 MiB take two minutes."""
    try:
        while sock.recv(1 << 16):
            time.sleep(1)
    except ConnectionError:
        print("RST")
    else:
        print("FIN")


def main():
    """Serve one client. An error raises an exception."""
    address, port, file, what = sys.argv[1:]
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RCVBUF[what])
    listener.bind((address, int(port)))
    listener.listen()
    stream = iw.Stream(listener.accept()[0], 60)
    stream.frame(iw.REQUEST)
    # vcm allows one READ.
    stream.send(iw.mpa(key=iw.REPLY, flags=_FLAGS[what], ord_=1))
    if what == "mute":
        stream.skip(_WINDOW_GROWS)
        print("mute", flush=True)
    while not os.path.exists(file):
        time.sleep(0.1)
    stream.finish()
    if what == "trickle":
        _read_slowly(stream.sock)
        return
    # A client that takes the FIN for the end has ended before there is room for more.
    time.sleep(600 if what == "mute" else 1)
    got, how = stream.end()
    print("%d messages" % sum(segment.opcode == iw.SEND and segment.last for segment in got))
    print(how)


if __name__ == "__main__":
    main()
