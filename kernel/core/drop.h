/* SPDX-License-Identifier: GPL-2.0 */
/* Why a received packet goes no further, for the trace event tern_rx_drop. */
#ifndef TERN_CORE_DROP_H
#define TERN_CORE_DROP_H

/* X(enumerator, name shown) */
#define TERN_DROPS(X)							\
	X(MALFORMED,	"malformed")					\
	X(ICRC,		"icrc")						\
	X(OWN_ADDRESS,	"own-source-address")	/* it came from outside */ \
	X(NO_QP,	"no-qp")					\
	X(STATE,	"qp-state")					\
	X(SERVICE,	"service")		/* not of the QP's type */ \
	X(PKEY,		"pkey")						\
	X(QKEY,		"qkey")						\
	X(PEER,		"not-the-peer")					\
	X(BACKLOG,	"backlog-full")					\
	X(NO_RECV,	"no-receive")					\
	X(TOO_LONG,	"too-long")					\
	X(NO_PAGES,	"pages-absent")					\
	X(DUPLICATE,	"duplicate")					\
	X(OUT_OF_SEQ,	"out-of-sequence")				\
	X(UNEXPECTED,	"unexpected")		/* a NAK ends or delays what it is of */ \
	X(GHOST,	"answer-to-nothing")

enum tern_drop {
	TERN_DROP_NONE,			/* it is taken */
#define TERN_DROP_ENUM(id, name) TERN_DROP_##id,
	TERN_DROPS(TERN_DROP_ENUM)
#undef TERN_DROP_ENUM
};

#endif
