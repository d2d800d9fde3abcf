# SPDX-License-Identifier: GPL-2.0
"""The VM rig: two or more small virtual machines on one virtual Ethernet.

Tests and demos use the class `Rig` (rig.py), people use the command `rig` (cli.py).
"""

import os
import sys

if sys.version_info < (3, 9):
    sys.exit("rig: Python 3.9 or newer is needed, this is "
             + ".".join(map(str, sys.version_info[:3])))

if not os.environ.get("RIG_KEEP_PYC"):
    sys.dont_write_bytecode = True

from .say import RigError  # noqa: E402
from .rig import Rig  # noqa: E402
from .command import CommandFailed  # noqa: E402
from .trouble import GuestLost  # noqa: E402

__all__ = ["Rig", "RigError", "GuestLost", "CommandFailed"]
