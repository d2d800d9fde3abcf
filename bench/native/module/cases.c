// SPDX-License-Identifier: GPL-2.0
/*
 * The cases, and the turns in which their samples are taken.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "bench.h"

/* A turn begins with turn / WARM_UP_SHARE samples that do not count. */
#define WARM_UP_SHARE	5

#define VERBS(NAME, OPCODE, BYTES, LIST, TURN, ...)					\
	{										\
		.name = NAME, .opcode = OPCODE, .bytes = BYTES, .list = LIST, .turn = TURN,	\
		.begin = bench_verbs_begin, .sample = bench_verbs_sample,		\
		.copy_beside = (BYTES) >= SZ_64K, ##__VA_ARGS__				\
	}

static const struct bench_case verbs_cases[] = {
	VERBS("write_64", IB_WR_RDMA_WRITE, 64, 1, 500),
	VERBS("write_64_x32", IB_WR_RDMA_WRITE, 64, BENCH_LIST, 50),
	VERBS("write_64_inline", IB_WR_RDMA_WRITE, BENCH_INLINE, 1, 500,
	      .send_flags = IB_SEND_INLINE),
	VERBS("read_64", IB_WR_RDMA_READ, 64, 1, 500),
	VERBS("send_64", IB_WR_SEND, 64, 1, 500),
	VERBS("write_64K", IB_WR_RDMA_WRITE, SZ_64K, 1, 50),
	VERBS("read_64K", IB_WR_RDMA_READ, SZ_64K, 1, 50),
	VERBS("write_1M", IB_WR_RDMA_WRITE, SZ_1M, 1, 5),
};

static const struct bench_case floor_cases[] = {
	{
		.name = "udp_64", .bytes = 64, .list = 1, .turn = 500,
		.begin = bench_udp_begin, .sample = bench_udp_sample, .end = bench_udp_end,
	},
};

/* ---- streams: iWARP, and TCP by itself ---- */

static bool is_tcp(const struct bench_subject *s)
{
	return !strcmp(s->driver, "tcp");
}

static int stream_begin(struct bench_subject *s, const struct bench_case *c)
{
	return is_tcp(s) ? bench_tcp_begin(s, c) : bench_iwarp_begin(s, c);
}

static int stream_sample(struct bench_subject *s, const struct bench_case *c, u64 *cycles)
{
	return is_tcp(s) ? bench_tcp_sample(s, c, cycles) : bench_iwarp_sample(s, c, cycles);
}

static void stream_end(struct bench_subject *s)
{
	if (is_tcp(s))
		bench_tcp_end(s);
	else
		bench_iwarp_end(s);
}

#define STREAM(NAME, OPCODE, BYTES, LIST, QPS, TURN)					\
	{										\
		.name = NAME, .opcode = OPCODE, .bytes = BYTES, .list = LIST, .qps = QPS,	\
		.turn = TURN, .begin = stream_begin, .sample = stream_sample,		\
		.end = stream_end,							\
	}

/* The last three move the same number of bytes per sample. */
static const struct bench_case stream_cases[] = {
	STREAM("write_64K", IB_WR_RDMA_WRITE, SZ_64K, 256, 1, 1),
	STREAM("read_64K", IB_WR_RDMA_READ, SZ_64K, 256, 1, 1),
	STREAM("write_1M", IB_WR_RDMA_WRITE, SZ_1M, 16, 1, 1),
	STREAM("read_1M", IB_WR_RDMA_READ, SZ_1M, 16, 1, 1),
	STREAM("write_16K", IB_WR_RDMA_WRITE, SZ_16K, 8192, 1, 1),
	STREAM("write_16K_16qps", IB_WR_RDMA_WRITE, SZ_16K, 512, 16, 1),
	STREAM("write_16K_256qps", IB_WR_RDMA_WRITE, SZ_16K, 32, 256, 1),
};

/* ---- turns ---- */

static int take_turn(struct bench_subject *s, const struct bench_case *c,
		     int (*sample)(struct bench_subject *s, const struct bench_case *c, u64 *cycles),
		     u64 *cycles)
{
	int err = 0;
	u64 unused;
	u32 i;

	for (i = 0; i < c->turn / WARM_UP_SHARE && !err; i++)
		err = sample(s, c, &unused);
	for (i = 0; i < c->turn && !err; i++)
		err = sample(s, c, &cycles[i]);
	return err;
}

static int take_turns(struct bench_subject *s, u32 n, const struct bench_case *c, u64 *copy_cycles)
{
	u32 turn, i, at;
	int err = 0;

	for (turn = 0; turn < bench_turns && !err; turn++) {
		at = turn * c->turn;
		for (i = 0; i < n && !err; i++) {
			err = take_turn(&s[i], c, c->sample, s[i].cycles + at);
			if (err)
				pr_err("rdma_bench: %s: error %d\n", s[i].driver, err);
		}
		if (c->copy_beside && !err)
			err = take_turn(s, c, bench_copy_sample, copy_cycles + at);
	}
	return err;
}

static int run_case(struct bench_subject *s, u32 n, const struct bench_case *c, const char *name)
{
	u32 samples = bench_turns * c->turn, i;
	u64 *cycles = kvmalloc_array((n + 1) * samples, sizeof(*cycles), GFP_KERNEL);
	u64 *copy_cycles = cycles + n * samples;
	int err = 0;

	if (!cycles)
		return -ENOMEM;
	for (i = 0; i < n && !err; i++) {
		s[i].cycles = cycles + i * samples;
		err = c->begin(&s[i], c);
		if (err)
			pr_err("rdma_bench: %s: error %d\n", s[i].driver, err);
	}
	if (!err)
		err = take_turns(s, n, c, copy_cycles);
	/* A profile ends at this line. */
	pr_info("rdma_bench: %s: all turns taken\n", name);
	for (i = 0; i < n && c->end; i++)
		c->end(&s[i]);
	for (i = 0; i < n && !err; i++)
		bench_report(s[i].driver, name, s[i].cycles, samples, c->list * max(c->qps, 1U));
	if (!err && c->copy_beside)
		bench_report("memcpy", name, copy_cycles, samples, c->list);
	if (err)
		pr_err("rdma_bench: %s failed\n", name);
	kvfree(cycles);
	return err;
}

/* Their names begin with prefix. */
static int run_cases(struct bench_subject *s, u32 n, const struct bench_case *cases, u32 num,
		     const char *prefix)
{
	char name[64];
	int err = 0;
	u32 i;

	for (i = 0; i < num && !err; i++) {
		snprintf(name, sizeof(name), "%s.%s", prefix, cases[i].name);
		if (bench_wanted(name))
			err = run_case(s, n, &cases[i], name);
	}
	return err;
}

int bench_run_verbs(struct bench_subject *s, u32 n, const char *path, u32 mtu)
{
	char prefix[32];

	snprintf(prefix, sizeof(prefix), "%s.%u", path, mtu);
	return run_cases(s, n, verbs_cases, ARRAY_SIZE(verbs_cases), prefix);
}

int bench_run_streams(struct bench_subject *s, u32 n, const char *path)
{
	return run_cases(s, n, stream_cases, ARRAY_SIZE(stream_cases), path);
}

int bench_run_floor(struct bench_subject *s, u32 n, const char *path)
{
	return run_cases(s, n, floor_cases, ARRAY_SIZE(floor_cases), path);
}
