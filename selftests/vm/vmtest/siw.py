# SPDX-License-Identifier: GPL-2.0
"""What the kernel's siw gets wrong on the wire now and then.

An FPDU of siw's has a CRC in which its payload counts twice; tern ends the stream, as RFC 5044 (8, error
2) wants it. Seen with Linux 7.2 in 6 of 900 runs of `rping -S 60000`, each captured where siw sends: the
payload was right, and the CRC that of headers, payload and payload. Between two siw there are no CRCs.
"""

# The first kernel that it was seen with.
SINCE = (7, 2)


def crc_errors(test):
    """How many wrong CRCs tern has had from siw."""
    drivers = [test.lab.driver_of(test.pair, guest.name) for guest in test.guests]
    if "siw" not in drivers or test.lab.version < SINCE:
        return 0
    return sum(test.counter(guest, "rx_icrc_encapsulated")
               for guest, driver in zip(test.guests, drivers) if driver != "siw")
