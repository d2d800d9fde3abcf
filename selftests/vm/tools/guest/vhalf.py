#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""An iWARP server that closes its half of a connection: runs in a guest.

usage: vhalf.py ADDRESS PORT FILE read|trickle|mute

Answers one client and reads nothing until FILE is there. Then it sends a FIN, and reads what comes to
the end, and says how many whole Sends that were; or it reads a little at a time (trickle). Or it is mute:
it reads some before that, and then nothing until it is killed.
"""

import os
import socket
import sys
import time

import iwpeer as iw

# For `read`, little: what has completed is not all TCP's then. For `mute`, as much as packets take.
# For `trickle`, so much that the window takes whole packets: else TCP has it for shut, and gives up.
_RCVBUF = {"read": 16384, "trickle": 256 << 10, "mute": 128 << 10}
# Memory is lent to windows of 64 KiB and more, and TCP's are smaller until data have come.
_WINDOW_GROWS = 2 << 20
# Memory is lent for long FPDUs alone.
_FLAGS = {"read": iw.CRC | iw.ENHANCED, "trickle": iw.CRC | iw.ENHANCED, "mute": iw.ENHANCED | iw.LONG_FPDUS}


def _trickle(sock):
    """Progress whenever somebody looks, and no end of vcm's 8 MiB for two minutes."""
    try:
        while sock.recv(1 << 16):
            time.sleep(1)
    except ConnectionError:
        print("RST")
    else:
        print("FIN")


def main():
    """Ends, or an exception."""
    address, port, file, what = sys.argv[1:]
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RCVBUF[what])
    listener.bind((address, int(port)))
    listener.listen()
    stream = iw.Stream(listener.accept()[0], 60)
    stream.frame(iw.REQUEST)
    # vcm lets one READ in.
    stream.send(iw.mpa(key=iw.REPLY, flags=_FLAGS[what], ord_=1))
    if what == "mute":
        stream.skip(_WINDOW_GROWS)
        print("mute", flush=True)
    while not os.path.exists(file):
        time.sleep(0.1)
    stream.finish()
    if what == "trickle":
        _trickle(stream.sock)
        return
    # Who takes that for the end has ended before there is room for more.
    time.sleep(600 if what == "mute" else 1)
    got, how = stream.end()
    print("%d messages" % sum(segment.opcode == iw.SEND and segment.last for segment in got))
    print(how)


if __name__ == "__main__":
    main()
