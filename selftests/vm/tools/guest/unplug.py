# SPDX-License-Identifier: GPL-2.0
"""What vunplug.py changes at random: namespaces, veth netdevs, their addresses, RDMA links, the module.

    any namespace                                  any namespace
    w0a 10.90.0.1, rw0a ------------------------- w0b 10.90.0.2, rw0b
    w1a 10.90.1.1, rw1a ------------------------- w1b 10.90.1.2, rw1b
"""

import json
import os
import subprocess
import time

SLOW = float(os.environ.get("RIG_SLOW") or 1)
COMMAND_LIMIT_S = 60
PAIRS = 3
NAMESPACES = ("u0", "u1")
HOME = "home"  # rdma needs a name for the first namespace, too


class Hung(Exception):
    """A command did not end; the text says which."""


def run(command):
    """Run a shell command: (worked, output). Most may fail: the changes are random."""
    # It may be unkillable, so its end is not waited for in any case.
    child = subprocess.Popen(["sh", "-c", command], stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        out = child.communicate(timeout=COMMAND_LIMIT_S * SLOW)[0]
    except subprocess.TimeoutExpired as late:
        raise Hung("%s: does not end" % command) from late
    return child.returncode == 0, out


def inside(namespace, command):
    """The command, run in a namespace; None is the first one."""
    return "ip netns exec %s %s" % (namespace, command) if namespace else command


def _listed(out):
    return json.loads(out) if out.strip().startswith("[") else []


class World:
    """All that can change. Each method that begins with `do_` is one change; True: it was made."""

    def __init__(self, random, kind):
        self.random, self.kind = random, kind
        self.exclusive = False

    # -- what there is

    def namespaces(self):
        """Their names; None is the first one."""
        return [None] + [name for name in NAMESPACES if os.path.exists("/run/netns/" + name)]

    def netdevs(self):
        """{netdev: its namespace}"""
        return {netdev["ifname"]: space for space in self.namespaces()
                for netdev in _listed(run("ip %s -j link show type veth" % (
                    "-n " + space if space else ""))[1])
                if "ifname" in netdev}

    def links(self):
        """{device: the namespace of programs that use it}"""
        found = {link["ifname"]: space
                 for space in (self.namespaces() if self.exclusive else [None])
                 for link in _listed(run(inside(space, "rdma -j link"))[1])
                 if link["ifname"].startswith("rw")}
        if self.exclusive:
            return found
        # Then all see all devices.
        there = self.netdevs()
        return {device: there[device[1:]] for device in found if device[1:] in there}

    def ends(self):
        """Of a pair whose ends both have links: ((device, namespace, address) of a, the same of b)."""
        links = self.links()
        pairs = [n for n in range(PAIRS) if "rw%da" % n in links and "rw%db" % n in links]
        if not pairs:
            return None
        n = self.random.choice(pairs)
        return tuple(("rw%d%s" % (n, end), links["rw%d%s" % (n, end)],
                      "10.90.%d.%d" % (n, number)) for number, end in enumerate("ab", 1))

    def _pick(self, things):
        return self.random.choice(sorted(things, key=str)) if things else None

    # -- namespaces and netdevs

    def do_add_namespace(self):
        """A namespace comes."""
        missing = [name for name in NAMESPACES if name not in self.namespaces()]
        return bool(missing) and run("ip netns add {0} && ip -n {0} link set lo up".format(
            self._pick(missing)))[0]

    def do_end_namespace(self):
        """A namespace loses its name. It ends with the last program inside."""
        name = self._pick(set(self.namespaces()) - {None})
        return name is not None and run("ip netns del " + name)[0]

    def do_add_netdevs(self):
        """A pair of netdevs comes, each end in some namespace."""
        there = self.netdevs()
        missing = [n for n in range(PAIRS)
                   if not {"w%da" % n, "w%db" % n} & set(there)]
        if not missing:
            return False
        n, spaces = self._pick(missing), self.namespaces()
        ends = [("w%d%s" % (n, end), self._pick(spaces)) for end in "ab"]
        made, _ = run("ip link add %s netns %s type veth peer name %s netns %s" % (
            ends[0][0], ends[0][1] or 1, ends[1][0], ends[1][1] or 1))
        for netdev, space in ends:
            self._set_up(netdev, space)
        return made

    @staticmethod
    def _set_up(netdev, space):
        n, number = int(netdev[1]), "ab".index(netdev[2]) + 1
        run(inside(space, "sh -c '"
            "ip addr add 10.90.{0}.{1}/24 dev {2}; ip addr add fd90:{0}::{1}/64 dev {2} nodad; "
            "ip link set {2} up'".format(n, number, netdev)))

    def _one_netdev(self):
        there = self.netdevs()
        netdev = self._pick(there)
        return netdev, there.get(netdev)

    def do_end_netdev(self):
        """A netdev is unregistered, and its peer with it."""
        netdev, space = self._one_netdev()
        return netdev is not None and run(inside(space, "ip link del " + netdev))[0]

    def do_move_netdev(self):
        """A netdev goes to another namespace. Its link ends."""
        netdev, space = self._one_netdev()
        to = self._pick(set(self.namespaces()) - {space})
        if netdev is None or to == space:
            return False
        moved, _ = run(inside(space, "ip link set %s netns %s" % (netdev, to or 1)))
        self._set_up(netdev, to)
        return moved

    def do_change_netdev(self):
        """Addresses, the state, the MTU or the MAC address of a netdev change."""
        netdev, space = self._one_netdev()
        if netdev is None:
            return False
        change = self.random.choice((
            "ip addr add 10.91.{n}.{r}/24 dev {d}", "ip addr flush dev {d}", "ip link set {d} down",
            "ip link set {d} mtu {m}", "ip link set {d} address 02:77:00:00:{n:02x}:{r:02x}"))
        changed, _ = run(inside(space, change.format(
            d=netdev, n=int(netdev[1]), r=self.random.randrange(10, 250),
            m=self.random.choice((700, 1500, 5000, 9000)))))
        self._set_up(netdev, space)
        return changed

    # -- links and the module

    def do_add_link(self):
        """A link comes. It loads the module if that is not there."""
        taken = {device[1:] for device in self.links()}
        there = self.netdevs()
        netdev = self._pick(set(there) - taken)
        return netdev is not None and run(inside(there[netdev], "rdma link add r%s type %s netdev %s"
                                                 % (netdev, self.kind, netdev)))[0]

    def do_delete_link(self):
        """A link is deleted."""
        links = self.links()
        device = self._pick(links)
        return device is not None and run(inside(links[device], "rdma link delete " + device))[0]

    def do_move_device(self):
        """In exclusive mode a device goes to another namespace."""
        links = self.links()
        device = self._pick(links)
        if not self.exclusive or device is None:
            return False
        space = links[device]
        to = self._pick(set(self.namespaces()) - {space})
        return to != space and run(inside(space, "rdma dev set %s netns %s" % (device, to or HOME)))[0]

    def remove_module(self):
        """Try to; it is in use while a program has a device open."""
        return run("rmmod tern")[0]

    # -- begin and end

    def reset(self, exclusive):
        """End all namespaces and netdevs, then choose the mode, which no namespace but the first allows."""
        for name in NAMESPACES + (HOME,):
            run("ip netns del " + name)
        for n in range(PAIRS):
            run("ip link del w%da" % n)
        # A namespace ends some time after its name.
        until = time.monotonic() + COMMAND_LIMIT_S * SLOW
        mode = "exclusive" if exclusive else "shared"
        while not run("rdma system set netns " + mode)[0]:
            if time.monotonic() > until:
                raise Hung("rdma system set netns %s: a namespace does not end" % mode)
            time.sleep(0.2)
        self.exclusive = exclusive
        run("ip netns attach %s 1" % HOME)
