# SPDX-License-Identifier: GPL-2.0
"""The part perftest of bench/native/run: stock programs in a User Mode Linux of the newest kernel.

command.py is what `run` calls; cases.py has what is measured, measure.py one figure, campaign.py
the order of all, guest.py the guest; awake.py keeps the host's CPUs from sleeping; store.py and
report.py are the file and the tables.
"""
