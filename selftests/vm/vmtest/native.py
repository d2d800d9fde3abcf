# SPDX-License-Identifier: GPL-2.0
"""What is not run in User Mode Linux, and why. All else is: tests do not know what they run in."""

# Of a test file, by its name without the number.
_LEFT_OUT = {
    "container": "guests have the host's root, and no disks with those of other releases",
    "nfs": "guests run the host's programs, and Debian's NFS server would run on the host, too",
    "roce_speed": "its goals are those of an emulated machine; make bench-native measures",
    "iwarp_speed": "its goals are those of an emulated machine; make bench-native measures",
    "iwarp_connect_rate": "its goals are those of an emulated machine; make bench-native measures",
}


def left_out(entry):
    """Why a test is not run, or None."""
    return _LEFT_OUT.get(entry.name.split("[")[0])
