#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The checks of this folder find what they are for: each is given a small tree that is right, then
the same with one breach, and has to name it.
"""

import re
import sys
import unittest

import cycles
import engines
import facts
import layers
import length
import names
import owners
import prose
import sources
import statics


def texts(text):
    """{path: text} of "--- path" and what follows up to the next."""
    parts = re.split(r"^--- (\S+)\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


class Breaches(unittest.TestCase):
    """RIGHT is a tree of which said() says nothing."""

    RIGHT = ""

    def said(self, files):
        raise NotImplementedError

    def finds(self, change, *words):
        """Of RIGHT with the files in `change` something with each of `words` is said."""
        right = texts(self.RIGHT)
        self.assertEqual(self.said(right), [])
        said = self.said({**right, **texts(change)})
        for word in words:
            self.assertTrue(any(word in line for line in said), "%s: %s" % (word, said))

    def finds_in(self, path, old, new, *words):
        """The same, where `old` in a file of RIGHT becomes `new`."""
        text = texts(self.RIGHT)[path]
        self.assertIn(old, text)
        self.finds("--- %s\n%s" % (path, text.replace(old, new)), *words)

    def allows(self, change):
        self.assertEqual(self.said({**texts(self.RIGHT), **texts(change)}), [])


class Items(unittest.TestCase):
    """What the parser takes for what."""

    def items(self, text):
        return ["%s %s%s%s" % (item.kind, "static " if item.static else "", item.name,
                               " of " + item.inside if item.inside else "")
                for item in sources.items(text)]

    def test_c(self):
        self.assertEqual(self.items("""
#define LOOKS(x) static int like(void) { return x; }
/* int in_a_comment(void); */
extern struct mutex lock;
struct pair {
    int left, right;
    void (*fn)(void);
    struct { u8 deep; };
};
static const struct ops table = {
    .fn = some_call,
    .other = { 1, 2 },
};
int plain(struct pair *p, void (*fn)(int)) __acquires(&p->lock);
static inline bool small(void)
{
    return "}" == NULL || f('{');
}
u64 __init big(int a,
               int b)
{
    if (a) {
        b();
    }
    return 0;
}
static DEFINE_MUTEX(guard);
typedef u32 (*shape)(void);
enum { ONE, TWO };
DEFINE_STATIC_CALL(call, big);
"""), ["extern lock", "object right of pair", "object deep of pair", "object static table",
            "prototype plain", "function static small", "function big", "object static guard"])

    def test_cxx(self):
        self.assertEqual(self.items("""
namespace tern {
class Guard {
public:
    explicit Guard(Lock &lock) : lock_(lock) { lock_.take(); }
private:
    Lock &lock_;
};
template <typename T> T twice(T value)
{
    auto inner = [&](int x) { return x; };
    return inner(value) * 2;
}
} // namespace tern
extern "C" {
int c_call(void);
}
"""), ["function Guard of Guard", "object lock_ of Guard", "function twice", "prototype c_call"])

    def test_trace_events(self):
        self.assertEqual(self.items("""
TRACE_EVENT(sent,
    TP_STRUCT__entry(__field(int, n)),
    TP_fast_assign(int half = n / 2; __entry->n = half;),
    TP_printk("n=%d %s", __entry->n, __get_str(dev))
);
int behind(void);
"""), ["prototype behind"])

    def test_lines(self):
        item = next(sources.items("int\nfn(int a,\n   int b)\n{\n\treturn 0;\n}\n"))
        self.assertEqual((item.first, item.last), (2, 6))


class Layers(Breaches):
    EDGES = {"main": {"verbs"}, "verbs": {"mem"}, "mem": set(), "proto": set()}
    RIGHT = """
--- kernel/main.c
#include "verbs/verbs.h"
--- kernel/verbs/verbs.h
#include <linux/module.h>
#include "mem/mem.h"
--- kernel/mem/mem.h
/* #include "verbs/verbs.h" */
--- kernel/proto/deps.h
#include <linux/types.h>
"""

    def said(self, files):
        return list(layers.complaints(sources.Tree(files), self.EDGES))

    def test_upwards(self):
        self.finds('--- kernel/mem/mem.h\n#include "verbs/verbs.h"\n', "mem includes verbs",
                   "parts that include one another: mem verbs")

    def test_over_a_part(self):
        self.finds('--- kernel/main.c\n#include "verbs/verbs.h"\n#include "mem/mem.h"\n',
                   "main includes mem")

    def test_unused(self):
        self.finds("--- kernel/verbs/verbs.h\n", "verbs may include mem, and does not")

    def test_unknown_part(self):
        self.finds("--- kernel/roce/wire/net.c\n", "roce/wire: a part that")

    def test_part_gone(self):
        files = texts(self.RIGHT)
        del files["kernel/proto/deps.h"]
        self.assertIn("proto: selftests/lint/layers.py has a part that is not there",
                      self.said(files))

    def test_nowhere(self):
        self.finds('--- kernel/main.c\n#include "verbs/verbs.h"\n#include "none.h"\n', "nowhere")

    def test_proto(self):
        self.finds("--- kernel/proto/pkt.h\n#include <linux/slab.h>\n", "only deps.h may")

    def test_packets(self):
        self.finds("--- kernel/verbs/qp.c\n#include <linux/skbuff.h>\n", "sees no packets")
        self.finds("--- kernel/verbs/qp.c\nint f(struct sk_buff *skb);\n", "sees no packets")
        self.allows("--- kernel/verbs/qp.c\nint f(struct sk_buff *msg);\n")

    def test_versions(self):
        self.finds("--- kernel/mem/a.c\n#if LINUX_VERSION_CODE > 5\n#endif\n", "only compat/ may")
        self.allows("--- kernel/compat/include/a.h\n#if LINUX_VERSION_CODE > 5\n#endif\n")


class Owners(Breaches):
    RIGHT = """
--- kernel/a/x.h
int x_do(void);
extern int x_count;
static inline int x_one(void) { return 1; }
--- kernel/a/x.c
int x_count;
int x_do(void)
{
}
static int own(void)
{
}
--- kernel/a/types.h
struct t { int a; };
--- kernel/a/seam.h
void answer(void);
--- kernel/b/y.c
void answer(void)
{
}
"""
    Z = "--- kernel/a/z.c\nint z(void)\n{\n}\n"

    def said(self, files):
        return list(owners.complaints(sources.Tree(files), {"kernel/a/seam.h"}))

    def test_header_without_owner(self):
        self.finds("--- kernel/a/all.h\nint z(void);\n" + self.Z, "the header has no owner")
        self.finds("--- kernel/b/z.h\nint z(void);\n" + self.Z, "the header has no owner")

    def test_of_another_file(self):
        self.finds("--- kernel/a/y.h\nint z(void);\n--- kernel/a/y.c\n" + self.Z,
                   "z is of kernel/a/z.c, not of kernel/a/y.c")

    def test_undeclared(self):
        self.finds(self.Z, "z is declared in no header")

    def test_undefined(self):
        self.finds_in("kernel/a/seam.h", "answer(void);", "answer(void);\nint lost(void);",
                      "lost is defined nowhere")

    def test_variable(self):
        self.finds("--- kernel/a/z.h\nextern int x_count;\n--- kernel/a/z.c\n", "x_count is of")

    def test_declared_twice(self):
        self.finds_in("kernel/a/seam.h", "answer(void);", "answer(void);\nint x_do(void);",
                      "x_do is declared in")

    def test_seam(self):
        self.finds("--- kernel/a/seam.c\n", "a seam with an owner")
        self.assertEqual(len(self.said({})), 1)


class Cycles(Breaches):
    RIGHT = """
--- kernel/a/x.h
#include "a/y.h"
--- kernel/a/y.h
"""

    def said(self, files):
        """Of a .c file there is what its object defines, then what that wants."""
        def nm(text):
            defined, *wanted = text.split()
            return "".join(["0000000000000010 T %s\n0000000000000000 t local\n" % defined,
                            *("                 U %s\n" % name for name in wanted)])
        tree = sources.Tree({path: text for path, text in files.items() if path.endswith(".h")})
        return list(cycles.complaints(tree, {path: nm(text) for path, text in files.items()
                                             if path.endswith(".c")}))

    def test_includes(self):
        self.finds('--- kernel/a/y.h\n#include "x.h"\n',
                   "headers that include one another: kernel/a/x.h kernel/a/y.h")

    def test_calls(self):
        most = "--- kernel/a/1.c\none two\n--- kernel/a/2.c\ntwo three kfree\n" \
            "--- kernel/a/4.c\nfour one\n--- kernel/a/3.c\nthree one"
        self.allows(most)
        self.finds(most + " four", "4 files of a call one another",
                   "kernel/a/3.c -> kernel/a/4.c: four")

    def test_other_parts(self):
        self.allows("--- kernel/a/1.c\none two\n--- kernel/b/2.c\ntwo three\n"
                    "--- kernel/c/3.c\nthree four\n--- kernel/d/4.c\nfour one\n")


class Engines(Breaches):
    RIGHT = """
--- kernel/proto/rc_req.c
void f(struct rc_req *q) { q->head++; }
--- kernel/roce/qp.h
struct roce_qp {
    struct rc_req req;
    u32 head;
};
--- kernel/roce/qp.c
void f(struct roce_qp *qp) { qp->head = rc_req_head(&qp->req); }
""" + "".join("--- kernel/proto/%s.h\nstruct %s {\n    u32 %s_state, head;\n    u32 tail;\n};\n"
              % (name, name, name) for name in engines.ENGINES)

    def said(self, files):
        return list(engines.complaints(sources.Tree(files)))

    def test_member_of_a_member(self):
        self.finds_in("kernel/roce/qp.c", "qp->head", "qp->req.head",
                      "kernel/roce/qp.c:1: head of struct rc_req")
        self.finds_in("kernel/roce/qp.c", "qp->head", "qp->req.tail", "tail of struct rc_req")

    def test_parameter(self):
        self.finds("--- kernel/roce/a.c\nu32 f(const struct rc_resp *p) { return p->tail; }\n",
                   "tail of struct rc_resp")

    def test_engine_gone(self):
        self.finds("--- kernel/proto/iw_ack.h\n", "struct iw_ack: kernel/proto/ has none")


class Length(Breaches):
    @staticmethod
    def function(lines):
        return "static void f(void)\n{\n" + "\tg();\n" * (lines - 3) + "}\n"

    def said(self, files):
        return list(length.complaints(sources.Tree(files)))

    def test_c(self):
        self.allows("--- kernel/a.c\n" + self.function(length.MOST))
        self.finds("--- kernel/a.c\n" + self.function(length.MOST + 1), "kernel/a.c:1: f()")

    def test_cxx(self):
        wrapped = "--- provider/a.cc\nnamespace {\nclass C {\n%s};\n}\n"
        self.allows(wrapped % self.function(length.MOST))
        self.finds(wrapped % self.function(length.MOST + 1), "provider/a.cc:3: f()")

    def test_columns(self):
        width = length.COLUMNS - 6
        for path in ("kernel/a.c", "uapi/a.h", "selftests/a.cc"):
            self.allows("--- %s\n/* %s */\n" % (path, "w" * width))
            self.finds("--- %s\n\n/* %s */\n" % (path, "w" * (width + 1)), path + ":2: it has 101")
        self.finds("--- kernel/a.c\nint a;" + "\t" * 12 + "/* six */\n", "kernel/a.c:1: it has 105")
        self.allows('--- kernel/a.c\n\tpr_err("%s");\n' % ("w" * width))


class Prose(Breaches):
    RIGHT = """
--- kernel/a.c
/*
 * The caller holds only a reference to the QP. Those who wait are run next;
 * as long as one runs, it does not matter whose QP it is.
 */
int whoever; /* says who may touch it */
--- Documentation/a.md
# Who owns what

| who may touch it |
|---|

    for who reads code, `for who` does not

`whoever()` is a name.
"""

    def said(self, files):
        return list(prose.complaints(sources.Tree(files), where=True))

    def test_comment(self):
        for words in ("Whoever lets go of the lock looks.", "A flag for who\n * found it taken.",
                      "It is set. Who rings has it.", "In stretches of so many responses.",
                      "All of it, but for the header.", "The packet is to be sent again.",
                      "Not sent, for it is too late.", "So does TCP's callback.",
                      "It copies in his own time.", "What came before the FIN is taken first."):
            self.finds("--- kernel/a.c\n\n/* %s */\n" % words, "kernel/a.c:2:")

    def test_page(self):
        self.finds("--- README.md\n* One.\n* Two: all\n  but for three.\n", "README.md:2: but for")


class Statics(Breaches):
    RIGHT = "--- kernel/a.c\nstatic void set_it(void)\n{\n}\nvoid get(void)\n{\n}\n"

    def said(self, files):
        return list(statics.complaints(sources.Tree(files)))

    def test_one_word(self):
        self.finds_in("kernel/a.c", "set_it", "set", "kernel/a.c:1: set()")


class Facts(Breaches):
    RIGHT = """
--- uapi/tern-abi.h
#define TERN_MAX_SGE    32
--- kernel/core/stats.h
    X(TX, "tx_packets") \\
    X(RX, "rx_packets")
--- kernel/roce/transport.c
#define QS (64 * 1024u)
#define ROCE_WAIT_NS    4000000
static const struct tern_limits limits = {
    .max_qp = 1 << 16,
    .max_cq = QS,
};
--- Documentation/tern.7
.Sh LIMITS
.It Queue pairs, completion queues Ta 65536 each
.El
.Sh COUNTERS
.It Va tx_packets , rx_packets
.Sh ENVIRONMENT
--- Documentation/roce.md
## Limits
| QPs | 65536 | SGEs of a WQE | 32 |

It waits 4 ms at most (`ROCE_WAIT_NS`).
## Counters
| `tx_packets`, `rx_packets` | all |
--- kernel/iwarp/transport.c
static const struct tern_limits limits = {
    .max_qp = 1 << 15,
};
--- provider/wqe.h
    /* SEND */ {kIwarp | kRc | kUd, SendBody::kData},
    /* RDMA_READ */ {kRc | kXrc, SendBody::kSges},
    /* REG_MR */ {0, SendBody::kNone},
--- Documentation/verbs.md
### Send opcodes
| | tern RoCE | rxe | tern iWARP |
|---|---|---|---|
| `SEND` | RC UD | RC UC | RC |
| `RDMA_READ` (new) | RC XRC | RC | no |
| `TSO` | no | no | no |
## Limits
| | tern RoCE | rxe | tern iWARP |
|---|---|---|---|
| QPs | 65536 | 7 | 32768 |
| CQs | 65536 | 9 | none |
"""

    def said(self, files):
        return list(facts.complaints(sources.Tree(files)))

    def test_limits(self):
        self.finds_in("Documentation/tern.7", "65536 each", "65535 each", "max_qp is 65536")
        self.finds_in("Documentation/roce.md", "| 65536 |", "| 32768 |", "max_qp is 65536")
        self.finds_in("uapi/tern-abi.h", "32", "16", "TERN_MAX_SGE is 16")
        self.finds_in("kernel/roce/transport.c", "1 << 16", "1 << 17", "max_qp is 131072")
        self.finds_in("Documentation/roce.md", "SGEs of a WQE", "fingers", "'fingers'")
        self.assertIn("no table of limits was found", self.said({}))

    def test_limits_by_transport(self):
        page = "Documentation/verbs.md"
        self.finds_in(page, "32768", "65536", "'QPs' is 65536 there, and max_qp is 32768")
        self.finds_in(page, "none", "9", "'CQs' is 9 there, and max_cq is 0")
        self.finds_in("kernel/iwarp/transport.c", "1 << 15,", "1 << 15, .max_cq = 4,",
                      "'CQs' is 0 there, and max_cq is 4")

    def test_opcodes(self):
        page = "Documentation/verbs.md"
        self.finds_in(page, "RC UD", "RC", "SEND, roce: for RC there, and for RC UD in")
        self.finds_in(page, "| RC | no |", "| RC | RC |", "RDMA_READ, iwarp: for RC there")
        self.finds_in(page, "`RDMA_READ`", "`READ`", "the opcode RDMA_READ is missing")
        self.finds_in("provider/wqe.h", "kXrc", "kUc", "for RC XRC there, and for RC UC in")

    def test_numbers(self):
        self.finds_in("Documentation/roce.md", "4 ms", "5 ms", "ROCE_WAIT_NS is 5000000")
        self.finds_in("Documentation/roce.md", "ROCE_WAIT_NS", "ROCE_WAITED_NS",
                      "no such constant")

    def test_counters(self):
        self.finds_in("kernel/core/stats.h", "rx_packets", "rx_pkts",
                      "tern.7: the counter rx_pkts is missing",
                      "tern.7: there is no counter rx_packets",
                      "roce.md: there is no counter rx_packets", "tells of the counter rx_pkts")


class Names(Breaches):
    RIGHT = """
--- kernel/roce/net.c
int roce_net_init(void)
--- kernel/iwarp/net.c
--- kernel/verbs/qp.c
--- provider/wr.cc
--- selftests/vm/tests/10_basics.py
--- selftests/unit/a_test.cc
TEST(IwReq, CompletionsAreInOrder)
--- Documentation/architecture.md
* `roce/`: `net.c`.
* `iwarp/`: `net.c` as well
* `verbs/`: one noun a file (`qp`)
* `provider/*.cc`: `roce_net_init()`, `linux/types.h`, `NAME_test.cc`
--- Documentation/threats.md
| x | `basics` |
--- Documentation/iwarp-conformance.md
| x | u IwReq CompletionsAreInOrder; v 10_basics |
--- README.md
[tests](selftests/unit/), `selftests/unit/a_test.cc`, run `--tests 'basics[tt]'`
"""
    MAP = "Documentation/architecture.md"

    def said(self, files):
        return list(names.complaints(sources.Tree(files)))

    def test_map(self):
        self.finds_in(self.MAP, "`iwarp/`: `net.c`", "iWARP", "kernel/iwarp/net.c is on no map")
        self.finds_in(self.MAP, "(`qp`)", "", "kernel/verbs/qp.c is on no map")
        self.finds("--- kernel/roce/wire/gid.c\n", "kernel/roce/wire/gid.c is on no map")

    def test_figure(self):
        self.allows("--- kernel/roce/wire/gid.c\n--- %s\n%s\n    kernel/roce/wire/  gid: sockets\n"
                    % (self.MAP, texts(self.RIGHT)[self.MAP]))

    def test_files(self):
        self.finds_in("README.md", "a_test.cc", "b_test.cc",
                      "selftests/unit/b_test.cc: no such file")
        self.finds_in("README.md", "(selftests/unit/)", "(selftests/none/)", "no such folder")
        self.finds_in(self.MAP, "`net.c`.", "`not.c`, `net.c`.", "not.c: no such file")

    def test_functions(self):
        self.finds_in(self.MAP, "roce_net_init()", "roce_net_begin()", "no such function")

    def test_tests(self):
        self.finds_in("README.md", "basics[tt]", "basic[tt]", "--tests basic: no such test")
        self.finds_in("Documentation/threats.md", "basics", "desert", "desert: no such test")
        conformance = "Documentation/iwarp-conformance.md"
        self.finds_in(conformance, "AreInOrder", "AreOrdered", "no such test")
        self.finds_in(conformance, "10_basics", "11_basics", "no such test")


class TheTable(unittest.TestCase):
    def test_layers(self):
        self.assertEqual(list(sources.cycles(layers.parse(layers.EDGES))), [])


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False, verbosity=0).result.wasSuccessful())
