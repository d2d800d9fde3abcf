/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of rdma_bench.ko. The module measures everything while
 * it is loaded, in the context of insmod, and does nothing afterwards.
 *
 * A subject is a driver with two devices, or one twice. Each case runs over all
 * subjects in turns of a few milliseconds, so that other load on the machine
 * slows all of them by the same factor and their ratio stays.
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
	__be32 ip;			/* ndev's first */
	u64 sent_before;		/* packets that ndev had sent before the cases */
	struct ib_pd *pd;
	struct ib_cq *scq;
	struct ib_cq *rcq;
	struct ib_qp *qp;
	u8 *buf;
	u64 addr;			/* of buf, for the device */
};

/* The work requests of a post: built once per case and posted for each sample. */
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
	void *streams;		/* iwarp.c's or tcp.c's, during one of their cases */
	u64 *cycles;		/* samples of the current case */
	u32 n;
};

struct bench_case {
	const char *name;
	/* Take one sample: its cycles, or an error. */
	int (*sample)(struct bench_subject *s, const struct bench_case *c, u64 *cycles);
	/* Before the first sample: prepare, and verify that data arrives. */
	int (*begin)(struct bench_subject *s, const struct bench_case *c);
	void (*end)(struct bench_subject *s);
	enum ib_wr_opcode opcode;
	int send_flags;		/* enum ib_send_flags, for all operations */
	u32 bytes;
	u32 list;		/* operations in a sample; the last is signaled */
	u32 turn;		/* samples in a subject's turn */
	u32 qps;		/* streams: connections, each with `list` operations */
	bool copy_beside;	/* memcpy() of as many bytes is another subject */
};

/* ---- main.c ---- */

extern unsigned int bench_turns;

bool bench_wanted(const char *name);
/* Sort the samples, each of ops operations, and print the cycles of one operation. */
void bench_report(const char *driver, const char *name, u64 *cycles, u32 n, u32 ops);

/* ---- cases.c ---- */

/* All cases of connected subjects. Their names begin with path and mtu. */
int bench_run_verbs(struct bench_subject *s, u32 n, const char *path, u32 mtu);
/* The cases without a QP. */
int bench_run_floor(struct bench_subject *s, u32 n, const char *path);
/* Cases of iWARP and TCP, which connect for each case. */
int bench_run_streams(struct bench_subject *s, u32 n, const char *path);

/* ---- verbs.c ---- */

int bench_verbs_begin(struct bench_subject *s, const struct bench_case *c);
int bench_verbs_sample(struct bench_subject *s, const struct bench_case *c, u64 *cycles);
/* Wait for one completion. 0 if it is a success. */
int bench_poll_one(struct ib_cq *cq);
/* Take a sample with new bytes and check that they arrive: at a (from_b) or at b. */
int bench_verify(struct bench_subject *s, const struct bench_case *c, bool from_b);

/* ---- floor.c: lower bounds to compare operations with ---- */

int bench_copy_sample(struct bench_subject *s, const struct bench_case *c, u64 *cycles);
int bench_udp_begin(struct bench_subject *s, const struct bench_case *c);
int bench_udp_sample(struct bench_subject *s, const struct bench_case *c, u64 *cycles);
void bench_udp_end(struct bench_subject *s);

/*
 * ---- iwarp.c, tcp.c: the same bytes over the same number of connections, which begin() makes. A
 * sample ends when all have arrived. TCP's bytes always go from a to b ----
 */

int bench_iwarp_begin(struct bench_subject *s, const struct bench_case *c);
int bench_iwarp_sample(struct bench_subject *s, const struct bench_case *c, u64 *cycles);
void bench_iwarp_end(struct bench_subject *s);

int bench_tcp_begin(struct bench_subject *s, const struct bench_case *c);
int bench_tcp_sample(struct bench_subject *s, const struct bench_case *c, u64 *cycles);
void bench_tcp_end(struct bench_subject *s);

/* Place of a connection's i-th operation: all differ if the buffer is large enough. */
static inline u32 bench_stream_place(const struct bench_case *c, u32 connection, u32 i)
{
	return (connection * c->list + i) * c->bytes % BENCH_BUF_BYTES;
}

/* ---- pair.c ---- */

/* Find the address of dev and make its memory, but no QP. On failure too: bench_end_close(). */
int bench_end_open(struct bench_end *e, struct ib_device *dev);
void bench_end_close(struct bench_end *e);

/* A PD, and two CQs of that many entries. */
int bench_queues_create(struct bench_end *e, u32 entries);
void bench_queues_destroy(struct bench_end *e);

/* Make an RC QP at each end and move both to RTS, with that path MTU. */
int bench_connect(struct bench_subject *s, enum ib_mtu mtu);
void bench_disconnect(struct bench_subject *s);

/* Run the softirqs that are raised. If there is too much to do, ksoftirqd goes on. */
static inline void bench_run_softirqs(void)
{
	local_bh_disable();
	local_bh_enable();
}

/* Not an ordered read: earlier code has finished, or is part of the noise. */
static inline u64 bench_clock(void)
{
	return __builtin_ia32_rdtsc();
}

#endif
