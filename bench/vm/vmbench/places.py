# SPDX-License-Identifier: GPL-2.0
"""Which of the host's CPUs each guest has.

The host's scheduler by itself puts threads of both guests onto one CPU for seconds while another is
idle, and differently for each subject: figures differ by a third between runs, and by more between
machines. So each guest (its virtual CPUs and its QEMU's threads) has an equal share of whole cores
to itself, as two hosts would.
"""

import os


def _core(cpu):
    """The core of a CPU: threads of one core go to one guest."""
    place = []
    for name in ("physical_package_id", "core_id"):
        try:
            with open("/sys/devices/system/cpu/cpu%d/topology/%s" % (cpu, name),
                      encoding="ascii") as f:
                place.append(int(f.read()))
        except (OSError, ValueError):
            place.append(cpu)
    return (*place, cpu)


def shares(guests, vcpus):
    """A set of CPUs for each guest, or none if there are too few for the virtual CPUs."""
    cpus = sorted(os.sched_getaffinity(0), key=_core)
    each = len(cpus) // guests
    if each < vcpus:
        return []
    return [set(cpus[i * each:(i + 1) * each]) for i in range(guests)]


def pin(guest, cpus):
    """Pin all threads of the guest's QEMU. Threads that they start later inherit that."""
    for thread in os.listdir("/proc/%d/task" % guest.process.pid):
        try:
            os.sched_setaffinity(int(thread), cpus)
        except ProcessLookupError:  # a worker that has ended
            pass
