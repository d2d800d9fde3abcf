/* SPDX-License-Identifier: GPL-2.0 */
/* Trace events of connected RoCE QPs. Those of every transport are in core/trace.h. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM tern

#if !defined(TERN_ROCE_QP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define TERN_ROCE_QP_TRACE_H

#include <linux/tracepoint.h>

#include "proto/rc_req.h"
#include "roce/qp/state.h"

/* Why a requester goes back to packets that it has sent. X(enumerator, name shown) */
#define ROCE_RESENDS(X)							\
	X(RC_EV_SEQ_NAK, "nak")						\
	X(RC_EV_RNR_NAK, "rnr")						\
	X(RC_EV_IMPLIED_NAK, "implied-nak")				\
	X(RC_EV_TIMEOUT, "timeout")					\
	X(RC_EV_PROBE, "probe")						\
	X(RC_EV_HOLE, "gap")

#define ROCE_NAKS(X)							\
	X(AETH_RNR_NAK, "rnr")						\
	X(AETH_NAK_PSN_SEQ, "sequence")					\
	X(AETH_NAK_INVALID_REQ, "invalid-request")			\
	X(AETH_NAK_REM_ACCESS, "remote-access")				\
	X(AETH_NAK_REM_OP, "remote-operational")			\
	X(AETH_NAK_INV_RD_REQ, "invalid-rd-request")

#define ROCE_TRACE_ENUM(id, name) TRACE_DEFINE_ENUM(id);
ROCE_RESENDS(ROCE_TRACE_ENUM)
ROCE_NAKS(ROCE_TRACE_ENUM)
#undef ROCE_TRACE_ENUM

#define ROCE_SHOW(id, name) { id, name },
#define ROCE_SHOW_END { -1, "?" }
#define roce_show_resend(why) __print_symbolic(why, ROCE_RESENDS(ROCE_SHOW) ROCE_SHOW_END)
#define roce_show_nak(kind) __print_symbolic(kind, ROCE_NAKS(ROCE_SHOW) ROCE_SHOW_END)

/* psn: the oldest that is not acknowledged. What is left of retry_cnt and rnr_retry afterwards. */
TRACE_EVENT(tern_retransmit,
	TP_PROTO(const struct roce_qp *qp, enum rc_event why),
	TP_ARGS(qp, why),
	TP_STRUCT__entry(
		__string(dev, dev_name(&qp->base.dev->ibdev.dev))
		__field(u32, qpn)
		__field(int, why)
		__field(u32, psn)
		__field(u8, retries)
		__field(u8, rnr_retries)
	),
	TP_fast_assign(
		tern_assign_str(dev, dev_name(&qp->base.dev->ibdev.dev));
		__entry->qpn = qp->base.qpn;
		__entry->why = why;
		__entry->psn = rc_req_oldest_psn(&qp->req);
		__entry->retries = rc_req_retries_left(&qp->req);
		__entry->rnr_retries = rc_req_rnr_retries_left(&qp->req);
	),
	TP_printk("dev=%s qpn=%u why=%s psn=%u retries_left=%u rnr_retries_left=%u", __get_str(dev),
		  __entry->qpn, roce_show_resend(__entry->why), __entry->psn, __entry->retries,
		  __entry->rnr_retries)
);

/* rnr_timer: the field of an RNR NAK, else 0. */
DECLARE_EVENT_CLASS(tern_nak,
	TP_PROTO(const struct roce_qp *qp, u32 psn, u8 syndrome),
	TP_ARGS(qp, psn, syndrome),
	TP_STRUCT__entry(
		__string(dev, dev_name(&qp->base.dev->ibdev.dev))
		__field(u32, qpn)
		__field(u32, psn)
		__field(int, kind)
		__field(u8, rnr_timer)
	),
	TP_fast_assign(
		bool rnr = (syndrome & AETH_TYPE_MASK) == AETH_RNR_NAK;

		tern_assign_str(dev, dev_name(&qp->base.dev->ibdev.dev));
		__entry->qpn = qp->base.qpn;
		__entry->psn = psn;
		__entry->kind = rnr ? AETH_RNR_NAK : syndrome;
		__entry->rnr_timer = rnr ? syndrome & AETH_VALUE_MASK : 0;
	),
	TP_printk("dev=%s qpn=%u psn=%u kind=%s rnr_timer=%u", __get_str(dev), __entry->qpn,
		  __entry->psn, roce_show_nak(__entry->kind), __entry->rnr_timer)
);

DEFINE_EVENT(tern_nak, tern_nak_sent,
	TP_PROTO(const struct roce_qp *qp, u32 psn, u8 syndrome),
	TP_ARGS(qp, psn, syndrome)
);

DEFINE_EVENT(tern_nak, tern_nak_rcvd,
	TP_PROTO(const struct roce_qp *qp, u32 psn, u8 syndrome),
	TP_ARGS(qp, psn, syndrome)
);

/* In packets, requests and READ responses. */
TRACE_EVENT(tern_window,
	TP_PROTO(const struct roce_qp *qp, u32 before),
	TP_ARGS(qp, before),
	TP_STRUCT__entry(
		__string(dev, dev_name(&qp->base.dev->ibdev.dev))
		__field(u32, qpn)
		__field(u32, before)
		__field(u32, now)
	),
	TP_fast_assign(
		tern_assign_str(dev, dev_name(&qp->base.dev->ibdev.dev));
		__entry->qpn = qp->base.qpn;
		__entry->before = before;
		__entry->now = rc_req_window_pkts(&qp->req);
	),
	TP_printk("dev=%s qpn=%u before=%u now=%u", __get_str(dev), __entry->qpn, __entry->before,
		  __entry->now)
);

/* A QP's requests go to a QP of this host without packets from now on, or no longer. */
TRACE_EVENT(tern_way,
	TP_PROTO(const struct roce_qp *qp, bool local),
	TP_ARGS(qp, local),
	TP_STRUCT__entry(
		__string(dev, dev_name(&qp->base.dev->ibdev.dev))
		__field(u32, qpn)
		__field(bool, local)
	),
	TP_fast_assign(
		tern_assign_str(dev, dev_name(&qp->base.dev->ibdev.dev));
		__entry->qpn = qp->base.qpn;
		__entry->local = local;
	),
	TP_printk("dev=%s qpn=%u path=%s", __get_str(dev), __entry->qpn,
		  __entry->local ? "local" : "wire")
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH roce/qp
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
