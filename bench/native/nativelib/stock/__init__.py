# SPDX-License-Identifier: GPL-2.0
"""The part perftest of bench/native/run: stock programs in a User Mode Linux of the newest kernel.

`run` calls command.py. cases.py lists the cases, measure.py measures one figure, campaign.py has
the order of all, guest.py the guest. awake.py keeps the host's CPUs from sleeping. store.py is the
file, report.py the tables.
"""
