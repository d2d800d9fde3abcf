# SPDX-License-Identifier: GPL-2.0
"""Common code of the VM tests: the two guests, what a test function gets, the report."""
