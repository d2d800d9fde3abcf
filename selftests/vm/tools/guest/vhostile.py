#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A hostile iWARP peer of vtarget: runs in a guest and prints TAP.

usage: vhostile.py [--seed N] [--garbage N] [--end] ADDRESS [GROUP...]

Each case is one connection or several with one error. The server must name the error in a
Terminate and end the stream, must not write outside the memory that it may write, must
know that the connection has ended, and must go on to serve others.
"""

import argparse
import sys

import hostile_segments as segments
import hostile_stream as stream
from hostile import Server

GROUPS = {f.__name__: f for f in (
    segments.mpa, segments.framing, segments.sends, segments.writes, segments.reads,
    segments.atomics, segments.sizes, segments.quotes, segments.terminates, stream.stream, stream.slow, stream.garbage)}


def main():
    """Run the named groups; returns the exit code of a TAP program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--garbage", type=int, default=300, help="connections")
    parser.add_argument("--end", action="store_true", help="end vtarget at last; without a group, only that")
    parser.add_argument("address")
    parser.add_argument("groups", nargs="*", metavar="GROUP")
    args = parser.parse_args()
    server = Server(args.address, args.seed)
    server.wait_live(0, 5)
    server.ask("check")
    if args.groups:
        print("TAP version 13")
        for name in args.groups:
            if name not in GROUPS:
                parser.error("no group " + name)
            GROUPS[name](server, *([args.garbage] if name == "garbage" else []))
        print("1..%d" % server.number)
    if args.end:
        server.end()
    return 1 if server.failed else 0


if __name__ == "__main__":
    sys.exit(main())
