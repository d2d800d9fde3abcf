# SPDX-License-Identifier: GPL-2.0
"""What the VM tests stand on: the laboratory of two guests, the test's face, the report."""
