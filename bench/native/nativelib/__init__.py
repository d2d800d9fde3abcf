# SPDX-License-Identifier: GPL-2.0
"""The parts of bench/native/run: a User Mode Linux, its modules, boots of it, engines, tables."""

import os
import sys

HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, "build")

# riglib: the kernel's sources, programs with time limits, errors, progress.
sys.path.insert(0, os.path.join(TOP, "qemu"))
