# SPDX-License-Identifier: GPL-2.0
"""RDMA devices that are a network namespace's own: made there, moved there and back, gone with it.

    init namespace                       namespace n1, in guest a
    eth0           tern0 or ternw0
    veth0 10.88.0.1, nsa  -------------- veth1 10.88.0.2, nsb
"""

from vmtest import netns
from vmtest.lab import LINK, MODULE

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 300

# A name for the first one, as rdma wants it.
_HOME = "home"
_LOAD = "-m scale/mixed -S 60 -t 5"
_DUMPS = "; ".join("rdma -dd resource show " + what for what in ("qp", "cq", "mr", "pd", "cm_id"))


class Exclusive:
    """One run of the test, with one kind of link."""

    def __init__(self, t):
        self.t = t
        self.kind = LINK[t.lab.driver_of(t.pair, "a")][1]
        self.iwarp = self.kind == "tern_iwarp"
        # RoCE's way to n1 and its cases; iWARP's are found by rdma_cm.
        self.moves = "-m rc/write -m rc/read -m rc/send" + ("" if self.iwarp else " -m ud/send")

    # -- namespaces

    def up(self):
        t = self.t
        t.check_run("exclusive", t.a, "rdma system set netns exclusive")
        t.run(t.a, "ip netns attach %s 1\n" % _HOME + netns.UP + "rdma link add nsa type %s netdev veth0\n"
              "ip netns exec n1 rdma link add nsb type %s netdev veth1\n" % (self.kind, self.kind),
              check=True)
        self.wait_up("nsa", new=True)
        self.wait_up("nsb", "n1", new=True)

    def down(self):
        t = self.t
        t.run(t.a, "pkill -9 vverify; ip netns del %s; " % _HOME + netns.DOWN)
        # A namespace goes some time after its name.
        t.run(t.a, "for i in $(seq 100); do rdma system set netns shared && exit; sleep 0.2; done; "
              "exit 1", 60, check=True)

    @staticmethod
    def inside(ns, command):
        return "ip netns exec %s %s" % (ns, command) if ns else command

    def wait_up(self, device, ns=None, new=False):
        up = "rdma link | grep -q '^link %s/1 state ACTIVE'" % device
        if new and not self.iwarp:
            # RoCE has GIDs of addresses, some time after the link.
            up += " && grep -qs :0a58:000 /sys/class/infiniband/%s/ports/1/gids/*" % device
        self.t.a.wait_until(self.inside(ns, 'sh -c "%s"' % up), timeout=15)

    def sees(self, ns):
        """The devices that there are in a namespace."""
        out = self.t.run(self.t.a, self.inside(ns, "rdma link"), check=True).out
        return {line.split()[1].split("/")[0] for line in out.splitlines() if line}

    def is_in(self, name, device, ns):
        here, there = self.sees(ns), self.sees(None if ns else "n1")
        self.t.case(name, device in here and device not in there, "%s, not %s" % (here, there))

    def move(self, device, ns):
        to, at = (ns, None) if ns else (_HOME, "n1")
        self.t.check_run("%s is moved to %s" % (device, ns or "init's"), self.t.a,
                         self.inside(at, "rdma dev set %s netns %s" % (device, to)), 30)
        self.wait_up(device, ns)
        self.is_in("%s is there, and nowhere else" % device, device, ns)

    # -- traffic: the server has nsb in n1

    def start(self, client, what, ns=None):
        t = self.t
        server = netns.start_server(t)
        command = "/tern/vverify %s %s 10.88.0.2" % (client, what)
        return server, t.start(t.a, self.inside(ns, command), 100)

    def verify(self, name, client, ns=None):
        server, client = self.start(client, self.moves, ns)
        self.t.take_tap(client.wait(), prefix=name + ": ")
        self.t.finish(server)

    def _dumped(self):
        """Everything that there is, many times, while it is used; in each namespace its own."""
        t = self.t
        both = [t.start(t.a, self.inside(ns, "sh -c 'for i in $(seq 10); do %s; done'" % _DUMPS), 60)
                for ns in (None, "n1")]
        outs = [dump.wait() for dump in both]
        t.case("dumps in both namespaces", all(not out.rc for out in outs),
               "\n".join(out.err[-300:] for out in outs))
        for out, own, others in zip(outs, ("nsa", "nsb"), ("nsb", "nsa")):
            t.case("QPs of %s alone are shown in its namespace" % own,
                   "link %s/" % own in out.out and others + "/" not in out.out, out.out[-800:])

    def moved_under_load(self):
        """Its programs hear of its end, and others can use it where it is then."""
        t = self.t
        server, client = self.start("-n veth0", _LOAD)
        t.sleep(3)
        t.case("traffic runs", server.running and client.running, client.output()[-800:])
        self._dumped()
        self.move("nsa", "n1")
        t.case("the client ends", t.finish(client, 40))
        t.case("the server ends", t.finish(server, 60))

    # -- ends

    def namespace_goes(self):
        """A device of init's netdev comes home, one of the namespace's ends with that."""
        t = self.t
        device = t.dev(t.a)
        self.move(device, "n1")
        t.run(t.a, "ip netns del n1", check=True)
        self.t.a.wait_until("rdma link | grep -q '^link %s/1 state ACTIVE'" % device, timeout=20)
        t.case("the device is back when its namespace has gone", True)
        self.t.a.wait_until("! rdma link | grep -q '^link ns[ab]/'", timeout=20)
        t.case("links of the namespace's netdevs went with it", True)
        if not self.iwarp:
            t.lab.wait_gids(t.a)
        t.tool("vverify", "-m rc/write", timeout=60, prefix="after the namespace: ")

    def module_goes(self):
        t = self.t
        self.move(t.dev(t.a), "n1")
        t.check_run("the module goes, with devices in both namespaces", t.a,
                    "rmmod " + MODULE["tern"], 30)
        t.case("no device is left", not self.sees(None) and not self.sees("n1"))
        self.down()
        t.lab.add_link(t.a, t.lab.driver_of(t.pair, "a"))


def run(t):
    e = Exclusive(t)
    t.undo = [e.down]
    e.up()
    e.is_in("a link made in a namespace is its own", "nsb", "n1")
    e.is_in("and one of init's is not in it", "nsa", None)
    e.verify("made there", "-n veth0")
    e.moved_under_load()
    if not e.iwarp:
        # rdma_cm knows addresses, and that of nsa's netdev is not in n1.
        e.verify("moved there", "-d nsa", "n1")
    e.move("nsa", None)
    e.verify("moved back", "-n veth0")
    e.move("nsb", None)
    e.move("nsb", "n1")
    e.verify("the other moved away and back", "-n veth0")
    e.namespace_goes()
    e.down()
    e.up()
    e.module_goes()
