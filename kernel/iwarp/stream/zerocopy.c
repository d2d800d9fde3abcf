// SPDX-License-Identifier: GPL-2.0
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
#include "iwarp/iwarp.h"
#include "iwarp/stream/zerocopy.h"

/* Of a request, at least: less is copied sooner than its pages are counted. */
#define LEND_LEAST	(16 << 10)
/* Posted behind it, at least: two of the peer's acknowledgements (proto/iw_ack.h). */
#define LEND_BEHIND	(2 * IW_ACK_MOST)
/* Given to TCP together, and returned together: completions come in such portions. */
#define LOAN_BYTES	(256 << 10)
/* An FPDU of 4 KiB pages that begins anywhere, and what frames it. */
#define FPDU_PIECES	(IW_LENT_FPDU_BYTES / 4096 + 3)
#define LEND_PIECES	(LOAN_BYTES / IW_LENT_FPDU_BYTES * FPDU_PIECES)
/* SGEs that are lent from together. */
#define LEND_SPANS	(LOAN_BYTES / LEND_LEAST)

static_assert(MPA_LENGTH_BYTES + DDP_UNTAGGED_BYTES + 3 + MPA_CRC_BYTES <= IW_LENT_FRAME_BYTES);

/* That TCP fills a packet with, at least. */
#define LEND_PACKET_BYTES	(32 << 10)

static bool want_zerocopy = true;
module_param_named(iwarp_zerocopy, want_zerocopy, bool, 0644);
MODULE_PARM_DESC(iwarp_zerocopy, "iWARP: send long messages without a copy where there are no CRCs");

struct loan {
	struct ubuf_info ubuf;		/* a reference for each packet, and one while it is open */
	struct iw_lender *lender;	/* referenced */
	struct list_head link;
	u32 number;
	u32 bytes;
	bool back;			/* under lender->lock */
};

struct iw_lender {
	refcount_t ref;			/* the QP's, and one for each loan */
	bool copied;			/* by the stack: this is no path to lend for */
	spinlock_t lock;
	struct iw_qp *qp;		/* NULL: gone; under lock, or in `tell` */
	struct tasklet_struct tell;	/* qp that something is returned */
	struct list_head loans;		/* not returned, oldest first; under lock */
	u32 returned;			/* those before this one are */
	/* The QP's: */
	u32 next;			/* number of the next */
	struct loan *open;
	struct tern_span span[LEND_SPANS];	/* from begin to end: SGEs */
	u32 spans;
	u32 span_at;			/* of the last, in its message */
	struct bio_vec piece[LEND_PIECES];
	u32 pieces;
	u32 bytes;			/* of them all; */
	u32 taken;			/* TCP has so many */
	bool kept;			/* by references of our own */
};

static atomic_t num_loans = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(none_left);

/* ---- loans: opened by the QP, returned by whoever frees the last packet ---- */

static void lender_put(struct iw_lender *lender)
{
	if (refcount_dec_and_test(&lender->ref))
		kfree(lender);
}

/* Those before the oldest that is not back are returned, in order. */
static void take_back(struct loan *loan)
{
	struct iw_lender *lender = loan->lender;
	struct loan *next;
	unsigned long irq;
	LIST_HEAD(done);

	spin_lock_irqsave(&lender->lock, irq);
	loan->back = true;
	list_for_each_entry_safe(loan, next, &lender->loans, link) {
		if (!loan->back)
			break;
		list_move_tail(&loan->link, &done);
		/* All reading is over before the QP sees it. */
		smp_store_release(&lender->returned, loan->number + 1);
	}
	if (lender->qp && !list_empty(&done))
		tasklet_schedule(&lender->tell);
	spin_unlock_irqrestore(&lender->lock, irq);

	list_for_each_entry_safe(loan, next, &done, link) {
		lender_put(loan->lender);
		kfree(loan);
		if (atomic_dec_and_test(&num_loans))
			wake_up_all(&none_left);
	}
}

/* A packet is gone. In any context. */
static void loan_put(struct sk_buff *skb, struct ubuf_info *ubuf, bool zerocopy)
{
	struct loan *loan = container_of(ubuf, struct loan, ubuf);

	/* iw_lenders_exit() waits for us to leave. */
	rcu_read_lock();
	if (!zerocopy)
		WRITE_ONCE(loan->lender->copied, true);
	if (refcount_dec_and_test(&ubuf->refcnt))
		take_back(loan);
	rcu_read_unlock();
}

TERN_UBUF_INIT(loan_init_ubuf, loan_put)

static bool open_loan(struct iw_lender *lender)
{
	struct loan *loan = kzalloc(sizeof(*loan), GFP_ATOMIC | __GFP_NOWARN);
	unsigned long irq;

	if (!loan)
		return false;
	loan_init_ubuf(&loan->ubuf);
	refcount_set(&loan->ubuf.refcnt, 1);
	/* Copied for receivers on this host alone, not by who cuts packets. */
	loan->ubuf.flags = SKBFL_ZEROCOPY_FRAG | SKBFL_DONT_ORPHAN;
	loan->lender = lender;
	refcount_inc(&lender->ref);
	loan->number = lender->next++;
	atomic_inc(&num_loans);
	spin_lock_irqsave(&lender->lock, irq);
	list_add_tail(&loan->link, &lender->loans);
	spin_unlock_irqrestore(&lender->lock, irq);
	lender->open = loan;
	return true;
}

void iw_lend_close(struct iw_lender *lender)
{
	struct loan *loan = lender->open;

	/* What is left will be of the same. */
	if (!loan || iw_lend_left(lender))
		return;
	lender->open = NULL;
	loan_put(NULL, &loan->ubuf, true);
}

void iw_lend_settle(struct iw_qp *qp)
{
	iw_req_return(&qp->req, smp_load_acquire(&qp->tx.lender->returned));
}

/* ---- pieces that TCP has not taken ---- */

static void each_page(const struct iw_lender *lender, void (*fn)(struct page *page))
{
	u32 i, k;

	for (i = 0; i < lender->pieces; i++) {
		const struct bio_vec *piece = &lender->piece[i];

		for (k = 0; k < PFN_UP(piece->bv_offset + piece->bv_len); k++)
			fn(piece->bv_page + k);
	}
}

static void drop_pieces(struct iw_lender *lender)
{
	if (lender->kept)
		each_page(lender, put_page);
	lender->kept = false;
	lender->pieces = 0;
	lender->bytes = 0;
	lender->taken = 0;
}

/* ---- lenders ---- */

static void tell_fn(struct tasklet_struct *tasklet)
{
	struct iw_lender *lender = container_of(tasklet, struct iw_lender, tell);
	struct iw_qp *qp = READ_ONCE(lender->qp);

	/* It waits for us before it goes. */
	if (qp)
		iw_kick(qp);
}

struct iw_lender *iw_lender_create(struct iw_qp *qp)
{
	struct iw_lender *lender;

	if (!READ_ONCE(want_zerocopy))
		return NULL;
	lender = kzalloc(sizeof(*lender), TERN_GFP_CHARGED);
	if (!lender)
		return NULL;	/* what is not lent is copied */
	refcount_set(&lender->ref, 1);
	spin_lock_init(&lender->lock);
	lender->qp = qp;
	tasklet_setup(&lender->tell, tell_fn);
	INIT_LIST_HEAD(&lender->loans);
	return lender;
}

void iw_lender_destroy(struct iw_lender *lender)
{
	if (!lender)
		return;
	spin_lock_irq(&lender->lock);
	WRITE_ONCE(lender->qp, NULL);
	spin_unlock_irq(&lender->lock);
	tasklet_kill(&lender->tell);
	drop_pieces(lender);
	iw_lend_close(lender);
	lender_put(lender);
}

void iw_lenders_exit(void)
{
	/* QPs' streams are over. What is in a queue of the stack leaves it as it would anyway. */
	wait_event_idle(none_left, !atomic_read(&num_loans));
	synchronize_rcu();
}

/* ---- what is lent ---- */

u32 iw_lend_left(const struct iw_lender *lender)
{
	return lender->bytes - lender->taken;
}

bool iw_lend_has_room(const struct iw_lender *lender)
{
	return lender->bytes < LOAN_BYTES && lender->spans < LEND_SPANS &&
	       LEND_PIECES - lender->pieces >= FPDU_PIECES;
}

/*
 * Does the netdev take pages, in packets that are worth it? The socket's capabilities do not
 * tell: TCP's have scatter/gather always, for what the stack cuts and copies itself.
 */
static bool path_takes(const struct sock *sk)
{
	const struct dst_entry *dst = __sk_dst_get((struct sock *)sk);

	return dst && (READ_ONCE(dst->dev)->features & NETIF_F_SG) && sk_can_gso(sk) &&
	       tcp_sk(sk)->gso_segs * tcp_sk(sk)->mss_cache >= LEND_PACKET_BYTES;
}

bool iw_lend_wanted(const struct iw_qp *qp, const struct sock *sk)
{
	u32 bytes = iw_req_next_bytes(&qp->req);
	u64 behind = qp->req.unsent_bytes - min_t(u32, bytes, IW_LENT_FPDU_BYTES);

	return bytes >= LEND_LEAST &&
	       behind >= max_t(u64, LEND_BEHIND, 2 * iw_path_bytes(tcp_sk(sk))) &&
	       path_takes(sk) && !READ_ONCE(qp->tx.lender->copied);
}

bool iw_lend_begin(struct iw_qp *qp)
{
	const struct iw_sqe *s = iw_req_sqe(&qp->req, qp->req.cur);
	struct tern_send_wqe *wqe = tern_sq_wqe(&qp->base.sq, qp->req.cur);
	const struct tern_sge *sge = tern_wqe_sge(wqe), *end = sge + wqe->num_sge;
	struct iw_lender *lender = qp->tx.lender;
	u32 at = 0;

	if (wqe->flags & TERN_SEND_INLINE)
		return false;
	for (; sge < end && s->done_bytes - at >= sge->length; sge++)
		at += sge->length;
	if (sge == end)
		return false;
	if (lender->open && lender->open->bytes >= LOAN_BYTES && !lender->pieces)
		iw_lend_close(lender);
	if (tern_span_get(&qp->base.mem, sge->lkey, sge->addr, sge->length, 0,
			  &lender->span[lender->spans]))
		return false;
	lender->spans++;
	lender->span_at = at;
	return true;
}

/*
 * Have its pages references of their own? Those of programs have; a kernel consumer's may
 * be slabs, or parts of larger ones.
 */
static bool may_be_lent(const struct tern_span *span, const void *p, size_t n)
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
	struct iw_lender *lender = arg;

	if (lender->pieces == LEND_PIECES)
		return -ENOSPC;
	lender->piece[lender->pieces++] = (struct bio_vec){
		.bv_page = virt_to_page(p),
		.bv_offset = offset_in_page(p),
		.bv_len = n,
	};
	return 0;
}

static int add_payload(void *arg, const void *p, size_t n)
{
	const struct iw_lender *lender = arg;

	if (!may_be_lent(&lender->span[lender->spans - 1], p, n))
		return -EOPNOTSUPP;
	return add_piece(arg, p, n);
}

u32 iw_lend_fpdu(struct iw_qp *qp, const struct iw_seg *seg, u8 *hdr)
{
	struct iw_lender *lender = qp->tx.lender;
	u32 ulpdu = seg->hdr_bytes + seg->bytes;
	u32 hdr_bytes = MPA_LENGTH_BYTES + seg->hdr_bytes;
	u32 tail_bytes = mpa_pad_bytes(ulpdu) + MPA_CRC_BYTES;
	const struct tern_span *span = &lender->span[lender->spans - 1];
	u32 off = seg->offset - lender->span_at;
	u32 pieces = lender->pieces;

	if (off + seg->bytes > span->length ||
	    add_piece(lender, hdr, hdr_bytes) ||
	    tern_span_walk(span, off, seg->bytes, add_payload, lender) ||
	    add_piece(lender, hdr + hdr_bytes, tail_bytes) ||
	    (!lender->open && !open_loan(lender))) {
		lender->pieces = pieces;
		return 0;
	}
	put_unaligned_be16(ulpdu, hdr);
	memcpy(hdr + MPA_LENGTH_BYTES, seg->hdr, seg->hdr_bytes);
	memset(hdr + hdr_bytes, 0, tail_bytes);
	lender->bytes += hdr_bytes + seg->bytes + tail_bytes;
	lender->open->bytes += seg->bytes;
	iw_req_lend(&qp->req, seg->slot, lender->open->number);
	tern_count_add(qp->base.dev, TERN_CNT_TX_ZEROCOPY, seg->bytes);
	return hdr_bytes + tail_bytes;
}

int iw_lend_push(struct iw_lender *lender, struct sock *sk, int flags)
{
	struct msghdr msg = {
		.msg_flags = flags | MSG_ZEROCOPY,
		.msg_ubuf = &lender->open->ubuf,
	};
	u32 unsent = tcp_sk(sk)->notsent_lowat, left = iw_lend_left(lender);
	int ret, sndbuf = sk->sk_sndbuf;

	/* There was room for some; then TCP is to take all, unless it has no memory. */
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, U32_MAX);
	WRITE_ONCE(sk->sk_sndbuf, INT_MAX);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, lender->piece, lender->pieces, lender->bytes);
	iov_iter_advance(&msg.msg_iter, lender->taken);
	ret = tcp_sendmsg_locked(sk, &msg, left);
	/* Short of memory, TCP has made it less. */
	WRITE_ONCE(sk->sk_sndbuf, min(sndbuf, sk->sk_sndbuf));
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, unsent);
	if (ret > 0)
		lender->taken += ret;
	if (ret == left || (ret < 0 && ret != -EAGAIN))
		drop_pieces(lender);
	return ret;
}

void iw_lend_end(struct iw_lender *lender)
{
	if (iw_lend_left(lender)) {
		each_page(lender, get_page);
		lender->kept = true;
	}
	while (lender->spans)
		tern_span_put(&lender->span[--lender->spans]);
}
