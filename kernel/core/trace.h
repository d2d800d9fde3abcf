/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace events of QPs, whatever their transport: what became of a packet, a work request, a state.
 * Those of one transport are in roce/qp/trace.h, iwarp/stream/trace.h and iwarp/cm/trace.h.
 * Documentation/tracing.md says what each means. The engines have none: their callers tell what an
 * engine decided. An event that is off is a branch that the kernel patches out.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM tern

#if !defined(TERN_CORE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define TERN_CORE_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>

#include "core/device.h"
#include "core/drop.h"
#include "core/qp.h"

/* X(enumerator, name shown) */
#define TERN_QP_STATES(X)						\
	X(IB_QPS_RESET, "RESET")					\
	X(IB_QPS_INIT, "INIT")						\
	X(IB_QPS_RTR, "RTR")						\
	X(IB_QPS_RTS, "RTS")						\
	X(IB_QPS_SQD, "SQD")						\
	X(IB_QPS_SQE, "SQE")						\
	X(IB_QPS_ERR, "ERR")

#define TERN_QP_TYPES(X)						\
	X(IB_QPT_GSI, "GSI")						\
	X(IB_QPT_RC, "RC")						\
	X(IB_QPT_UC, "UC")						\
	X(IB_QPT_UD, "UD")						\
	X(IB_QPT_XRC_INI, "XRC_INI")					\
	X(IB_QPT_XRC_TGT, "XRC_TGT")

/* Those that tern has. */
#define TERN_WC_STATUSES(X)						\
	X(IB_WC_LOC_LEN_ERR, "LOC_LEN_ERR")				\
	X(IB_WC_LOC_QP_OP_ERR, "LOC_QP_OP_ERR")				\
	X(IB_WC_LOC_PROT_ERR, "LOC_PROT_ERR")				\
	X(IB_WC_WR_FLUSH_ERR, "WR_FLUSH_ERR")				\
	X(IB_WC_MW_BIND_ERR, "MW_BIND_ERR")				\
	X(IB_WC_BAD_RESP_ERR, "BAD_RESP_ERR")				\
	X(IB_WC_REM_INV_REQ_ERR, "REM_INV_REQ_ERR")			\
	X(IB_WC_REM_ACCESS_ERR, "REM_ACCESS_ERR")			\
	X(IB_WC_REM_OP_ERR, "REM_OP_ERR")				\
	X(IB_WC_RETRY_EXC_ERR, "RETRY_EXC_ERR")				\
	X(IB_WC_RNR_RETRY_EXC_ERR, "RNR_RETRY_EXC_ERR")

#define TERN_TRACE_ENUM(id, name) TRACE_DEFINE_ENUM(id);
#define TERN_TRACE_DROP_ENUM(id, name) TRACE_DEFINE_ENUM(TERN_DROP_##id);
TERN_QP_STATES(TERN_TRACE_ENUM)
TERN_QP_TYPES(TERN_TRACE_ENUM)
TERN_WC_STATUSES(TERN_TRACE_ENUM)
TERN_DROPS(TERN_TRACE_DROP_ENUM)
#undef TERN_TRACE_ENUM
#undef TERN_TRACE_DROP_ENUM

/* __print_symbolic() wants no comma behind its last pair. */
#define TERN_SHOW(id, name) { id, name },
#define TERN_SHOW_DROP(id, name) { TERN_DROP_##id, name },
#define TERN_SHOW_END { -1, "?" }
#define tern_show_state(state) __print_symbolic(state, TERN_QP_STATES(TERN_SHOW) TERN_SHOW_END)
#define tern_show_type(type) __print_symbolic(type, TERN_QP_TYPES(TERN_SHOW) TERN_SHOW_END)
#define tern_show_status(status) __print_symbolic(status, TERN_WC_STATUSES(TERN_SHOW) TERN_SHOW_END)
#define tern_show_drop(drop) __print_symbolic(drop, TERN_DROPS(TERN_SHOW_DROP) TERN_SHOW_END)

TRACE_EVENT(tern_qp_state,
	TP_PROTO(const struct tern_qp *qp, enum ib_qp_state next),
	TP_ARGS(qp, next),
	TP_STRUCT__entry(
		__string(dev, dev_name(&qp->dev->ibdev.dev))
		__field(u32, qpn)
		__field(int, type)
		__field(int, state)
		__field(int, next)
	),
	TP_fast_assign(
		tern_assign_str(dev, dev_name(&qp->dev->ibdev.dev));
		__entry->qpn = qp->qpn;
		__entry->type = qp->type;
		__entry->state = qp->state;
		__entry->next = next;
	),
	TP_printk("dev=%s qpn=%u type=%s state=%s next=%s", __get_str(dev), __entry->qpn,
		  tern_show_type(__entry->type), tern_show_state(__entry->state),
		  tern_show_state(__entry->next))
);

TRACE_EVENT(tern_cqe_error,
	TP_PROTO(const struct tern_qp *qp, bool send, u64 wr_id, enum ib_wc_status status),
	TP_ARGS(qp, send, wr_id, status),
	TP_STRUCT__entry(
		__string(dev, dev_name(&qp->dev->ibdev.dev))
		__field(u32, qpn)
		__field(bool, send)
		__field(u64, wr_id)
		__field(int, status)
	),
	TP_fast_assign(
		tern_assign_str(dev, dev_name(&qp->dev->ibdev.dev));
		__entry->qpn = qp->qpn;
		__entry->send = send;
		__entry->wr_id = wr_id;
		__entry->status = status;
	),
	TP_printk("dev=%s qpn=%u queue=%s wr_id=%#llx status=%s", __get_str(dev), __entry->qpn,
		  __entry->send ? "send" : "receive", __entry->wr_id,
		  tern_show_status(__entry->status))
);

/* qpn, opcode, psn: as the packet has them, 0 if it was not understood so far. */
TRACE_EVENT(tern_rx_drop,
	TP_PROTO(const struct tern_dev *dev, u32 qpn, u8 opcode, u32 psn, enum tern_drop why),
	TP_ARGS(dev, qpn, opcode, psn, why),
	TP_STRUCT__entry(
		__string(dev, dev_name(&dev->ibdev.dev))
		__field(u32, qpn)
		__field(u8, opcode)
		__field(u32, psn)
		__field(int, why)
	),
	TP_fast_assign(
		tern_assign_str(dev, dev_name(&dev->ibdev.dev));
		__entry->qpn = qpn;
		__entry->opcode = opcode;
		__entry->psn = psn;
		__entry->why = why;
	),
	TP_printk("dev=%s qpn=%u opcode=%#x psn=%u why=%s", __get_str(dev), __entry->qpn,
		  __entry->opcode, __entry->psn, tern_show_drop(__entry->why))
);

/* Pages on demand are absent: they are asked for, and the QP waits. */
TRACE_EVENT(tern_fault_begin,
	TP_PROTO(const struct tern_qp *qp),
	TP_ARGS(qp),
	TP_STRUCT__entry(
		__string(dev, dev_name(&qp->dev->ibdev.dev))
		__field(u32, qpn)
		__field(u64, addr)
		__field(u64, bytes)
		__field(bool, write)
	),
	TP_fast_assign(
		tern_assign_str(dev, dev_name(&qp->dev->ibdev.dev));
		__entry->qpn = qp->qpn;
		__entry->addr = qp->fault.addr;
		__entry->bytes = qp->fault.length;
		__entry->write = qp->fault.write;
	),
	TP_printk("dev=%s qpn=%u addr=%#llx bytes=%llu for=%s", __get_str(dev), __entry->qpn,
		  __entry->addr, __entry->bytes, __entry->write ? "write" : "read")
);

/* error: 0, or why they cannot be had. */
TRACE_EVENT(tern_fault_end,
	TP_PROTO(const struct tern_qp *qp, int error),
	TP_ARGS(qp, error),
	TP_STRUCT__entry(
		__string(dev, dev_name(&qp->dev->ibdev.dev))
		__field(u32, qpn)
		__field(int, error)
	),
	TP_fast_assign(
		tern_assign_str(dev, dev_name(&qp->dev->ibdev.dev));
		__entry->qpn = qp->qpn;
		__entry->error = error;
	),
	TP_printk("dev=%s qpn=%u error=%d", __get_str(dev), __entry->qpn, __entry->error)
);

/* What a QP has to send waits: for the gate, or for its own packets to leave the stack. */
TRACE_EVENT(tern_gate_wait,
	TP_PROTO(const struct tern_qp *qp, u32 bytes),
	TP_ARGS(qp, bytes),
	TP_STRUCT__entry(
		__string(dev, dev_name(&qp->dev->ibdev.dev))
		__field(u32, qpn)
		__field(u32, bytes)
	),
	TP_fast_assign(
		tern_assign_str(dev, dev_name(&qp->dev->ibdev.dev));
		__entry->qpn = qp->qpn;
		__entry->bytes = bytes;
	),
	TP_printk("dev=%s qpn=%u bytes=%u", __get_str(dev), __entry->qpn, __entry->bytes)
);

TRACE_EVENT(tern_gate_go,
	TP_PROTO(const struct tern_qp *qp),
	TP_ARGS(qp),
	TP_STRUCT__entry(
		__string(dev, dev_name(&qp->dev->ibdev.dev))
		__field(u32, qpn)
	),
	TP_fast_assign(
		tern_assign_str(dev, dev_name(&qp->dev->ibdev.dev));
		__entry->qpn = qp->qpn;
	),
	TP_printk("dev=%s qpn=%u", __get_str(dev), __entry->qpn)
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH core
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
