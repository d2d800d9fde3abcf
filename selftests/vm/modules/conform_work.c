// SPDX-License-Identifier: GPL-2.0
/* See conform.h: work requests, and what becomes of them. */
#include <linux/delay.h>
#include <linux/jiffies.h>

#include "conform.h"

void conform_work(struct conform_work *w, struct conform_end *end, enum ib_wr_opcode opcode,
		  u32 bytes)
{
	*w = (struct conform_work){};
	w->sge[0].addr = end->dma;
	w->sge[0].length = bytes;
	w->sge[0].lkey = end->c->pd->local_dma_lkey;
	w->send.opcode = opcode;
	w->send.send_flags = IB_SEND_SIGNALED;
	w->send.sg_list = w->sge;
	w->send.num_sge = 1;
}

void conform_rdma(struct conform_work *w, struct conform_end *end, enum ib_wr_opcode opcode,
		  u64 remote_addr, u32 rkey, u32 bytes)
{
	conform_work(w, end, opcode, bytes);
	w->rdma.remote_addr = remote_addr;
	w->rdma.rkey = rkey;
}

int conform_post(struct conform_end *end, struct ib_send_wr *wr, u32 slot)
{
	wr->wr_cqe = &end->done[slot].cqe;
	reinit_completion(&end->done[slot].completion);
	return ib_post_send(end->qp, wr, NULL);
}

int conform_post_recv_to(struct ib_srq *srq, struct conform_end *end, u32 bytes, u32 slot)
{
	struct ib_sge sge = {
		.addr = end->dma,
		.length = bytes,
		.lkey = end->c->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &end->done[slot].cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	reinit_completion(&end->done[slot].completion);
	return srq ? ib_post_srq_recv(srq, &wr, NULL) : ib_post_recv(end->qp, &wr, NULL);
}

int conform_post_recv(struct conform_end *end, u32 bytes, u32 slot)
{
	return conform_post_recv_to(NULL, end, bytes, slot);
}

int conform_wait(struct conform_end *end, u32 slot)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(CONFORM_WAIT_MS);
	struct conform_done *done = &end->done[slot];

	do {
		/* Nobody else polls a CQ that is the case's own. */
		if (end->borrows_cq || end->cq->poll_ctx == IB_POLL_DIRECT)
			ib_process_cq_direct(end->cq, -1);
		if (try_wait_for_completion(&done->completion))
			return done->wc.status;
		usleep_range(100, 200);
	} while (time_before(jiffies, deadline));
	return -ETIMEDOUT;
}

int conform_do(struct conform_end *end, struct ib_send_wr *wr)
{
	return conform_post(end, wr, 0) ?: conform_wait(end, 0);
}

int conform_access(struct conform_end *end, enum ib_wr_opcode opcode, u64 addr, u32 rkey,
		   u32 bytes)
{
	struct conform_work w, behind;
	int status;

	conform_rdma(&w, end, opcode, addr, rkey, bytes);
	if (opcode == IB_WR_RDMA_READ)
		return conform_do(end, &w.send);
	conform_rdma(&behind, end, IB_WR_RDMA_READ, addr, rkey, 0);
	behind.send.num_sge = 0;
	behind.send.wr_cqe = &end->done[1].cqe;
	reinit_completion(&end->done[1].completion);
	w.send.next = &behind.send;
	status = conform_do(end, &w.send);
	return status ?: conform_wait(end, 1);
}

int conform_map(struct conform_end *end, struct ib_mr *mr)
{
	int n = ib_map_mr_sg(mr, end->sg, CONFORM_PAGES, NULL, PAGE_SIZE);

	return n < 0 ? n : n != CONFORM_PAGES ? -ENOSPC : 0;
}

int conform_reg_key(struct conform_end *end, struct ib_mr *mr, u32 key, int access)
{
	struct ib_reg_wr wr = {
		.wr = { .opcode = IB_WR_REG_MR, .send_flags = IB_SEND_SIGNALED },
		.mr = mr,
		.key = key,
		.access = access,
	};

	return conform_do(end, &wr.wr);
}

int conform_reg(struct conform_end *end, struct ib_mr *mr, int access)
{
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	return conform_reg_key(end, mr, mr->rkey, access);
}

int conform_invalidate(struct conform_end *end, u32 key)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = key,
	};

	return conform_do(end, &wr);
}
