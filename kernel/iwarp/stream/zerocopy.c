// SPDX-License-Identifier: GPL-2.0
/*
 * Zero-copy transmit: see zerocopy.h. What is sent next is tx.c's decision, when the QP runs for
 * returned memory work.c's.
 */
#include <linux/interrupt.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <net/tcp.h>

#include "charged.h"
#include "core/stats.h"
#include "iwarp/stream/state.h"
#include "iwarp/stream/tcp.h"
#include "iwarp/stream/zerocopy.h"
#include "mem/span.h"
#include "queue/sq.h"

/* Of a request, at least: less is copied sooner than its pages are counted. */
#define ZC_MIN_BYTES		(16 << 10)
/* Posted behind it, at least: two of the peer's acknowledgements (proto/iw_ack.h). */
#define ZC_BEHIND_BYTES		(2 * IW_ACK_MOST)
/* Given to TCP together, and returned together: completions come in such portions. */
#define ZC_BATCH_BYTES		(256 << 10)
/* An FPDU of 4 KiB pages that begins anywhere, and what frames it. */
#define ZC_FPDU_PIECES		(IW_ZC_FPDU_BYTES / 4096 + 3)
#define ZC_PIECES		(ZC_BATCH_BYTES / IW_ZC_FPDU_BYTES * ZC_FPDU_PIECES)
/* SGEs of a batch. */
#define ZC_SPANS		(ZC_BATCH_BYTES / ZC_MIN_BYTES)

static_assert(MPA_LENGTH_BYTES + DDP_UNTAGGED_BYTES + 3 + MPA_CRC_BYTES <= IW_ZC_FRAME_BYTES);

/* TCP fills a packet with at least this. */
#define ZC_PACKET_BYTES		(32 << 10)

static bool want_zerocopy = true;
module_param_named(iwarp_zerocopy, want_zerocopy, bool, 0644);
MODULE_PARM_DESC(iwarp_zerocopy, "iWARP: send long messages without a copy where there are no CRCs");

struct zc_batch {
	struct ubuf_info ubuf;		/* a reference for each packet, and one while it is open */
	struct iw_zc *zc;		/* referenced */
	struct list_head link;
	u32 number;
	u32 bytes;
	bool returned;			/* under zc->lock */
};

struct iw_zc {
	refcount_t ref;			/* the QP's, and one for each batch */
	bool copied;			/* by the stack: no path for zero-copy */
	spinlock_t lock;
	struct iw_qp *qp;		/* NULL: gone; under lock */
	struct list_head batches;	/* not returned, oldest first; under lock */
	u32 returned;			/* batches before this one are */
	/* The QP's: */
	u32 next;			/* number of the next batch */
	struct zc_batch *open;
	struct tern_span span[ZC_SPANS];	/* from begin to end: SGEs */
	u32 spans;
	u32 span_at;			/* of the last, in its message */
	struct bio_vec piece[ZC_PIECES];
	u32 pieces;
	u32 bytes;			/* of all pieces */
	u32 taken;			/* by TCP, of these */
	bool kept;			/* by page references of our own */
};

static atomic_t num_batches = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(no_batch_left);

/* ---- batches: opened by the QP, returned by whatever frees the last packet ---- */

static void put_zc(struct iw_zc *zc)
{
	if (refcount_dec_and_test(&zc->ref))
		kfree(zc);
}

/* Batches are returned in order: those before the oldest that is not. */
static void return_batch(struct zc_batch *batch)
{
	struct iw_zc *zc = batch->zc;
	struct zc_batch *next;
	unsigned long irq;
	LIST_HEAD(done);

	spin_lock_irqsave(&zc->lock, irq);
	batch->returned = true;
	list_for_each_entry_safe(batch, next, &zc->batches, link) {
		if (!batch->returned)
			break;
		list_move_tail(&batch->link, &done);
		/* All reading is over before the QP sees this. */
		smp_store_release(&zc->returned, batch->number + 1);
	}
	if (zc->qp && !list_empty(&done))
		tasklet_schedule(&zc->qp->zc_done);
	spin_unlock_irqrestore(&zc->lock, irq);

	list_for_each_entry_safe(batch, next, &done, link) {
		put_zc(batch->zc);
		kfree(batch);
		if (atomic_dec_and_test(&num_batches))
			wake_up_all(&no_batch_left);
	}
}

/* A packet is gone. Any context. */
static void put_batch(struct sk_buff *skb, struct ubuf_info *ubuf, bool zerocopy)
{
	struct zc_batch *batch = container_of(ubuf, struct zc_batch, ubuf);

	/* iw_zc_exit() waits until this has returned. */
	rcu_read_lock();
	if (!zerocopy)
		WRITE_ONCE(batch->zc->copied, true);
	if (refcount_dec_and_test(&ubuf->refcnt))
		return_batch(batch);
	rcu_read_unlock();
}

TERN_UBUF_INIT(init_ubuf, put_batch)

static bool open_batch(struct iw_zc *zc)
{
	struct zc_batch *batch = kzalloc(sizeof(*batch), GFP_ATOMIC | __GFP_NOWARN);
	unsigned long irq;

	if (!batch)
		return false;
	init_ubuf(&batch->ubuf);
	refcount_set(&batch->ubuf.refcnt, 1);
	/* Copied for receivers on this host alone, not where packets are cut. */
	batch->ubuf.flags = SKBFL_ZEROCOPY_FRAG | SKBFL_DONT_ORPHAN;
	batch->zc = zc;
	refcount_inc(&zc->ref);
	batch->number = zc->next++;
	atomic_inc(&num_batches);
	spin_lock_irqsave(&zc->lock, irq);
	list_add_tail(&batch->link, &zc->batches);
	spin_unlock_irqrestore(&zc->lock, irq);
	zc->open = batch;
	return true;
}

void iw_zc_close_batch(struct iw_zc *zc)
{
	struct zc_batch *batch = zc->open;

	/* What is left will be in the same batch. */
	if (!batch || iw_zc_left(zc))
		return;
	zc->open = NULL;
	put_batch(NULL, &batch->ubuf, true);
}

void iw_zc_reap(struct iw_qp *qp)
{
	iw_req_return(&qp->req, smp_load_acquire(&qp->tx.zc->returned));
}

/* ---- pieces that TCP has not taken ---- */

static void walk_pages(const struct iw_zc *zc, void (*fn)(struct page *page))
{
	u32 i, k;

	for (i = 0; i < zc->pieces; i++) {
		const struct bio_vec *piece = &zc->piece[i];

		for (k = 0; k < PFN_UP(piece->bv_offset + piece->bv_len); k++)
			fn(piece->bv_page + k);
	}
}

static void drop_pieces(struct iw_zc *zc)
{
	if (zc->kept)
		walk_pages(zc, put_page);
	zc->kept = false;
	zc->pieces = 0;
	zc->bytes = 0;
	zc->taken = 0;
}

/* ---- create, destroy ---- */

struct iw_zc *iw_zc_create(struct iw_qp *qp)
{
	struct iw_zc *zc;

	if (!READ_ONCE(want_zerocopy))
		return NULL;
	zc = kzalloc(sizeof(*zc), TERN_GFP_CHARGED);
	if (!zc)
		return NULL;	/* everything is copied then */
	refcount_set(&zc->ref, 1);
	spin_lock_init(&zc->lock);
	zc->qp = qp;
	INIT_LIST_HEAD(&zc->batches);
	return zc;
}

void iw_zc_destroy(struct iw_zc *zc)
{
	struct iw_qp *qp;

	if (!zc)
		return;
	qp = zc->qp;
	spin_lock_irq(&zc->lock);
	zc->qp = NULL;
	spin_unlock_irq(&zc->lock);
	tasklet_kill(&qp->zc_done);
	drop_pieces(zc);
	iw_zc_close_batch(zc);
	put_zc(zc);
}

void iw_zc_exit(void)
{
	/* All streams are over. What is in a queue of the stack leaves it as it would anyway. */
	wait_event_idle(no_batch_left, !atomic_read(&num_batches));
	synchronize_rcu();
}

/* ---- what is sent without a copy ---- */

u32 iw_zc_left(const struct iw_zc *zc)
{
	return zc->bytes - zc->taken;
}

bool iw_zc_has_room(const struct iw_zc *zc)
{
	return zc->bytes < ZC_BATCH_BYTES && zc->spans < ZC_SPANS &&
	       ZC_PIECES - zc->pieces >= ZC_FPDU_PIECES;
}

/*
 * Does the netdev take pages, in packets that are worth it? The socket's capabilities do not
 * tell: TCP always has scatter/gather, for what the stack cuts and copies itself.
 */
static bool path_takes_pages(const struct sock *sk)
{
	const struct dst_entry *dst = __sk_dst_get((struct sock *)sk);

	return dst && (READ_ONCE(dst->dev)->features & NETIF_F_SG) && sk_can_gso(sk) &&
	       tcp_sk(sk)->gso_segs * tcp_sk(sk)->mss_cache >= ZC_PACKET_BYTES;
}

bool iw_zc_wanted(const struct iw_qp *qp, const struct sock *sk)
{
	u32 bytes = iw_req_next_bytes(&qp->req);
	u64 behind = iw_req_unsent_bytes(&qp->req) - min_t(u32, bytes, IW_ZC_FPDU_BYTES);

	return bytes >= ZC_MIN_BYTES &&
	       behind >= max_t(u64, ZC_BEHIND_BYTES, 2 * iw_path_bytes(tcp_sk(sk))) &&
	       path_takes_pages(sk) && !READ_ONCE(qp->tx.zc->copied);
}

/* Not from memory that its owner may take back: TCP would go on reading it. Nor from none. */
static bool may_be_lent(const struct tern_span *span)
{
	return span->region && span->region->kind != TERN_REGION_MAPPED;
}

bool iw_zc_begin(struct iw_qp *qp)
{
	struct tern_send_wqe *wqe = tern_sq_wqe(&qp->base.sq, iw_req_next_slot(&qp->req));
	const struct tern_sge *sge = tern_wqe_sge(wqe), *end = sge + wqe->num_sge;
	struct iw_zc *zc = qp->tx.zc;
	u32 at = 0, off = iw_req_next_offset(&qp->req);

	if (wqe->flags & TERN_SEND_INLINE)
		return false;
	for (; sge < end && off - at >= sge->length; sge++)
		at += sge->length;
	if (sge == end)
		return false;
	if (zc->open && zc->open->bytes >= ZC_BATCH_BYTES && !zc->pieces)
		iw_zc_close_batch(zc);
	if (tern_span_get(&qp->base.mem, sge->lkey, sge->addr, sge->length, 0,
			  &zc->span[zc->spans]))
		return false;
	if (!may_be_lent(&zc->span[zc->spans])) {
		tern_span_put(&zc->span[zc->spans]);
		return false;
	}
	zc->spans++;
	zc->span_at = at;
	return true;
}

/*
 * Have its pages references of their own? Those of programs have; a kernel consumer's may be slabs,
 * or parts of larger pages.
 */
static bool has_page_refs(const struct tern_span *span, const void *p, size_t n)
{
	const void *end = p + n;

	if (span->region->kind == TERN_REGION_USER)
		return true;
	if (!virt_addr_valid(p))
		return false;
	for (p -= offset_in_page(p); p < end; p += PAGE_SIZE)
		if (!sendpage_ok(virt_to_page(p)))
			return false;
	return true;
}

static int add_piece(void *arg, const void *p, size_t n)
{
	struct iw_zc *zc = arg;

	if (zc->pieces == ZC_PIECES)
		return -ENOSPC;
	zc->piece[zc->pieces++] = (struct bio_vec){
		.bv_page = virt_to_page(p),
		.bv_offset = offset_in_page(p),
		.bv_len = n,
	};
	return 0;
}

static int add_payload(void *arg, const void *p, size_t n)
{
	const struct iw_zc *zc = arg;

	if (!has_page_refs(&zc->span[zc->spans - 1], p, n))
		return -EOPNOTSUPP;
	return add_piece(arg, p, n);
}

u32 iw_zc_add_fpdu(struct iw_qp *qp, const struct iw_seg *seg, u8 *hdr)
{
	struct iw_zc *zc = qp->tx.zc;
	u32 ulpdu = seg->hdr_bytes + seg->bytes;
	u32 hdr_bytes = MPA_LENGTH_BYTES + seg->hdr_bytes;
	u32 tail_bytes = mpa_pad_bytes(ulpdu) + MPA_CRC_BYTES;
	const struct tern_span *span = &zc->span[zc->spans - 1];
	u32 off = seg->offset - zc->span_at;
	u32 pieces = zc->pieces;

	if (off + seg->bytes > span->length ||
	    add_piece(zc, hdr, hdr_bytes) ||
	    tern_span_walk(span, off, seg->bytes, add_payload, zc) ||
	    add_piece(zc, hdr + hdr_bytes, tail_bytes) ||
	    (!zc->open && !open_batch(zc))) {
		zc->pieces = pieces;
		return 0;
	}
	put_unaligned_be16(ulpdu, hdr);
	memcpy(hdr + MPA_LENGTH_BYTES, seg->hdr, seg->hdr_bytes);
	memset(hdr + hdr_bytes, 0, tail_bytes);
	zc->bytes += hdr_bytes + seg->bytes + tail_bytes;
	zc->open->bytes += seg->bytes;
	iw_req_lend(&qp->req, seg->slot, zc->open->number);
	tern_qp_count_add(&qp->base, TERN_CNT_TX_ZEROCOPY, seg->bytes);
	return hdr_bytes + tail_bytes;
}

int iw_zc_push(struct iw_zc *zc, struct sock *sk, int flags)
{
	struct msghdr msg = {
		.msg_flags = flags | MSG_ZEROCOPY,
		.msg_ubuf = &zc->open->ubuf,
	};
	u32 unsent = tcp_sk(sk)->notsent_lowat, left = iw_zc_left(zc);
	int ret, sndbuf = sk->sk_sndbuf;

	/* There was room for some; then TCP is to take all, unless it has no memory. */
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, U32_MAX);
	WRITE_ONCE(sk->sk_sndbuf, INT_MAX);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, zc->piece, zc->pieces, zc->bytes);
	iov_iter_advance(&msg.msg_iter, zc->taken);
	ret = tcp_sendmsg_locked(sk, &msg, left);
	/* Short of memory, TCP has made it less. */
	WRITE_ONCE(sk->sk_sndbuf, min(sndbuf, sk->sk_sndbuf));
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, unsent);
	if (ret > 0)
		zc->taken += ret;
	if (ret == left || (ret < 0 && ret != -EAGAIN))
		drop_pieces(zc);
	return ret;
}

void iw_zc_end(struct iw_zc *zc)
{
	if (iw_zc_left(zc)) {
		walk_pages(zc, get_page);
		zc->kept = true;
	}
	while (zc->spans)
		tern_span_put(&zc->span[--zc->spans]);
}
