/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A TCP stream with SACK and CUBIC, to judge who gets what of a shared bottleneck: RFC 9438
 * (CUBIC), RFC 6675 (what is lost, how much is in flight), RFC 6298 (time-outs, 200 ms at least, as
 * Linux).
 *
 * Simplified: the stream begins established. Numbers count segments of one size, and never wrap.
 * The initial window is 10 segments, and a receiver's window 8192. A segment that was sent again
 * and is lost again is noticed when one sent later has arrived (as RFC 8985 does, for these alone),
 * else there is a time-out. There is no HyStart, pacing, proportional rate reduction, probe of the
 * tail, adapting to reordering or undoing of a reduction that it caused, DSACK, ECN or cutting of
 * large segments. An ACK tells of three blocks: the one that has grown, and the two last.
 */
#ifndef TERN_NETSIM_TCP_FLOW_H
#define TERN_NETSIM_TCP_FLOW_H

#include <deque>

#include "cubic.h"
#include "flow.h"
#include "gate.h"

namespace netsim {

/* What has come, and what to tell of it. */
class TcpReceiver {
public:
	/*
	 * A segment came. False: it is a duplicate, or leaves or meets a gap, so it is acknowledged
	 * at once.
	 */
	bool take(uint32_t number);
	void fill(Segment &ack) const;
	uint32_t next() const { return next_; }

private:
	std::vector<Block> early_; /* in order, not adjacent */
	uint32_t next_ = 0;
	uint32_t grown_ = 0; /* a segment of the block to tell of first */
};

class TcpFlow : public Flow, public Source {
public:
	TcpFlow(Network &net, const FlowCfg &cfg, uint32_t id);

	void start() override;
	void rx(Packet *p) override;
	uint64_t deadline() const override;
	void timer() override;
	bool pump(uint32_t bytes) override;
	uint32_t full_payload() const override { return cfg.pmtu; }
	uint32_t full_bytes() const override;
	void check_end() const override;

private:
	/* Of a segment between una_ and next_. */
	struct Sent {
		uint64_t at_ns;
		bool sacked, lost, again; /* again: sent after it was lost, and not lost since */
		bool twice;		  /* sent more than once: its time says nothing */
	};
	struct Again {
		uint32_t number;
		uint64_t at_ns;
	};
	enum class State : uint8_t { OPEN, RECOVERY, LOSS };

	Sent &at(uint32_t number) { return sent_[number & (sent_.size() - 1)]; }
	void ask();
	void transmit(uint32_t number);
	uint32_t next_to_send();
	void rx_data(const Packet &p);
	void send_ack();
	void rx_ack(const Segment &ack);
	void arrived(uint32_t number);
	void sack(const Block &b);
	void sack_one(uint32_t number);
	void advance(uint32_t ack);
	bool mark_lost();
	void mark_lost_again();
	void lose(uint32_t number);
	void grow(uint32_t acked);
	void take_rtt(uint64_t ns);
	void time_out();
	void arm_rto();
	bool may_send_new() const;

	Gate &gate_;
	Cubic cubic_;
	TcpReceiver receiver_;
	std::vector<Sent> sent_; /* a ring */
	std::deque<Again> again_;
	uint32_t una_ = 0, next_ = 0;
	uint32_t pipe_ = 0;		    /* RFC 6675: segments that are on their way */
	uint32_t sacked_ = 0, highest_ = 0; /* how many are, and one after the last */
	uint32_t lost_until_ = 0;	    /* below it, all that is not sacked is lost */
	uint32_t again_from_ = 0;	    /* below it, nothing waits to be sent again */
	uint32_t recover_ = 0;		    /* what was next when a loss was found */
	State state_ = State::OPEN;
	bool limited_ = false;	 /* it is the congestion window that stops it */
	uint64_t newest_ns_ = 0; /* when the newest that arrived was sent */
	uint64_t srtt_ns_ = 0, rttvar_ns_ = 0, least_rtt_ns_ = 0;
	uint32_t backoff_ = 0;
	uint64_t rto_ns_ = 0;	 /* deadline; 0: off */
	uint64_t delack_ns_ = 0; /* deadline of a delayed ACK; 0: none is delayed */
};

} /* namespace netsim */

#endif
