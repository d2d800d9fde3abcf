/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of rdma_bench.ko share. The module measures all there is
 * while it is loaded, in the context of insmod, and is of no use afterwards.
 *
 * A subject is a driver with two devices, or one twice. Each case is run over
 * all subjects in turns of a few milliseconds: whatever else the machine does
 * slows down one as much as the other, and their ratio stays.
 */
#ifndef RDMA_BENCH_H
#define RDMA_BENCH_H

#include <linux/bottom_half.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#define BENCH_SUBJECTS	4
#define BENCH_LIST	32	/* work requests in a post of the _x32 cases */
#define BENCH_INLINE	64	/* bytes that QPs take inline */
#define BENCH_BUF_BYTES	SZ_1M
#define BENCH_LIMIT_S	5	/* for one completion */

/* One end: a QP, its CQs, and memory that the other end may use. */
struct bench_end {
	struct ib_device *dev;
	const struct ib_gid_attr *sgid;	/* RoCE */
	struct net_device *ndev;
	__be32 ip;			/* its first */
	u64 sent_before;		/* packets it has sent before the cases */
	struct ib_pd *pd;
	struct ib_cq *scq;
	struct ib_cq *rcq;
	struct ib_qp *qp;
	u8 *buf;
	u64 addr;			/* of buf, for the device */
};

/* A post's list of work requests, made once a case and posted for each sample. */
struct bench_post {
	struct ib_sge sge[BENCH_LIST];
	struct ib_rdma_wr wr[BENCH_LIST];
};

struct bench_subject {
	const char *driver;
	struct bench_end a;	/* the requester */
	struct bench_end b;
	struct bench_post *post;
	struct socket *from;	/* floor.c */
	struct socket *to;
	u64 arrived;
	void *streams;		/* iwarp.c's or tcp.c's, while a case of theirs lasts */
	u64 *cycles;		/* the samples of the present case */
	u32 n;
};

struct bench_case {
	const char *name;
	/* One sample: the cycles it took, or an error. */
	int (*sample)(struct bench_subject *s, const struct bench_case *c, u64 *cycles);
	/* Before the first sample: make ready, and see that the right thing happens. */
	int (*begin)(struct bench_subject *s, const struct bench_case *c);
	void (*end)(struct bench_subject *s);
	enum ib_wr_opcode opcode;
	int send_flags;		/* of enum ib_send_flags, of all operations */
	u32 bytes;
	u32 list;		/* operations in a sample, the last of them signaled */
	u32 turn;		/* samples before the next subject's turn */
	u32 qps;		/* streams: connections, each with so many operations */
	bool copy_beside;	/* memcpy of as many bytes is one more subject */
};

/* ---- main.c ---- */

extern unsigned int bench_turns;

bool bench_wanted(const char *name);
/* Sorts and prints: cycles of an operation, of which each sample has ops. */
void bench_report(const char *driver, const char *name, u64 *cycles, u32 n, u32 ops);

/* ---- cases.c ---- */

/* All cases of connected subjects; path and mtu begin their names. */
int bench_run_verbs(struct bench_subject *s, u32 n, const char *path, u32 mtu);
/* Those that need no QP. */
int bench_run_floor(struct bench_subject *s, u32 n, const char *path);
/* Of iWARP and TCP, which connect for each case. */
int bench_run_streams(struct bench_subject *s, u32 n, const char *path);

/* ---- verbs.c ---- */

int bench_verbs_begin(struct bench_subject *s, const struct bench_case *c);
int bench_verbs_sample(struct bench_subject *s, const struct bench_case *c, u64 *cycles);
/* Until there is a completion, with success; or an error. */
int bench_poll_one(struct ib_cq *cq);
/* A sample, with other bytes than any before: do they arrive, at a or at b? */
int bench_verify(struct bench_subject *s, const struct bench_case *c, bool from_b);

/* ---- floor.c: what operations can be compared with ---- */

int bench_copy_sample(struct bench_subject *s, const struct bench_case *c, u64 *cycles);
int bench_udp_begin(struct bench_subject *s, const struct bench_case *c);
int bench_udp_sample(struct bench_subject *s, const struct bench_case *c, u64 *cycles);
void bench_udp_end(struct bench_subject *s);

/*
 * ---- iwarp.c, tcp.c: as many bytes over as many connections, which begin() makes. The sample
 * ends when all have arrived. TCP's always go from a to b ----
 */

int bench_iwarp_begin(struct bench_subject *s, const struct bench_case *c);
int bench_iwarp_sample(struct bench_subject *s, const struct bench_case *c, u64 *cycles);
void bench_iwarp_end(struct bench_subject *s);

int bench_tcp_begin(struct bench_subject *s, const struct bench_case *c);
int bench_tcp_sample(struct bench_subject *s, const struct bench_case *c, u64 *cycles);
void bench_tcp_end(struct bench_subject *s);

/* Of a connection's i-th operation in the buffer: each has a place of its own, as far as it goes. */
static inline u32 bench_stream_place(const struct bench_case *c, u32 connection, u32 i)
{
	return (connection * c->list + i) * c->bytes % BENCH_BUF_BYTES;
}

/* ---- pair.c ---- */

/* Address and memory of dev, without its QP; to be closed in any case. */
int bench_end_open(struct bench_end *e, struct ib_device *dev);
void bench_end_close(struct bench_end *e);

/* PD and two CQs of so many entries. */
int bench_queues_create(struct bench_end *e, u32 entries);
void bench_queues_destroy(struct bench_end *e);

/* RC, ready to send, with that path MTU. */
int bench_connect(struct bench_subject *s, enum ib_mtu mtu);
void bench_disconnect(struct bench_subject *s);

/* What is raised now runs at once, or, if it is too much, is ksoftirqd's. */
static inline void bench_run_softirqs(void)
{
	local_bh_disable();
	local_bh_enable();
}

/* Not an ordered read: what comes before is done long since, or part of the noise. */
static inline u64 bench_clock(void)
{
	return __builtin_ia32_rdtsc();
}

#endif
