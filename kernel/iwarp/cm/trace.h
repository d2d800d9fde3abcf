/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace events of iWARP's connections. Those of QPs are in core/trace.h and iwarp/stream/trace.h.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM tern

#if !defined(TERN_IWARP_CM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define TERN_IWARP_CM_TRACE_H

#include <linux/net.h>
#include <linux/tracepoint.h>
#include <net/sock.h>

#include "iwarp/cm/ep.h"
#include "proto/mpa.h"

/* X(enumerator, name shown) */
#define IW_EP_STATES(X)							\
	X(IW_EP_NEW, "NEW")						\
	X(IW_EP_LISTENING, "LISTENING")					\
	X(IW_EP_CONNECTING, "CONNECTING")				\
	X(IW_EP_WAIT_REPLY, "WAIT_REPLY")				\
	X(IW_EP_WAIT_REQUEST, "WAIT_REQUEST")				\
	X(IW_EP_REQUESTED, "REQUESTED")					\
	X(IW_EP_OPEN, "OPEN")						\
	X(IW_EP_DRAINING, "DRAINING")					\
	X(IW_EP_CLOSING, "CLOSING")					\
	X(IW_EP_DEAD, "DEAD")

/* What is wrong with a start-up frame, and with what it offers. */
#define IW_MPA_ERRORS(X)						\
	X(MPA_BAD_KEY, "key")						\
	X(MPA_BAD_REVISION, "revision")					\
	X(MPA_BAD_LENGTH, "length")	/* or the end of the stream */	\
	X(MPA_MORE, "given-up")		/* the listener had no room, or ended */
#define IW_MPA_VERDICTS(X)						\
	X(MPA_REJECTED, "rejected")					\
	X(MPA_NO_IRD, "ird-too-small")					\
	X(MPA_NO_RTR, "no-rtr-in-common")

#define IW_TRACE_ENUM(id, name) TRACE_DEFINE_ENUM(id);
IW_EP_STATES(IW_TRACE_ENUM)
IW_MPA_ERRORS(IW_TRACE_ENUM)
IW_MPA_VERDICTS(IW_TRACE_ENUM)
#undef IW_TRACE_ENUM

#define IW_SHOW(id, name) { id, name },
#define IW_SHOW_END { -100, "?" }
#define iw_show_state(state) __print_symbolic(state, IW_EP_STATES(IW_SHOW) IW_SHOW_END)
#define iw_show_error(error) __print_symbolic(error, IW_MPA_ERRORS(IW_SHOW) IW_SHOW_END)
#define iw_show_verdict(verdict) __print_symbolic(verdict, IW_MPA_VERDICTS(IW_SHOW) IW_SHOW_END)

TRACE_EVENT(tern_iw_state,
	TP_PROTO(const struct iw_ep *ep, enum iw_ep_state next),
	TP_ARGS(ep, next),
	TP_STRUCT__entry(
		__string(dev, dev_name(&ep->dev->ibdev.dev))
		__field(u16, port)
		__field(u16, peer_port)
		__field(int, state)
		__field(int, next)
	),
	TP_fast_assign(
		tern_assign_str(dev, dev_name(&ep->dev->ibdev.dev));
		__entry->port = ep->sock->sk->sk_num;
		__entry->peer_port = ntohs(ep->sock->sk->sk_dport);
		__entry->state = ep->state;
		__entry->next = next;
	),
	TP_printk("dev=%s port=%u peer_port=%u state=%s next=%s", __get_str(dev), __entry->port,
		  __entry->peer_port, iw_show_state(__entry->state), iw_show_state(__entry->next))
);

/* The peer's start-up frame is none. */
TRACE_EVENT(tern_mpa_error,
	TP_PROTO(const struct iw_ep *ep, enum mpa_error error),
	TP_ARGS(ep, error),
	TP_STRUCT__entry(
		__string(dev, dev_name(&ep->dev->ibdev.dev))
		__field(u16, port)
		__field(u16, peer_port)
		__field(int, error)
	),
	TP_fast_assign(
		tern_assign_str(dev, dev_name(&ep->dev->ibdev.dev));
		__entry->port = ep->sock->sk->sk_num;
		__entry->peer_port = ntohs(ep->sock->sk->sk_dport);
		__entry->error = error;
	),
	TP_printk("dev=%s port=%u peer_port=%u error=%s", __get_str(dev), __entry->port,
		  __entry->peer_port, iw_show_error(__entry->error))
);

/* It is one, and there is no connection all the same. */
TRACE_EVENT(tern_mpa_refused,
	TP_PROTO(const struct iw_ep *ep, enum mpa_verdict why),
	TP_ARGS(ep, why),
	TP_STRUCT__entry(
		__string(dev, dev_name(&ep->dev->ibdev.dev))
		__field(u16, port)
		__field(u16, peer_port)
		__field(int, why)
	),
	TP_fast_assign(
		tern_assign_str(dev, dev_name(&ep->dev->ibdev.dev));
		__entry->port = ep->sock->sk->sk_num;
		__entry->peer_port = ntohs(ep->sock->sk->sk_dport);
		__entry->why = why;
	),
	TP_printk("dev=%s port=%u peer_port=%u why=%s", __get_str(dev), __entry->port,
		  __entry->peer_port, iw_show_verdict(__entry->why))
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH iwarp/cm
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
