// SPDX-License-Identifier: GPL-2.0
/*
 * Responder of a connected QP; the contract is in rc_resp.h.
 *
 * Everything leaves through rc_resp_next(), in PSN order: first READ responses (those of FLUSH and
 * ATOMIC WRITE are of 0 bytes) and atomic results from the resource table, then the newest ACK or
 * the NAK. Either would tell the requester that all responses before it were sent.
 */
#include "rc_resp.h"

#define MESSAGE_MAX_BYTES	0x80000000u	/* IBTA 9.7.1.1: 2^31 */

static u32 res_count(const struct rc_resp *r)
{
	return r->cfg.max_rd_atomic ? r->cfg.max_rd_atomic : 1;
}

void rc_resp_init(struct rc_resp *r, struct rc_res *res, const struct rc_resp_cfg *cfg)
{
	u32 i;

	*r = (struct rc_resp){
		.cfg = *cfg,
		.res = res,
		.epsn = cfg->rq_psn & PSN_MASK,
	};
	for (i = 0; res && i < res_count(r); i++)
		res[i] = (struct rc_res){ .state = RC_RES_FREE };
}

static void res_pend(struct rc_resp *r, struct rc_res *res)
{
	if (res->state != RC_RES_PENDING)
		r->npending++;
	res->state = RC_RES_PENDING;
}

static void queue_nak(struct rc_resp *r, u8 syndrome)
{
	r->nak_due = true;
	r->nak_syndrome = syndrome;
	r->nak_psn = r->epsn;
	r->ack_due = false;	/* a NAK acknowledges all before it */
}

static void refuse_request(struct rc_resp *r, struct rc_act *act, u8 syndrome)
{
	queue_nak(r, syndrome);
	r->in_error = true;
	act->kind = RC_ACT_FATAL;
	act->event = RC_EV_REQ_ERR;
}

/* ---- is the packet a legal continuation? ---- */

/* Full packets except the message's last, which carries at least a byte; ONLY may be empty. */
static bool payload_ok(const struct rc_resp *r, const struct pkt *k)
{
	u64 full = (u64)k->npkts * r->cfg.pmtu;

	if (!(k->op_flags & OPF_LAST))
		return k->payload_bytes == full;
	if (k->payload_bytes > full)
		return false;
	return k->payload_bytes > full - r->cfg.pmtu ||
	       ((k->op_flags & OPF_FIRST) && k->npkts == 1);
}

/*
 * Position in the message and payload length (IBTA 9.7.4.1.4 and .5); the same for all services.
 * All of an XRC message is for one SRQ.
 */
static bool sequence_ok(const struct rc_resp *r, const struct pkt *k)
{
	bool first = k->op_flags & OPF_FIRST;
	bool is_write = k->op_flags & OPF_WRITE;

	if (k->op_flags & (OPF_SEND | OPF_WRITE)) {
		if (first == r->in_msg)
			return false;
		if (r->in_msg && (r->is_write != is_write || r->srqn != k->srqn))
			return false;
		return payload_ok(r, k);
	}
	return !r->in_msg;
}

/* Is the payload within the length that the message announced, or within the limit? */
static bool length_ok(const struct rc_resp *r, const struct pkt *k)
{
	bool first = k->op_flags & OPF_FIRST;
	bool last = k->op_flags & OPF_LAST;
	u64 end = (u64)(first ? 0 : r->offset) + k->payload_bytes;

	if (k->op_flags & OPF_WRITE) {
		u32 length = first ? k->dma_bytes : r->length;

		if (length > MESSAGE_MAX_BYTES)
			return false;
		return last ? end == length : end < length;
	}
	if (k->op_flags & OPF_SEND)
		return end <= MESSAGE_MAX_BYTES;
	return true;
}

/* Rights for the placement types of a FLUSH (IBTA annex A19); types that do not exist need none. */
static u8 flush_access(u8 feth)
{
	u8 need = 0;

	if (feth & FETH_GLOBAL)
		need |= RC_ACCESS_FLUSH_GLOBAL;
	if (feth & FETH_PERSISTENT)
		need |= RC_ACCESS_FLUSH_PERSISTENT;
	return need;
}

static bool access_ok(const struct rc_resp *r, const struct pkt *k)
{
	u8 need = 0;

	if (k->op_flags & (OPF_WRITE | OPF_ATOMIC_WRITE))
		need = RC_ACCESS_WRITE;
	else if (k->op_flags & OPF_READ)
		need = RC_ACCESS_READ;
	else if (k->op_flags & OPF_ATOMIC)
		need = RC_ACCESS_ATOMIC;
	else if (k->op_flags & OPF_FLUSH)
		need = flush_access(k->feth);
	return (r->cfg.access & need) == need;
}

/* The verdict on the payload of an expected SEND or WRITE packet. */
static void place_payload(const struct rc_resp *r, const struct pkt *k, struct rc_act *act)
{
	bool is_write = k->op_flags & OPF_WRITE;

	act->kind = is_write ? RC_ACT_WRITE : RC_ACT_RECV;
	act->begin = k->op_flags & OPF_FIRST;
	act->end = k->op_flags & OPF_LAST;
	act->offset = act->begin ? 0 : r->offset;
	act->bytes = k->payload_bytes;
	if (is_write) {
		act->va = act->begin ? k->va : r->va;
		act->rkey = act->begin ? k->rkey : r->rkey;
		act->length = act->begin ? k->dma_bytes : r->length;
		act->complete_recv = act->end && (k->op_flags & OPF_IMM);
		act->take_recv = act->complete_recv;
	} else {
		act->length = act->offset + act->bytes;
		act->complete_recv = act->end;
		act->take_recv = act->begin;
	}
}

static void commit_payload(struct rc_resp *r, const struct pkt *k, const struct rc_act *act)
{
	r->in_msg = !act->end;
	r->is_write = act->kind == RC_ACT_WRITE;
	r->offset = act->offset + act->bytes;
	r->length = act->length;
	r->va = act->va;
	r->rkey = act->rkey;
	r->srqn = k->srqn;
	if (act->end)
		r->msn = psn_add(r->msn, 1);
	r->epsn = psn_add(r->epsn, k->npkts);
}

/* Which of those that max_rd_atomic limits? */
static u8 limited_kind(const struct pkt *k)
{
	if (k->op_flags & OPF_READ)
		return RC_ACT_READ;
	if (k->op_flags & OPF_ATOMIC)
		return RC_ACT_ATOMIC;
	return k->op_flags & OPF_FLUSH ? RC_ACT_FLUSH : RC_ACT_ATOMIC_WRITE;
}

/* ---- duplicates ---- */

/* Newest first: a resource from 2^24 PSNs ago may still be in the table. */
static struct rc_res *find_res(struct rc_resp *r, u32 psn)
{
	u32 n = res_count(r);
	u32 i;

	for (i = 1; i <= n; i++) {
		struct rc_res *res = &r->res[(r->res_next + n - i) % n];

		if (res->state != RC_RES_FREE && psn_within(psn, res->first_psn, res->npkts))
			return res;
	}
	return NULL;
}

/* Packets pkt to end again. What is still to be sent of an answer is sent after them. */
static void replay_from(struct rc_resp *r, struct rc_res *res, u32 pkt, u32 end)
{
	if (res->state == RC_RES_PENDING) {
		if (pkt >= res->next_pkt && end <= res->end_pkt)
			return;
		if (!res->then_end || res->next_pkt < res->then_pkt)
			res->then_pkt = res->next_pkt;
		if (res->end_pkt > res->then_end)
			res->then_end = res->end_pkt;
	}
	res->start_pkt = pkt;
	res->next_pkt = pkt;
	res->end_pkt = end;
	res_pend(r, res);
}

/* IBTA 9.7.4.1.2: a duplicate READ may ask for any part of the original one, up to its end. */
static void replay_read(struct rc_resp *r, const struct pkt *k)
{
	struct rc_res *res = find_res(r, k->psn);
	u32 pkt, offset;

	if (!res || res->kind != RC_ACT_READ || k->rkey != res->rkey || k->srqn != res->srqn)
		return;
	pkt = (k->psn - res->first_psn) & PSN_MASK;
	offset = pkt * r->cfg.pmtu;
	if (k->va != res->va + offset || k->dma_bytes > res->length - offset)
		return;
	/* Only whole packets of the original, at least one, or its tail. */
	if (k->dma_bytes != res->length - offset &&
	    (!k->dma_bytes || k->dma_bytes % r->cfg.pmtu))
		return;
	replay_from(r, res, pkt, pkt + psn_message_pkts(k->dma_bytes, r->cfg.pmtu));
}

/* An atomic or ATOMIC WRITE is never executed twice: unknown ones stay unanswered. */
static void replay_answer(struct rc_resp *r, const struct pkt *k)
{
	struct rc_res *res = find_res(r, k->psn);

	if (!res || res->kind != limited_kind(k))
		return;
	res->next_pkt = 0;
	res->end_pkt = 1;
	res_pend(r, res);
}

static void rx_duplicate(struct rc_resp *r, const struct pkt *k, struct rc_act *act)
{
	act->event = RC_EV_DUPLICATE;
	if (k->op_flags & OPF_READ)
		replay_read(r, k);
	else if (k->op_flags & OPF_LIMITED)
		replay_answer(r, k);
	else if (!r->nak_due)
		r->ack_due = true;	/* of the newest packet, never of this one alone */
}

/* ---- READ, atomics, FLUSH, ATOMIC WRITE ---- */

/* One placement type at least, and a selectivity that exists (IBTA annex A19). */
static bool flush_ok(const struct pkt *k)
{
	u8 placement = k->feth & FETH_PLACEMENT_MASK;

	if (!placement || placement & ~(FETH_GLOBAL | FETH_PERSISTENT))
		return false;
	switch (k->feth & FETH_SELECTIVITY_MASK) {
	case FETH_RANGE:
		return k->dma_bytes <= MESSAGE_MAX_BYTES;
	case FETH_REGION:
		return true;
	default:
		return false;
	}
}

/* Do lengths and alignment suit the operation? */
static bool limited_ok(const struct pkt *k)
{
	switch (limited_kind(k)) {
	case RC_ACT_READ:
		return k->dma_bytes <= MESSAGE_MAX_BYTES;
	case RC_ACT_FLUSH:
		return flush_ok(k);
	case RC_ACT_ATOMIC_WRITE:
		return k->dma_bytes == 8 && k->payload_bytes == 8 && !(k->va & 7);
	default:
		return !(k->va & 7);
	}
}

static void rx_limited_request(struct rc_resp *r, const struct pkt *k, struct rc_act *act)
{
	const struct rc_res *res = &r->res[r->res_next];

	/*
	 * More requests than negotiated, or malformed. If the slot has a replay, a late duplicate
	 * asked for it: the requester sends this request only when it has that whole answer.
	 */
	if (!r->cfg.max_rd_atomic || (res->state == RC_RES_PENDING && !res->answered) ||
	    !limited_ok(k)) {
		refuse_request(r, act, AETH_NAK_INVALID_REQ);
		return;
	}
	act->kind = limited_kind(k);
	act->begin = true;
	act->end = true;
	act->va = k->va;
	act->rkey = k->rkey;
	act->bytes = k->payload_bytes;
	act->length = k->dma_bytes;
	act->feth = k->feth;
	if (act->kind == RC_ACT_ATOMIC) {
		act->length = 8;
		act->cmp_swap = (k->opcode & BTH_OP_MASK) == OP_CMP_SWAP;
		act->compare = k->compare;
		act->swap_add = k->swap_add;
	}
}

/* The bytes of its answer. FLUSH and ATOMIC WRITE have that of a READ of none. */
static u32 answer_bytes(const struct rc_act *act)
{
	return act->kind == RC_ACT_READ || act->kind == RC_ACT_ATOMIC ? act->length : 0;
}

static void resource_commit(struct rc_resp *r, const struct pkt *k, const struct rc_act *act,
			    u64 orig)
{
	struct rc_res *res = &r->res[r->res_next];
	u32 npkts = psn_message_pkts(answer_bytes(act), r->cfg.pmtu);

	r->msn = psn_add(r->msn, 1);
	if (res->state == RC_RES_PENDING)
		r->npending--;
	*res = (struct rc_res){
		.state = RC_RES_FREE,
		.kind = act->kind,
		.first_psn = k->psn,
		.npkts = npkts,
		.end_pkt = npkts,
		.msn = r->msn,
		.va = act->va,
		.rkey = act->rkey,
		.length = answer_bytes(act),
		.srqn = k->srqn,
		.orig = orig,
	};
	res_pend(r, res);
	r->res_next = (r->res_next + 1) % res_count(r);
	r->epsn = psn_add(r->epsn, npkts);
	r->ack_due = false;	/* the response acknowledges all before it */
}

/*
 * Change the table. Requests that are not yet answered must fit. Of the others, which are kept for
 * duplicates, the newest stay.
 */
bool rc_resp_resize(struct rc_resp *r, struct rc_res *res, u8 max_rd_atomic)
{
	u32 had = res_count(r), has = max_rd_atomic ? max_rd_atomic : 1;
	u32 skip = had > has ? had - has : 0;
	u32 i, n = 0;

	/* From the oldest on. */
	for (i = 0; i < had; i++) {
		const struct rc_res *old = &r->res[(r->res_next + i) % had];

		if (i < skip && old->state == RC_RES_PENDING && !old->answered)
			return false;
	}
	for (i = 0; i < had; i++) {
		const struct rc_res *old = &r->res[(r->res_next + i) % had];

		if (i >= skip && old->state != RC_RES_FREE)
			res[n++] = *old;
		else if (old->state == RC_RES_PENDING)
			r->npending--;
	}
	r->res_next = n % has;
	while (n < has)
		res[n++] = (struct rc_res){ .state = RC_RES_FREE };
	r->res = res;
	r->cfg.max_rd_atomic = max_rd_atomic;
	return true;
}

/* ---- entry points ---- */

void rc_resp_rx(struct rc_resp *r, const struct pkt *k, struct rc_act *act)
{
	s32 ahead = psn_diff(k->psn, r->epsn);

	*act = (struct rc_act){ .kind = RC_ACT_NONE, .event = RC_EV_NONE };
	if (r->in_error) {
		act->event = RC_EV_DROPPED;
		return;
	}
	if (ahead < 0) {
		rx_duplicate(r, k, act);
		return;
	}
	if (ahead > 0) {
		act->event = RC_EV_OUT_OF_SEQ;
		if (!r->nak_sent) {
			/* One NAK per gap (IBTA 9.7.5.2.8) */
			r->nak_sent = true;
			queue_nak(r, AETH_NAK_PSN_SEQ);
		}
		if ((u32)ahead < r->cfg.ahead_pkts)
			act->kind = RC_ACT_KEEP;
		return;
	}
	/* The requester that was told of a gap is told that it has closed. */
	if (r->nak_sent && r->cfg.ahead_pkts && r->nak_syndrome == AETH_NAK_PSN_SEQ)
		r->ack_due = true;
	r->nak_sent = false;
	if (r->nak_due && (r->nak_syndrome & AETH_TYPE_MASK) == AETH_RNR_NAK) {
		/*
		 * A copy of a request without a receive WQE: the peer gets the NAK first, and sends
		 * it again.
		 */
		act->event = RC_EV_DROPPED;
		return;
	}
	if (r->nak_due) {
		/* The gap closed before the NAK went out. Acknowledge what the NAK would have: */
		r->nak_due = false;
		r->ack_due = true;
	}

	if (!sequence_ok(r, k) || !length_ok(r, k) || !access_ok(r, k)) {
		refuse_request(r, act, AETH_NAK_INVALID_REQ);
		return;
	}
	if (k->op_flags & OPF_LIMITED)
		rx_limited_request(r, k, act);
	else
		place_payload(r, k, act);
}

void uc_resp_rx(struct rc_resp *r, const struct pkt *k, struct rc_act *act)
{
	bool begins = k->op_flags & OPF_FIRST;
	s32 ahead = psn_diff(k->psn, r->epsn);

	*act = (struct rc_act){ .kind = RC_ACT_NONE, .event = RC_EV_NONE };

	/* The network was late or duplicated it: no message arrives again or out of order. */
	if (ahead < 0 && ahead >= -UC_STALE_PKTS) {
		act->event = RC_EV_DUPLICATE;
		return;
	}
	/*
	 * IBTA 9.8.2.2: a gap drops the message that it is in; the next FIRST or ONLY starts a new
	 * one.
	 */
	if (k->psn != r->epsn || (begins && r->in_msg)) {
		if (k->psn != r->epsn)
			act->event = RC_EV_OUT_OF_SEQ;
		act->restart = r->in_msg;
		r->in_msg = false;
		r->epsn = k->psn;
	}
	if (!(k->op_flags & (OPF_SEND | OPF_WRITE)) || !sequence_ok(r, k) || !length_ok(r, k) ||
	    !access_ok(r, k)) {
		act->event = RC_EV_DROPPED;
		act->restart = act->restart || r->in_msg;
		r->in_msg = false;
		r->epsn = psn_add(k->psn, k->npkts);
		return;
	}
	place_payload(r, k, act);
}

u64 rc_resp_recv_wait_ns(u8 ack_timeout_field)
{
	u64 timeout_ns = rc_ack_timeout_ns(ack_timeout_field);

	if (!timeout_ns || timeout_ns / RC_RESP_RECV_WAIT_PART > RC_RESP_RECV_WAIT_NS)
		return RC_RESP_RECV_WAIT_NS;
	return timeout_ns / RC_RESP_RECV_WAIT_PART;
}

bool rc_resp_recv_may_wait(struct rc_resp *r, u64 now_ns)
{
	u64 waited, left, next = RC_RESP_RECV_LOOK_NS;

	if (!r->recv_since_ns)
		r->recv_since_ns = now_ns;
	waited = now_ns - r->recv_since_ns;
	if (waited >= r->cfg.recv_wait_ns || r->cfg.service == BTH_UC) {
		r->recv_since_ns = 0;
		return false;
	}
	left = r->cfg.recv_wait_ns - waited;
	if (next < waited)
		next = waited;
	r->recv_look_ns = now_ns + (next < left ? next : left);
	return true;
}

void rc_resp_commit(struct rc_resp *r, const struct pkt *k, const struct rc_act *act,
		    u64 atomic_orig)
{
	r->recv_since_ns = 0;
	if (k->op_flags & OPF_LIMITED) {
		resource_commit(r, k, act, atomic_orig);
		return;
	}
	commit_payload(r, k, act);
	if (k->ack_req && r->cfg.service != BTH_UC)
		r->ack_due = true;
}

void rc_resp_fail(struct rc_resp *r, const struct pkt *k, enum rc_fail why)
{
	r->recv_since_ns = 0;
	if (r->cfg.service == BTH_UC) {
		r->in_msg = false;
		r->epsn = psn_add(k->psn, k->npkts);
		return;
	}
	switch (why) {
	case RC_FAIL_RNR:
		queue_nak(r, AETH_RNR_NAK | (r->cfg.min_rnr_timer & AETH_VALUE_MASK));
		r->nak_sent = true;
		return;
	case RC_FAIL_INVALID_REQ:
		queue_nak(r, AETH_NAK_INVALID_REQ);
		break;
	case RC_FAIL_ACCESS:
		queue_nak(r, AETH_NAK_REM_ACCESS);
		break;
	case RC_FAIL_OP:
		queue_nak(r, AETH_NAK_REM_OP);
		break;
	}
	r->in_error = true;
}

/* ---- sending back ---- */

/* The oldest resource with something to send; slots fill in order from res_next on. */
static struct rc_res *pending_res(struct rc_resp *r, u32 *slot)
{
	u32 i;

	for (i = 0; i < res_count(r); i++) {
		*slot = (r->res_next + i) % res_count(r);
		if (r->res[*slot].state == RC_RES_PENDING)
			return &r->res[*slot];
	}
	return NULL;
}

static void run_read_resp(const struct rc_resp *r, const struct rc_res *res, u32 max_pkts,
			  struct run *run)
{
	u64 offset = (u64)res->next_pkt * r->cfg.pmtu;
	u32 npkts = res->end_pkt - res->next_pkt;
	u64 end;

	if (npkts > max_pkts)
		npkts = max_pkts;
	end = offset + (u64)npkts * r->cfg.pmtu;

	run->kind = RUN_READ_RESP;
	run->first = res->next_pkt == res->start_pkt;
	run->last = res->next_pkt + npkts == res->end_pkt;
	run->psn = psn_add(res->first_psn, res->next_pkt);
	run->npkts = npkts;
	run->offset = offset;
	run->bytes = (u32)((end < res->length ? end : res->length) - offset);
	run->va = res->va;
	run->rkey = res->rkey;
	run->dma_bytes = res->length;
	run->srqn = res->srqn;
}

bool rc_resp_next(struct rc_resp *r, u32 max_pkts, struct run *run)
{
	struct rc_res *res = NULL;
	u32 slot = 0;

	if (!rc_resp_owes(r))
		return false;
	*run = (struct run){
		.service = r->cfg.service,
		.dqpn = r->cfg.dqpn,
		.pkey = r->cfg.pkey,
		.pmtu = r->cfg.pmtu,
		.npkts = 1,
		.syndrome = AETH_ACK | AETH_CREDIT_UNLIMITED,
		.msn = r->msn,
		.kind = RUN_CONTROL,
	};

	if (r->npending)
		res = pending_res(r, &slot);
	if (res) {
		run->slot = slot;
		run->msn = res->msn;
		if (res->kind != RC_ACT_ATOMIC) {
			run_read_resp(r, res, max_pkts, run);
			return true;
		}
		run->op = OP_ATOMIC_ACK;
		run->psn = res->first_psn;
		run->atomic_orig = res->orig;
		return true;
	}
	run->op = OP_ACK;
	if (r->nak_due) {
		run->syndrome = r->nak_syndrome;
		run->psn = r->nak_psn;
		return true;
	}
	run->psn = psn_add(r->epsn, PSN_MASK);	/* epsn - 1 */
	return true;
}

void rc_resp_sent(struct rc_resp *r, const struct run *run, u32 n)
{
	struct rc_res *res;

	if (!n)
		return;
	if (run->kind == RUN_CONTROL && run->op == OP_ACK) {
		if (r->nak_due)
			r->nak_due = false;
		else
			r->ack_due = false;
		return;
	}
	res = &r->res[run->slot];
	res->next_pkt += n;
	if (res->next_pkt < res->end_pkt)
		return;
	if (res->then_end) {
		res->start_pkt = res->then_pkt;
		res->next_pkt = res->then_pkt;
		res->end_pkt = res->then_end;
		res->then_end = 0;
		return;
	}
	res->state = RC_RES_SENT;
	res->answered = true;
	r->npending--;
}

void rc_resp_take_ack(struct rc_resp *r, struct pkt *k)
{
	*k = (struct pkt){
		.opcode = r->cfg.service | OP_ACK,
		.op_flags = opcode_info(r->cfg.service | OP_ACK)->flags,
		.migrated = true,
		.pkey = r->cfg.pkey,
		.dqpn = r->cfg.dqpn,
		.psn = psn_add(r->epsn, PSN_MASK),	/* epsn - 1 */
		.npkts = 1,
		.syndrome = AETH_ACK | AETH_CREDIT_UNLIMITED,
		.msn = r->msn,
	};
	r->ack_due = false;
}

void rc_resp_unsend_ack(struct rc_resp *r)
{
	r->ack_due = !r->nak_due;	/* a NAK acknowledges all before it */
}

bool rc_resp_read_failed(struct rc_resp *r, const struct run *run)
{
	struct rc_res *res = &r->res[run->slot];
	u32 i;

	/*
	 * It was answered once. The peer may be done with it since long ago, and may have said so
	 * (a SEND with invalidate): then the request is a late duplicate and no reason to end the
	 * QP, and the peer would not even get the NAK. If it really waits for the answer, it asks
	 * again until its retries are used up.
	 */
	if (res->answered) {
		res->state = RC_RES_SENT;
		res->then_end = 0;
		r->npending--;
		return false;
	}
	/* Later responses must not go out: the NAK's PSN cuts them off. */
	for (i = 0; i < res_count(r); i++)
		if (r->res[i].state == RC_RES_PENDING)
			r->res[i].state = RC_RES_FREE;
	r->npending = 0;
	queue_nak(r, AETH_NAK_REM_ACCESS);
	r->nak_psn = run->psn;
	r->in_error = true;
	return true;
}
