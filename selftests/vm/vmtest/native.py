# SPDX-License-Identifier: GPL-2.0
"""The tests that are not run in User Mode Linux, and why. Tests do not know in what they run."""

# By the name of the test file without its number.
_NOT_RUN = {
    "container": "guests have the host's root, and no disks with roots of other releases",
    "nfs": "guests run the host's programs, and Debian's NFS server would also run on the host",
    "roce_speed": "its goals are those of an emulated machine; make bench-native measures",
    "iwarp_speed": "its goals are those of an emulated machine; make bench-native measures",
    "iwarp_connect_rate": "its goals are those of an emulated machine; make bench-native measures",
}


def left_out(entry):
    """Why a test is not run, or None."""
    return _NOT_RUN.get(entry.name.split("[")[0])
