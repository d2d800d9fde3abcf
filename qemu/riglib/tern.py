# SPDX-License-Identifier: GPL-2.0
"""Brings tern into a rig's guests: pushes what product.py has or builds, runs guest-setup.sh."""

import os
from concurrent.futures import ThreadPoolExecutor

from . import paths, product
from .say import progress


def files(suite, release, version=None):
    """tern's files for a guest of that suite and kernel release. `version`: --kernel's argument."""
    module = product.module(suite, release, version)
    return [product.without_debug(module), os.path.join(paths.QEMU_DIR, "guest-setup.sh"),
            *product.providers(suite)]


def install(rig, link="tern0", kind="tern_roce", guests=None):
    """Load tern in each guest and add an RDMA link on eth0."""
    options = rig.options
    pushed = files(options["suite"], options["release"], options["kernel"])

    def set_up(guest):
        guest.push(pushed, "/tern/")
        guest.run(["sh", "/tern/guest-setup.sh", link, kind], timeout=90, check=True)

    guests = list(guests or rig)
    progress("loading tern in guest%s %s" % ("s" * (len(guests) > 1),
                                             " ".join(guest.name for guest in guests)))
    with ThreadPoolExecutor(len(guests)) as pool:
        list(pool.map(set_up, guests))
