// SPDX-License-Identifier: GPL-2.0
/*
 * Test module: a kernel consumer that registers lists with gaps, and writes and
 * reads through them by an RC QP that is connected to itself. It loads if all
 * was right; else the log says what was not. RoCE only: netdev=NAME.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "consumer.h"

#define PIECES		12
#define PIECE_BYTES	8192
#define PLAIN_BYTES	(PIECES * PIECE_BYTES)
#define CANARY		0xc5
#define WAIT_MS		10000

static char *netdev = "eth0";
module_param(netdev, charp, 0444);

struct fastreg {
	struct ib_device *dev;
	const struct ib_gid_attr *gid;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ib_mr *mr;
	u8 *plain;			/* what is written; its other half: what is read */
	u8 *piece[PIECES];
	struct scatterlist sg[PIECES];
};

/* Places in pieces of PIECE_BYTES: no two entries touch, and few fill a page. */
static const struct {
	u32 start;
	u32 bytes;
} places[PIECES] = {
	{ 100, 1 }, { 0, 8192 }, { 4095, 2 }, { 511, 4096 }, { 7, 4089 }, { 8191, 1 },
	{ 1, 8191 }, { 4096, 4096 }, { 3, 3 }, { 4000, 200 }, { 0, 1 }, { 12, 8000 },
};

static bool is_right(bool right, const char *what)
{
	if (!right)
		pr_err("tern_fastreg: wrong: %s\n", what);
	return right;
}

/* ---- the QP ---- */

static int qp_create(struct fastreg *f)
{
	struct ib_qp_init_attr init = {
		.send_cq = f->cq,
		.recv_cq = f->cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};

	f->qp = ib_create_qp(f->pd, &init);
	if (IS_ERR(f->qp))
		return PTR_ERR(f->qp);
	return consumer_to_init(f->qp) ?:
	       consumer_to_rtr(f->qp, f->gid, f->qp, f->gid, IB_MTU_1024) ?:
	       consumer_to_rts(f->qp, 14);
}

/* The status, or below 0. */
static int qp_do(struct fastreg *f, const struct ib_send_wr *wr)
{
	struct ib_wc wc;
	int err = ib_post_send(f->qp, wr, NULL);
	u32 ms;

	if (err)
		return err;
	for (ms = 0; ms < WAIT_MS; ms++) {
		if (ib_poll_cq(f->cq, 1, &wc) > 0)
			return wc.status;
		usleep_range(1000, 1100);
	}
	return -ETIMEDOUT;
}

static int move_bytes(struct fastreg *f, enum ib_wr_opcode opcode, u8 *plain, u64 at, u32 bytes)
{
	struct ib_sge sge = {
		.addr = ib_dma_map_single(f->dev, plain, bytes, DMA_BIDIRECTIONAL),
		.length = bytes,
		.lkey = f->pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = at,
		.rkey = f->mr->rkey,
	};
	int status = qp_do(f, &wr.wr);

	ib_dma_unmap_single(f->dev, sge.addr, bytes, DMA_BIDIRECTIONAL);
	return status;
}

/* ---- the region ---- */

static u32 list_make(struct fastreg *f)
{
	u32 i, bytes = 0;

	sg_init_table(f->sg, PIECES);
	for (i = 0; i < PIECES; i++) {
		memset(f->piece[i], CANARY, PIECE_BYTES);
		sg_set_buf(&f->sg[i], f->piece[i] + places[i].start, places[i].bytes);
		bytes += places[i].bytes;
	}
	/* For virtual DMA: it only notes addresses, and there is nothing to undo. */
	ib_dma_map_sg(f->dev, f->sg, PIECES, DMA_BIDIRECTIONAL);
	return bytes;
}

/* [from, from + bytes) of the list is what was written, and all else is as before. */
static bool list_has(const struct fastreg *f, u32 from, u32 bytes)
{
	u32 i, k, at = 0;

	for (i = 0; i < PIECES; i++) {
		for (k = 0; k < PIECE_BYTES; k++) {
			bool listed = k >= places[i].start &&
				      k - places[i].start < places[i].bytes;
			u32 off = at + k - places[i].start;
			u8 want = listed && off >= from && off - from < bytes ? f->plain[off] :
										CANARY;

			if (f->piece[i][k] != want)
				return false;
		}
		at += places[i].bytes;
	}
	return true;
}

static int region_set(struct fastreg *f, int nents, unsigned int *offset, u64 iova)
{
	struct ib_reg_wr wr = {
		.wr = { .opcode = IB_WR_REG_MR },
		.mr = f->mr,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ,
	};
	int n = ib_map_mr_sg(f->mr, f->sg, nents, offset, PAGE_SIZE);

	if (n != nents)
		return n < 0 ? n : -ENOSPC;
	if (iova)
		f->mr->iova = iova;
	ib_update_fast_reg_key(f->mr, ib_inc_rkey(f->mr->rkey));
	wr.key = f->mr->rkey;
	return qp_do(f, &wr.wr);
}

static int region_clear(struct fastreg *f)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = f->mr->rkey,
	};

	return qp_do(f, &wr);
}

/* ---- what is tried ---- */

static bool check_range(struct fastreg *f, u32 from, u32 bytes)
{
	u8 *back = f->plain + PLAIN_BYTES;

	list_make(f);
	get_random_bytes(f->plain, PLAIN_BYTES);
	memset(back, 0, PLAIN_BYTES);
	return is_right(!move_bytes(f, IB_WR_RDMA_WRITE, f->plain + from, f->mr->iova + from,
				    bytes), "a WRITE") &&
	       is_right(list_has(f, from, bytes), "where a WRITE went") &&
	       is_right(!move_bytes(f, IB_WR_RDMA_READ, back, f->mr->iova + from, bytes),
			"a READ") &&
	       is_right(!memcmp(back, f->plain + from, bytes), "what a READ brought");
}

static bool check_whole(struct fastreg *f)
{
	u32 i, bytes = list_make(f);
	u64 iovas[] = { 0, 0x123456789001 };

	for (i = 0; i < ARRAY_SIZE(iovas); i++) {
		if (!is_right(!region_set(f, PIECES, NULL, iovas[i]), "a registration") ||
		    !is_right(f->mr->length == bytes, "its length") ||
		    !check_range(f, 0, bytes) || !check_range(f, 0, 1) ||
		    !check_range(f, 1, 8192) || !check_range(f, 8000, 4500) ||
		    !check_range(f, bytes - 1, 1) || !check_range(f, 8193, bytes - 8193) ||
		    !is_right(!region_clear(f), "an invalidation"))
			return false;
	}
	return true;
}

/* It begins in the middle of its first entry. */
static bool check_offset(struct fastreg *f)
{
	unsigned int offset = 4000;

	list_make(f);
	f->sg[0] = f->sg[1];
	sg_mark_end(&f->sg[0]);
	f->plain[0] = 0x77;
	return is_right(!region_set(f, 1, &offset, 0), "a registration with an offset") &&
	       is_right(f->mr->length == places[1].bytes - 4000 && !offset, "its length") &&
	       is_right(!move_bytes(f, IB_WR_RDMA_WRITE, f->plain, f->mr->iova, 1), "a WRITE") &&
	       is_right(f->piece[1][4000] == 0x77 && f->piece[1][3999] == CANARY, "its place") &&
	       is_right(!move_bytes(f, IB_WR_RDMA_READ, f->plain + 1, f->mr->iova, 1), "a READ") &&
	       is_right(f->plain[1] == 0x77, "what it brought") &&
	       is_right(!region_clear(f), "an invalidation");
}

/*
 * A list that is too long is mapped as far as it goes. A WRITE behind the end ends the QP, which is
 * its own peer: the WRITE is refused or flushed.
 */
static bool check_limits(struct fastreg *f)
{
	u32 bytes = list_make(f);
	unsigned int far = places[0].bytes + 1;
	struct ib_mr *small = ib_alloc_mr(f->pd, IB_MR_TYPE_SG_GAPS, PIECES - 1);
	int n;

	if (!is_right(!IS_ERR(small), "a shorter region"))
		return false;
	n = ib_map_mr_sg(small, f->sg, PIECES, NULL, PAGE_SIZE);
	ib_dereg_mr(small);
	return is_right(n == PIECES - 1, "a list that is too long") &&
	       is_right(ib_map_mr_sg(f->mr, f->sg, PIECES, &far, PAGE_SIZE) == -EINVAL,
			"an offset behind the first entry") &&
	       is_right(!region_set(f, PIECES, NULL, 0), "a registration") &&
	       is_right(move_bytes(f, IB_WR_RDMA_WRITE, f->plain, f->mr->iova + 1, bytes) > 0,
			"a WRITE behind the end") &&
	       is_right(list_has(f, 0, 0), "memory after a refused WRITE");
}

/* ---- load, unload ---- */

static void fastreg_free(struct fastreg *f)
{
	u32 i;

	if (!IS_ERR_OR_NULL(f->qp))
		ib_destroy_qp(f->qp);
	if (!IS_ERR_OR_NULL(f->mr))
		ib_dereg_mr(f->mr);
	if (!IS_ERR_OR_NULL(f->cq))
		ib_destroy_cq(f->cq);
	if (!IS_ERR_OR_NULL(f->pd))
		ib_dealloc_pd(f->pd);
	if (!IS_ERR_OR_NULL(f->gid))
		rdma_put_gid_attr(f->gid);
	for (i = 0; i < PIECES; i++)
		kfree(f->piece[i]);
	kfree(f->plain);
}

static int fastreg_make(struct fastreg *f)
{
	struct ib_cq_init_attr cq = { .cqe = 16 };
	u32 i;

	f->plain = kmalloc(2 * PLAIN_BYTES, GFP_KERNEL);
	if (!f->plain)
		return -ENOMEM;
	for (i = 0; i < PIECES; i++) {
		f->piece[i] = kmalloc(PIECE_BYTES, GFP_KERNEL);
		if (!f->piece[i])
			return -ENOMEM;
	}
	f->gid = consumer_find_gid(f->dev);
	if (IS_ERR(f->gid))
		return PTR_ERR(f->gid);
	f->pd = ib_alloc_pd(f->dev, 0);
	if (IS_ERR(f->pd))
		return PTR_ERR(f->pd);
	f->cq = ib_create_cq(f->dev, NULL, NULL, NULL, &cq);
	if (IS_ERR(f->cq))
		return PTR_ERR(f->cq);
	f->mr = ib_alloc_mr(f->pd, IB_MR_TYPE_SG_GAPS, PIECES);
	if (IS_ERR(f->mr))
		return PTR_ERR(f->mr);
	return qp_create(f);
}

static int __init fastreg_init(void)
{
	struct fastreg *f = kzalloc(sizeof(*f), GFP_KERNEL);
	int err;

	if (!f)
		return -ENOMEM;
	f->dev = consumer_find_device(netdev);
	if (!f->dev) {
		kfree(f);
		return -ENODEV;
	}
	err = fastreg_make(f);
	if (err)
		pr_err("tern_fastreg: it could not begin: %d\n", err);
	else if (!is_right(f->dev->attrs.kernel_cap_flags & IBK_SG_GAPS_REG, "the capability") ||
		 !check_whole(f) || !check_offset(f) || !check_limits(f))
		err = -EBADMSG;
	fastreg_free(f);
	ib_device_put(f->dev);
	kfree(f);
	return err;
}
module_init(fastreg_init);

static void __exit fastreg_exit(void)
{
}
module_exit(fastreg_exit);

MODULE_DESCRIPTION("Registrations with gaps, for tests of tern");
MODULE_LICENSE("GPL");
