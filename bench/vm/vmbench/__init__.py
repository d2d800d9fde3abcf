# SPDX-License-Identifier: GPL-2.0
"""make bench: tern beside rxe, siw, TCP and UDP in one pair of virtual machines."""
