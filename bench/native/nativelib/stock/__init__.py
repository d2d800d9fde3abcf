# SPDX-License-Identifier: GPL-2.0
"""The parts perftest and loss of bench/native/run: stock programs in a User Mode Linux of the newest
kernel.

`run` calls command.py. cases.py lists the cases, loss.py has the networks that lose packets and
their table, measure.py measures one figure, campaign.py has the order of all, guest.py the guest.
awake.py keeps the host's CPUs from sleeping. store.py is the file, report.py the tables.
"""
