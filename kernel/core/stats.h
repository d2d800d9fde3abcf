/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hardware counters: one per-CPU array per device, shown by `rdma statistic show`
 * and /sys/class/infiniband/DEV/ports/1/hw_counters, and one for each set that QPs
 * are bound to by `rdma statistic qp`. Names are those of RNICs where one exists.
 * Everything that a remote peer can provoke is counted here and never logged.
 */
#ifndef TERN_CORE_STATS_H
#define TERN_CORE_STATS_H

#include <linux/bitops.h>
#include <linux/irqflags.h>
#include <linux/jump_label.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/types.h>

#include "core/device.h"
#include "core/qp.h"

/* X(enumerator, name shown) */
#define TERN_COUNTERS(X)							\
	X(TX_PKTS,		"tx_packets")					\
	X(TX_BYTES,		"tx_bytes")	/* payload */			\
	X(RX_PKTS,		"rx_packets")					\
	X(RX_BYTES,		"rx_bytes")	/* payload */			\
	X(TX_DROPPED,		"tx_dropped")	/* refused by the local stack */ \
	X(RX_ICRC_ERR,		"rx_icrc_encapsulated")				\
	X(RX_MALFORMED,		"rx_malformed")					\
	X(RX_NO_QP,		"rx_no_qp")					\
	X(RX_BAD_PATH,		"rx_bad_path")	/* wrong P_Key, Q_Key, address or QP state */ \
	X(RX_WAITED,		"rx_waited")	/* the QP was busy */		\
	X(RX_BACKLOG_DROPPED,	"rx_backlog_dropped")				\
	X(RX_AHEAD,		"rx_out_of_order_kept")	/* until their turn comes */ \
	X(RX_UD_DROPPED,	"rx_ud_dropped") /* no receive WQE, or too short */ \
	X(RX_CNP,		"rp_cnp_handled")				\
	X(RX_CE,		"np_ecn_marked_roce_packets")			\
	X(TX_CNP,		"np_cnp_sent")					\
	X(REQ_SENT,		"requests_sent")	/* WQEs taken */	\
	X(RDMA_WRITES,		"rx_write_requests")				\
	X(RDMA_READS,		"rx_read_requests")				\
	X(RDMA_ATOMICS,		"rx_atomic_requests")				\
	X(RDMA_FLUSHES,		"rx_flush_requests")				\
	X(RDMA_SENDS,		"rx_send_requests")				\
	X(DUP_REQUEST,		"duplicate_request")				\
	X(OUT_OF_SEQ,		"out_of_sequence")				\
	X(SEQ_NAK_RX,		"packet_seq_err")				\
	X(RNR_NAK_RX,		"rnr_nak_rcvd")					\
	X(RNR_NAK_TX,		"out_of_buffer") /* no receive WQE, most find one soon */ \
	X(IMPLIED_NAK,		"implied_nak_seq_err")				\
	X(ACK_TIMEOUT,		"local_ack_timeout_err")			\
	X(PROBES,		"tx_probes")	/* no answer in a round trip's time */ \
	X(RETRY_EXCEEDED,	"retry_exceeded_err")				\
	X(RNR_EXCEEDED,		"rnr_nak_retry_err")				\
	X(GHOST_ACK,		"ghost_acks")					\
	X(RETRANS_PKTS,		"retransmitted_packets")			\
	X(REQ_REMOTE_ERR,	"req_remote_errors")				\
	X(RESP_REFUSED,		"resp_cqe_error")				\
	X(DOORBELLS,		"doorbells")					\
	X(HANDOFFS,		"work_handoffs")	/* a work item went on */		\
	X(PAGE_FAULTS,		"page_faults")	/* of QPs, on demand: served or failed */ \
	X(LOCAL_MSGS,		"local_messages")	/* to a QP of this host, no packets */ \
	X(LOCAL_BYTES,		"local_bytes")						\
	X(TX_ZEROCOPY,		"tx_zerocopy_bytes")	/* lent to TCP, not copied */	\
	X(LINK_DOWN,		"link_downed")

/*
 * Off unless an administrator asks for them: `rdma statistic set link DEV optional-counters NAMES`.
 * They cost something for each work request.
 */
#define TERN_OPTIONAL_COUNTERS(X)						\
	X(TX_SENDS,		"tx_send_requests")				\
	X(TX_WRITES,		"tx_write_requests")				\
	X(TX_READS,		"tx_read_requests")				\
	X(TX_ATOMICS,		"tx_atomic_requests")				\
	X(TX_FLUSHES,		"tx_flush_requests")				\
	X(TX_LOCAL,		"tx_local_requests")	/* binds, registrations, invalidations */

enum tern_counter {
#define TERN_COUNTER_ENUM(id, name) TERN_CNT_##id,
	TERN_COUNTERS(TERN_COUNTER_ENUM)
	TERN_OPTIONAL_COUNTERS(TERN_COUNTER_ENUM)
#undef TERN_COUNTER_ENUM
	TERN_CNT_MAX
};
#define TERN_CNT_FIRST_OPTIONAL TERN_CNT_TX_SENDS

struct tern_stats {
	u64 v[TERN_CNT_MAX];
};

/* Counted by QPs that are bound to it instead of in dev->stats. */
struct tern_stats_set {
	struct tern_stats __percpu *stats;
};

/* With the device: 0 or -ENOMEM. At the end no QP is left. Process context. */
int tern_stats_init(struct tern_dev *dev);
void tern_stats_uninit(struct tern_dev *dev);

/* The counter, summed over all CPUs. Any context. */
u64 tern_stats_sum(const struct tern_stats __percpu *stats, enum tern_counter counter);
/* And over all QPs of the device, whatever they were bound to. Sleeps. */
u64 tern_stat(struct tern_dev *dev, enum tern_counter counter);

/*
 * A set with a number of its own, not 0. 0, -ENOMEM, -EBUSY. Process context, as all that follow.
 */
int tern_stats_set_create(struct tern_dev *dev, u32 *id);
/* No QP is bound to it any more. Sleeps. */
void tern_stats_set_destroy(struct tern_dev *dev, u32 id);
/* Valid until it is destroyed. NULL: there is none. */
const struct tern_stats __percpu *tern_stats_of_set(struct tern_dev *dev, u32 id);
/*
 * From now on qp counts there; id 0: in the device's. What another CPU is counting at this moment
 * goes to the old one. -EINVAL: there is no such set.
 */
int tern_qp_bind_stats(struct tern_qp *qp, u32 id);

/*
 * BHs are off, so nothing else counts on this CPU meanwhile. Machines that cannot add in one
 * instruction then need not disable interrupts.
 */
static inline void tern_stats_add(struct tern_stats __percpu *stats, enum tern_counter c, u64 n)
{
	lockdep_assert(in_softirq() || irqs_disabled());
	__this_cpu_add(stats->v[c], n);
}

/* What belongs to no QP. */
static inline void tern_count_add(struct tern_dev *dev, enum tern_counter c, u64 n)
{
	tern_stats_add(dev->stats, c, n);
}

static inline void tern_count(struct tern_dev *dev, enum tern_counter c)
{
	tern_count_add(dev, c, 1);
}

static inline void tern_qp_count_add(const struct tern_qp *qp, enum tern_counter c, u64 n)
{
	tern_stats_add(READ_ONCE(qp->stats), c, n);
}

static inline void tern_qp_count(const struct tern_qp *qp, enum tern_counter c)
{
	tern_qp_count_add(qp, c, 1);
}

/* Is an optional counter on, of whichever device? */
DECLARE_STATIC_KEY_FALSE(tern_optional_stats);

/*
 * Turns an optional counter of a device on or off; what it has counted stays. Not called twice with
 * the same `on`, nor by two at a time. Sleeps.
 */
void tern_stats_enable(struct tern_dev *dev, enum tern_counter c, bool on);
static inline bool tern_stats_is_on(const struct tern_dev *dev, enum tern_counter c)
{
	return c < TERN_CNT_FIRST_OPTIONAL || test_bit(c, dev->optional_stats);
}

/* The optional counters: a request with this opcode, which is valid, was taken. BHs are off. */
void tern_qp_count_request_kind(const struct tern_qp *qp, u8 opcode);
static inline void tern_qp_count_request(const struct tern_qp *qp, u8 opcode)
{
	if (static_branch_unlikely(&tern_optional_stats))
		tern_qp_count_request_kind(qp, opcode);
}

/* In any context: only for a counter that none of the above counts. */
static inline void tern_count_anywhere(struct tern_dev *dev, enum tern_counter c)
{
	this_cpu_inc(dev->stats->v[c]);
}

#endif
