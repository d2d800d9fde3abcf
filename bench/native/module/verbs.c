// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: one post at a time, polled for until it completes. There is one
 * CPU, so a sample is the whole cost of an operation at both ends, with its
 * acknowledgement and completion.
 *
 * Posts are made with BHs off, as from a completion handler: the softirqs that
 * they raise then run at once, not when ksoftirqd is scheduled.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "bench.h"

int bench_poll_one(struct ib_cq *cq)
{
	unsigned long limit = jiffies + BENCH_LIMIT_S * HZ;
	struct ib_wc wc;
	int n;

	for (;;) {
		n = ib_poll_cq(cq, 1, &wc);
		if (n)
			break;
		bench_run_softirqs();
		n = ib_poll_cq(cq, 1, &wc);
		if (n)
			break;
		if (time_after(jiffies, limit))
			return -ETIMEDOUT;
		/* ksoftirqd or a work queue may have work and wait for this CPU. */
		yield();
	}
	if (n < 0)
		return n;
	if (wc.status != IB_WC_SUCCESS) {
		pr_err("rdma_bench: completed with: %s\n", ib_wc_status_msg(wc.status));
		return -EIO;
	}
	return 0;
}

static int post_recv(struct bench_end *e, u32 bytes)
{
	struct ib_sge sge = {
		.addr = e->addr,
		.length = bytes,
		.lkey = e->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(e->qp, &wr, NULL);
}

static void post_fill(struct bench_subject *s, const struct bench_case *c)
{
	struct bench_post *post = s->post;
	u32 i;

	memset(post, 0, sizeof(*post));
	for (i = 0; i < c->list; i++) {
		struct ib_rdma_wr *wr = &post->wr[i];
		bool last = i == c->list - 1;

		/* Each at its own place. */
		post->sge[i].addr = s->a.addr + i * c->bytes;
		post->sge[i].length = c->bytes;
		post->sge[i].lkey = s->a.pd->local_dma_lkey;
		wr->remote_addr = s->b.addr + i * c->bytes;
		wr->rkey = s->b.pd->unsafe_global_rkey;
		wr->wr.sg_list = &post->sge[i];
		wr->wr.num_sge = 1;
		wr->wr.opcode = c->opcode;
		wr->wr.send_flags = c->send_flags | (last ? IB_SEND_SIGNALED : 0);
		wr->wr.next = last ? NULL : &post->wr[i + 1].wr;
	}
}

int bench_verbs_sample(struct bench_subject *s, const struct bench_case *c, u64 *cycles)
{
	u64 began;
	int err;

	if (c->opcode == IB_WR_SEND) {
		err = post_recv(&s->b, c->bytes);
		if (err)
			return err;
	}
	began = bench_clock();
	local_bh_disable();
	err = ib_post_send(s->a.qp, &s->post->wr[0].wr, NULL);
	local_bh_enable();
	if (!err)
		err = bench_poll_one(s->a.scq);
	if (!err && c->opcode == IB_WR_SEND)
		err = bench_poll_one(s->b.rcq);
	*cycles = bench_clock() - began;
	return err;
}

int bench_verify(struct bench_subject *s, const struct bench_case *c, bool from_b)
{
	u32 bytes = min_t(u64, (u64)c->bytes * c->list * max(c->qps, 1U), BENCH_BUF_BYTES);
	u8 *from = from_b ? s->b.buf : s->a.buf;
	u8 *to = from_b ? s->a.buf : s->b.buf;
	u64 cycles;
	int err;

	get_random_bytes(from, bytes);
	memset(to, 0, bytes);
	err = c->sample(s, c, &cycles);
	if (err)
		return err;
	if (memcmp(from, to, bytes)) {
		pr_err("rdma_bench: other bytes arrived than were sent\n");
		return -EBADMSG;
	}
	return 0;
}

int bench_verbs_begin(struct bench_subject *s, const struct bench_case *c)
{
	post_fill(s, c);
	return bench_verify(s, c, c->opcode == IB_WR_RDMA_READ);
}
