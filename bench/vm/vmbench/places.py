# SPDX-License-Identifier: GPL-2.0
"""Which of the host's CPUs each guest has.

Left to itself, the host's scheduler puts threads of both guests onto one CPU while another is idle,
for seconds, and otherwise for one subject than for another: figures differ by a third from run to
run, and more from machine to machine. So each guest, its virtual CPUs and its QEMU's own threads,
has the same share of whole cores, to itself, as two hosts have.
"""

import os


def _core(cpu):
    """What the CPU is a part of: threads of one core go to one guest."""
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
    """A set of CPUs for each of so many guests; none if that is too few for their virtual ones."""
    cpus = sorted(os.sched_getaffinity(0), key=_core)
    each = len(cpus) // guests
    if each < vcpus:
        return []
    return [set(cpus[i * each:(i + 1) * each]) for i in range(guests)]


def pin(guest, cpus):
    """All threads of the guest's QEMU; those that they start later inherit it."""
    for thread in os.listdir("/proc/%d/task" % guest.process.pid):
        try:
            os.sched_setaffinity(int(thread), cpus)
        except ProcessLookupError:  # a worker that has ended
            pass
