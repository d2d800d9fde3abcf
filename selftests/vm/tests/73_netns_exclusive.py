# SPDX-License-Identifier: GPL-2.0
"""netns exclusive mode: RDMA devices are made in a namespace, moved there and back, and end with it.

    init namespace                       namespace n1, in guest a
    eth0           tern0 or ternw0
    veth0 10.88.0.1, nsa  -------------- veth1 10.88.0.2, nsb
"""

from vmtest import netns
from vmtest.lab import LINK, MODULE

PAIRS = ("tern-tern", "iwarp-iwarp")
LIMIT = 300

# rdma needs a name for the first namespace, too.
_HOME = "home"
_LOAD = "-m scale/mixed -S 60 -t 5"
_DUMPS = "; ".join("rdma -dd resource show " + what for what in ("qp", "cq", "mr", "pd", "cm_id"))


class Exclusive:
    """One run of the test with one kind of link."""

    def __init__(self, t):
        self.t = t
        self.kind = LINK[t.lab.driver_of(t.pair, "a")][1]
        self.iwarp = self.kind == "tern_iwarp"
        # vverify's cases. iWARP has no datagrams.
        self.moves = "-m rc/write -m rc/read -m rc/send" + ("" if self.iwarp else " -m ud/send")

    # -- namespaces

    def up(self):
        t = self.t
        t.check_run("rdma system set netns exclusive", t.a, "rdma system set netns exclusive")
        t.run(t.a, "ip netns attach %s 1\n" % _HOME + netns.UP + "rdma link add nsa type %s netdev veth0\n"
              "ip netns exec n1 rdma link add nsb type %s netdev veth1\n" % (self.kind, self.kind),
              check=True)
        self.wait_up("nsa", new=True)
        self.wait_up("nsb", "n1", new=True)

    def down(self):
        t = self.t
        t.run(t.a, "pkill -9 vverify; ip netns del %s; " % _HOME + netns.DOWN)
        # A namespace ends some time after its name.
        t.run(t.a, "for i in $(seq 100); do rdma system set netns shared && exit; sleep 0.2; done; "
              "exit 1", 60, check=True)

    @staticmethod
    def inside(ns, command):
        return "ip netns exec %s %s" % (ns, command) if ns else command

    def wait_up(self, device, ns=None, new=False):
        up = "rdma link | grep -q '^link %s/1 state ACTIVE'" % device
        if new and not self.iwarp:
            # RoCE's GIDs come some time after the link.
            up += " && grep -qs :0a58:000 /sys/class/infiniband/%s/ports/1/gids/*" % device
        self.t.a.wait_until(self.inside(ns, 'sh -c "%s"' % up), timeout=15)

    def sees(self, ns):
        """The devices in a namespace."""
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
        self.is_in("%s is in that namespace only" % device, device, ns)

    # -- traffic: the server uses nsb in n1

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
        """List all objects, many times, under load: each namespace shows its own only."""
        t = self.t
        both = [t.start(t.a, self.inside(ns, "sh -c 'for i in $(seq 10); do %s; done'" % _DUMPS), 60)
                for ns in (None, "n1")]
        outs = [dump.wait() for dump in both]
        t.case("dumps in both namespaces", all(not out.rc for out in outs),
               "\n".join(out.err[-300:] for out in outs))
        for out, own, others in zip(outs, ("nsa", "nsb"), ("nsb", "nsa")):
            t.case("only QPs of %s are shown in its namespace" % own,
                   "link %s/" % own in out.out and others + "/" not in out.out, out.out[-800:])

    def moved_under_load(self):
        """Programs that use a device end when it is moved. Others can use it in its new namespace."""
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
        """A namespace ends: a device of init's netdev returns, a device of the namespace's netdev ends."""
        t = self.t
        device = t.dev(t.a)
        self.move(device, "n1")
        t.run(t.a, "ip netns del n1", check=True)
        self.t.a.wait_until("rdma link | grep -q '^link %s/1 state ACTIVE'" % device, timeout=20)
        t.case("the device is back when the namespace has ended", True)
        self.t.a.wait_until("! rdma link | grep -q '^link ns[ab]/'", timeout=20)
        t.case("links of the namespace's netdevs end with it", True)
        if not self.iwarp:
            t.lab.wait_gids(t.a)
        t.tool("vverify", "-m rc/write", timeout=60, prefix="after the namespace: ")

    def module_goes(self):
        t = self.t
        self.move(t.dev(t.a), "n1")
        t.check_run("rmmod with devices in both namespaces", t.a,
                    "rmmod " + MODULE["tern"], 30)
        t.case("no device is left", not self.sees(None) and not self.sees("n1"))
        self.down()
        t.lab.add_link(t.a, t.lab.driver_of(t.pair, "a"))


def run(t):
    e = Exclusive(t)
    t.undo = [e.down]
    e.up()
    e.is_in("a link made in a namespace is in that one only", "nsb", "n1")
    e.is_in("a link made in init's namespace is in that one only", "nsa", None)
    e.verify("nsb made in n1", "-n veth0")
    e.moved_under_load()
    if not e.iwarp:
        # Not for iWARP: rdma_cm needs the address of nsa's netdev, which is not in n1.
        e.verify("nsa moved to n1", "-d nsa", "n1")
    e.move("nsa", None)
    e.verify("nsa moved back", "-n veth0")
    e.move("nsb", None)
    e.move("nsb", "n1")
    e.verify("nsb moved away and back", "-n veth0")
    e.namespace_goes()
    e.down()
    e.up()
    e.module_goes()
