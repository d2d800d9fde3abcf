/* SPDX-License-Identifier: GPL-2.0 */
/* Trace events of iWARP streams. Those of every QP are in core/trace.h. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM tern

#if !defined(TERN_IWARP_STREAM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define TERN_IWARP_STREAM_TRACE_H

#include <linux/tracepoint.h>

#include "core/qp.h"

/* code: layer, error type and error code of the Terminate, 4, 4 and 8 bits (RFC 5040 4.8). */
DECLARE_EVENT_CLASS(tern_terminate,
	TP_PROTO(const struct tern_qp *qp, int code),
	TP_ARGS(qp, code),
	TP_STRUCT__entry(
		__string(dev, dev_name(&qp->dev->ibdev.dev))
		__field(u32, qpn)
		__field(u8, layer)
		__field(u8, type)
		__field(u8, code)
	),
	TP_fast_assign(
		tern_assign_str(dev, dev_name(&qp->dev->ibdev.dev));
		__entry->qpn = qp->qpn;
		__entry->layer = code >> 12 & 0xf;
		__entry->type = code >> 8 & 0xf;
		__entry->code = code & 0xff;
	),
	TP_printk("dev=%s qpn=%u layer=%u type=%u code=%u", __get_str(dev), __entry->qpn,
		  __entry->layer, __entry->type, __entry->code)
);

DEFINE_EVENT(tern_terminate, tern_terminate_sent,
	TP_PROTO(const struct tern_qp *qp, int code),
	TP_ARGS(qp, code)
);

DEFINE_EVENT(tern_terminate, tern_terminate_rcvd,
	TP_PROTO(const struct tern_qp *qp, int code),
	TP_ARGS(qp, code)
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH iwarp/stream
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
