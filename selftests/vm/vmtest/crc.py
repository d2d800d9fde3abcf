# SPDX-License-Identifier: GPL-2.0
"""Which end of an iWARP connection asks for CRCs: parameters of tern and of siw."""

_PARAMETER = {"iwarp": "/sys/module/tern/parameters/iwarp_crc",
              "siw": "/sys/module/siw/parameters/mpa_crc_required"}


def ask(t, client, server):
    """True: that end asks for CRCs. They are used if either does."""
    for guest, wanted in zip(t.guests, (client, server)):
        t.run(guest, "echo %s >%s" % ("NY"[wanted], _PARAMETER[t.lab.driver_of(t.pair, guest.name)]),
              check=True)
