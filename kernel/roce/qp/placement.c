// SPDX-License-Identifier: GPL-2.0
/*
 * What is written is in the CPUs' caches, which are coherent: all that access the memory see it
 * already. So global visibility takes no more than order. Persistence takes time, in which no BH
 * runs: it is done in parts, between which the request waits (receive.c), and with it those
 * behind. Memory on demand is asked at each part whether it is persistent; pinned memory was at
 * registration.
 */
#include <linux/libnvdimm.h>
#include <linux/minmax.h>

#include "mem/span.h"
#include "proto/rc_resp.h"
#include "roce/qp/packet.h"
#include "roce/qp/placement.h"
#include "roce/qp/state.h"
#include "uncleared.h"

/* What one packet's worth of a budget writes back: as much as one may bring. */
#define PART_BYTES	4096

static int get_span(const struct roce_qp *qp, const struct rc_act *act, struct tern_span *span)
{
	u32 need = 0;

	if (act->feth & FETH_GLOBAL)
		need |= IB_ACCESS_FLUSH_GLOBAL;
	if (act->feth & FETH_PERSISTENT)
		need |= IB_ACCESS_FLUSH_PERSISTENT;
	if (act->feth & FETH_REGION)
		return tern_span_get_region(&qp->base.mem, act->rkey, need, span);
	return tern_span_get(&qp->base.mem, act->rkey, act->va, act->length, need, span);
}

static int write_back(void *arg, const void *p, size_t n)
{
	arch_wb_cache_pmem((void *)p, n);
	return 0;
}

/*
 * The part behind the first *from bytes, which are then more. 0, -EAGAIN, -EFAULT; -EACCES: it is
 * not all persistent memory.
 */
static int write_back_part(const struct roce_qp *qp, const struct tern_span *span, u64 *from)
{
	u64 n;
	int err;

	/*
	 * The region was replaced by a shorter one meanwhile, or the peer asks for less than
	 * before.
	 */
	if (*from >= span->length)
		return 0;
	n = min_t(u64, span->length - *from, PART_BYTES);
	err = tern_span_present(&qp->base.mem, span, *from, n, span->length - *from - n, 0);
	if (err)
		return err;
	if (!tern_span_is_persistent(span, *from, n))
		return -EACCES;
	tern_span_walk(span, *from, n, write_back, NULL);
	pmem_wmb();
	*from += n;
	return 0;
}

int roce_place_flush(struct roce_qp *qp, const struct rc_act *act)
{
	struct tern_span span;
	bool done = true;
	int err;

	err = get_span(qp, act, &span);
	if (!err) {
		if (act->feth & FETH_PERSISTENT) {
			err = write_back_part(qp, &span, &qp->flushed);
			done = qp->flushed >= span.length;
		} else {
			wmb();
		}
		tern_span_put(&span);
	}
	/* Pages that are waited for do not begin it anew. */
	if (err != -EAGAIN && (err || done))
		qp->flushed = 0;
	return err ?: done;
}

/* A payload of a few bytes from this host is always in one piece. */
static u64 payload_value(const struct roce_rx *rx)
{
	const void *p = roce_rx_flat(rx, sizeof(u64));
	u64 value = 0;

	if (likely(p))
		memcpy(&value, p, sizeof(value));
	else
		roce_skb_read(rx->skb, rx->at + rx->k.hdr_bytes, &value, sizeof(value));
	return value;
}

int roce_place_value(struct roce_qp *qp, const struct roce_rx *rx, const struct rc_act *act)
{
	struct tern_span span TERN_UNCLEARED;
	int err;

	err = tern_span_get(&qp->base.mem, act->rkey, act->va, act->length, IB_ACCESS_REMOTE_WRITE,
			    &span);
	if (err)
		return err;
	err = tern_span_present(&qp->base.mem, &span, 0, act->length, 0, IB_ACCESS_REMOTE_WRITE);
	if (!err)
		err = tern_span_store(&span, payload_value(rx));
	tern_span_put(&span);
	return err;
}
