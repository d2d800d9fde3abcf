# SPDX-License-Identifier: GPL-2.0
"""A kernel consumer registers lists with gaps: data by packets and without, limits."""

LIMIT = 90
_MODULE = "tern_fastreg"


def run(t):
    local = "/sys/class/infiniband/%s/local" % t.dev(t.a)
    t.lab.push_module(t.a, _MODULE)
    t.undo.append(lambda: t.a.run("rmmod %s 2>/dev/null; echo Y >%s" % (_MODULE, local)))
    for name, value in ("without packets", "Y"), ("by packets", "N"):
        t.run(t.a, "echo %s >%s" % (value, local), check=True)
        t.check_run(name, t.a, "insmod /tern/%s.ko || { dmesg | tail -n 5; exit 1; }; rmmod %s"
                    % (_MODULE, _MODULE), 60)
