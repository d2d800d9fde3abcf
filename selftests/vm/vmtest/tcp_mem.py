# SPDX-License-Identifier: GPL-2.0
"""How much memory TCP may have in a guest: net.ipv4.tcp_mem."""

import contextlib

_FILE = "/proc/sys/net/ipv4/tcp_mem"
_LOOP = "while :; do echo 0 0 0 >{0}; sleep {2}; echo {1} >{0}; sleep {2}; done"


def read(t, guest):
    """Three numbers of pages, as text."""
    return t.run(guest, "cat " + _FILE, check=True).out.strip()


def write(t, guest, pages, **how):
    """Set them."""
    t.run(guest, "echo %s >%s" % (pages, _FILE), **how)


def toggle(t, guest, usual, pages, pauses_s):
    """Allow `usual`, then `pages`, each for its time."""
    t.run(guest, "echo {1} >{0}; sleep {3}; echo {2} >{0}; sleep {4}".format(
        _FILE, usual, pages, *pauses_s), check=True)


@contextlib.contextmanager
def pressure(t, guests, period_s):
    """Half of the time TCP in these guests has memory for one page at a time, and half as usual.

    Yields the commands that do it: a test may look whether they still run.
    """
    usual = [read(t, guest) for guest in guests]
    loops = [t.start(guest, _LOOP.format(_FILE, pages, period_s), 100)
             for guest, pages in zip(guests, usual)]
    try:
        yield loops
    finally:
        t.kill(*loops)
        for guest, pages in zip(guests, usual):
            write(t, guest, pages)
