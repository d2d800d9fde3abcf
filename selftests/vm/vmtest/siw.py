# SPDX-License-Identifier: GPL-2.0
"""A known fault of the kernel's siw: now and then it sends a wrong CRC.

siw computes an FPDU's CRC over headers, payload and the payload again. tern ends the stream, as RFC
5044 (8, error 2) requires. Seen with Linux 7.2 in 6 of 900 runs of `rping -S 60000`, captured at siw's
end: the payload was right. Between two siw there are no CRCs.
"""

# The first kernel with which it was seen.
SINCE = (7, 2)


def crc_errors(test):
    """How many wrong CRCs tern has received from siw."""
    drivers = [test.lab.driver_of(test.pair, guest.name) for guest in test.guests]
    if "siw" not in drivers or test.lab.version < SINCE:
        return 0
    return sum(test.counter(guest, "rx_icrc_encapsulated")
               for guest, driver in zip(test.guests, drivers) if driver != "siw")
