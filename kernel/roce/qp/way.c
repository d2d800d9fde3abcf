// SPDX-License-Identifier: GPL-2.0
/*
 * PSNs count packets either way, so the engines go on when a QP turns from one way to
 * the other.
 */
#include "core/qp.h"
#include "roce/qp/lock.h"
#include "roce/qp/peer.h"
#include "roce/qp/trace.h"
#include "roce/qp/way.h"
#include "roce/wire/route.h"

#define LOCAL_WINDOW_PKTS	(1u << 22)

void roce_way_reset(struct roce_qp *qp)
{
	qp->local.req = false;
	qp->local.resp = false;
	qp->local.peer_waits = false;
	qp->local.brings_again = false;
}

static void change_way(struct roce_qp *qp, bool local)
{
	trace_tern_way(qp, local);
	if (local) {
		struct rc_window window;

		qp->local.wire_window = rc_req_get_window(&qp->req);
		rc_window_init(&window, LOCAL_WINDOW_PKTS, 0);
		rc_req_set_window(&qp->req, &window);
	} else {
		rc_req_set_window(&qp->req, &qp->local.wire_window);
	}
	WRITE_ONCE(qp->local.req, local);
}

/*
 * Towards the wire nothing is under way that could be overtaken. From the wire all that
 * is must have been answered; if that will come by itself, it is waited for. (UC has no
 * answers: a message that is still in the stack then is lost, as it may be.)
 */
enum roce_way roce_way_of_request(struct roce_qp *qp, const struct run *run)
{
	const struct rc_req *req = &qp->req;
	struct tern_dev *dev;

	if (qp->local.open)
		return ROCE_WAY_LOCAL;
	if (qp->local.wire_settled)
		return ROCE_WAY_WIRE;
	dev = roce_tx_peer_dev(&qp->tx, &qp->path);
	if (!dev) {
		qp->local.wire_settled = !qp->local.req;
		if (!qp->local.req)
			return ROCE_WAY_WIRE;
		change_way(qp, false);
		return ROCE_WAY_CHANGED;
	}
	if (!qp->local.req) {
		if (!rc_req_is_quiet(req))
			return rc_req_answer_is_due(req) && !rc_req_is_resent(req, run) ?
				       ROCE_WAY_WAIT : ROCE_WAY_WIRE;
		change_way(qp, true);
		return ROCE_WAY_CHANGED;
	}
	return roce_peer_open(qp, dev) ? ROCE_WAY_LOCAL : ROCE_WAY_WAIT;
}

enum roce_way roce_way_of_answers(struct roce_qp *qp)
{
	struct tern_dev *dev = roce_tx_peer_dev(&qp->tx, &qp->path);

	if (!dev) {
		/* Until a request comes without a packet again: answers do not overtake. */
		qp->local.resp = false;
		return ROCE_WAY_WIRE;
	}
	if (!roce_peer_open(qp, dev))
		return ROCE_WAY_WAIT;
	/*
	 * For what the answers bring. To itself: this run goes on with that, however often it is
	 * tried.
	 */
	if (qp->local.to && qp->local.to != qp)
		roce_mark(qp->local.to, TERN_QP_MARK_SEND);
	return ROCE_WAY_LOCAL;
}

const char *roce_way_name(const struct tern_qp *base)
{
	const struct roce_qp *qp = container_of(base, struct roce_qp, base);

	if (!roce_is_connected(qp))
		return NULL;
	return READ_ONCE(qp->local.req) || READ_ONCE(qp->local.resp) ? "local" : "wire";
}
