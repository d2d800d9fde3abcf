// SPDX-License-Identifier: GPL-2.0
#include "tcp_flow.h"

#include <cinttypes>

#include "network.h"

namespace netsim {

using sim::fail;

namespace {

constexpr uint32_t TCP_BYTES = 32; /* with time stamps */
constexpr uint32_t SACK_BYTES = 8; /* of a block */
constexpr uint32_t WINDOW_MOST = 8192;
constexpr uint32_t DUP_THRESH = 3;
constexpr uint64_t RTO_FIRST_NS = 1000000000;
constexpr uint64_t RTO_LEAST_NS = 200000000;
constexpr uint32_t BACKOFF_MOST = 8;
constexpr uint64_t DELACK_NS = 40000000;
constexpr uint32_t NONE = UINT32_MAX;

} /* namespace */

/* ---- receiver ---- */

bool TcpReceiver::take(uint32_t number)
{
	auto b = early_.begin();

	grown_ = number;
	if (number < next_)
		return false;
	while (b != early_.end() && b->end < number)
		++b;
	if (b == early_.end() || number + 1 < b->first) {
		if (number == next_) {
			next_++;
			return early_.empty();
		}
		early_.insert(b, {number, number + 1});
		return false;
	}
	/* It touches b, or is in it. */
	if (number >= b->first && number < b->end)
		return false;
	if (number + 1 == b->first)
		b->first = number;
	else
		b->end = number + 1;
	if (auto after = b + 1; after != early_.end() && after->first == b->end) {
		b->end = after->end;
		early_.erase(after);
	}
	if (early_.front().first == next_) {
		next_ = early_.front().end;
		early_.erase(early_.begin());
	}
	return false;
}

void TcpReceiver::fill(Segment &ack) const
{
	uint32_t n = 0;

	ack.ack = next_;
	for (const Block &b : early_)
		if (grown_ >= b.first && grown_ < b.end)
			ack.sack[n++] = b;
	for (auto b = early_.rbegin(); b != early_.rend() && n < 3; ++b)
		if (grown_ < b->first || grown_ >= b->end)
			ack.sack[n++] = *b;
	ack.blocks = n;
}

void TcpFlow::rx_data(const Packet &p)
{
	uint32_t before = receiver_.next();
	bool may_wait = receiver_.take(p.tcp.number);

	stats.delivered += (uint64_t)(receiver_.next() - before) * cfg.pmtu;
	if (may_wait && cfg.delayed_acks && !delack_ns_) {
		delack_ns_ = net_.now_ns + DELACK_NS;
		net_.arm(*this);
		return;
	}
	send_ack();
}

void TcpFlow::send_ack()
{
	Packet *p = get(true);

	delack_ns_ = 0;
	receiver_.fill(p->tcp);
	p->bytes = std::max(ETHERNET_MIN,
			    ETHERNET_BYTES + IP_BYTES + TCP_BYTES + p->tcp.blocks * SACK_BYTES);
	send(p);
}

/* ---- sender: what goes out ---- */

TcpFlow::TcpFlow(Network &net, const FlowCfg &c, uint32_t number)
	: Flow(net, c, number), gate_(*net.hosts[c.from].gate), sent_(WINDOW_MOST)
{}

uint32_t TcpFlow::full_bytes() const
{
	return ETHERNET_BYTES + IP_BYTES + TCP_BYTES + cfg.pmtu;
}

void TcpFlow::start()
{
	ask();
}

void TcpFlow::ask()
{
	if (pipe_ < cubic_.window())
		gate_.ask(*this);
	net_.arm(*this);
}

bool TcpFlow::may_send_new() const
{
	uint64_t all = (uint64_t)cfg.messages * cfg.message_bytes;

	return next_ - una_ < WINDOW_MOST && (!all || (uint64_t)next_ * cfg.pmtu < all);
}

/* What is lost comes first (RFC 6675 NextSeg). */
uint32_t TcpFlow::next_to_send()
{
	for (again_from_ = std::max(again_from_, una_); again_from_ < lost_until_; again_from_++) {
		const Sent &s = at(again_from_);

		if (s.lost && !s.sacked && !s.again)
			return again_from_;
	}
	return may_send_new() ? next_ : NONE;
}

void TcpFlow::transmit(uint32_t number)
{
	Packet *p = get(false);
	Sent &s = at(number);

	stats.sent++;
	if (number == next_) {
		s = {net_.now_ns, false, false, false, false};
		next_++;
	} else {
		s.at_ns = net_.now_ns;
		s.again = true;
		s.twice = true;
		again_.push_back({number, net_.now_ns});
		stats.resent++;
	}
	pipe_++;
	p->bytes = full_bytes();
	p->tcp.number = number;
	if (!rto_ns_)
		arm_rto();
	send(p);
}

bool TcpFlow::pump(uint32_t bytes)
{
	uint32_t left = bytes / full_bytes(), number;

	while (pipe_ + 1 <= cubic_.window()) {
		number = next_to_send();
		if (number == NONE)
			break;
		if (!left--)
			return true;
		transmit(number);
	}
	limited_ = pipe_ + 1 > cubic_.window();
	net_.arm(*this);
	return false;
}

/* ---- sender: what comes back ---- */

void TcpFlow::take_rtt(uint64_t ns)
{
	uint64_t off = ns > srtt_ns_ ? ns - srtt_ns_ : srtt_ns_ - ns;

	least_rtt_ns_ = least_rtt_ns_ ? std::min(least_rtt_ns_, ns) : ns;
	if (!srtt_ns_) {
		srtt_ns_ = ns;
		rttvar_ns_ = ns / 2;
		return;
	}
	rttvar_ns_ = (3 * rttvar_ns_ + off) / 4;
	srtt_ns_ = (7 * srtt_ns_ + ns) / 8;
}

void TcpFlow::arm_rto()
{
	uint64_t wait = srtt_ns_ ? std::max(srtt_ns_ + 4 * rttvar_ns_, RTO_LEAST_NS) : RTO_FIRST_NS;

	rto_ns_ = next_ == una_ ? 0 : net_.now_ns + (wait << backoff_);
}

/* A segment is known to be there: it is sacked or acknowledged. */
void TcpFlow::arrived(uint32_t number)
{
	Sent &s = at(number);

	if (!s.lost || s.again)
		pipe_--;
	if (!s.twice || net_.now_ns - s.at_ns >= least_rtt_ns_)
		newest_ns_ = std::max(newest_ns_, s.at_ns);
	if (!s.twice)
		take_rtt(net_.now_ns - s.at_ns);
}

void TcpFlow::sack_one(uint32_t number)
{
	arrived(number);
	at(number).sacked = true;
	sacked_++;
}

/* Blocks grow at their ends, so what is new of one is there. */
void TcpFlow::sack(const Block &b)
{
	uint32_t first = std::max(b.first, una_), end = b.end;

	while (end > first && !at(end - 1).sacked)
		sack_one(--end);
	while (first < end && !at(first).sacked)
		sack_one(first++);
	highest_ = std::max(highest_, b.end);
}

void TcpFlow::advance(uint32_t ack)
{
	for (; una_ < ack; una_++) {
		if (at(una_).sacked)
			sacked_--;
		else
			arrived(una_);
	}
	lost_until_ = std::max(lost_until_, una_);
	highest_ = std::max(highest_, una_);
}

void TcpFlow::lose(uint32_t number)
{
	Sent &s = at(number);

	if (!s.lost || s.again)
		pipe_--;
	s.lost = true;
	s.again = false;
	again_from_ = std::min(again_from_, number);
}

/* RFC 6675 IsLost(): DUP_THRESH segments above it are sacked. True if there are new ones. */
bool TcpFlow::mark_lost()
{
	uint32_t end = highest_, above = 0;
	bool some = false;

	if (sacked_ < DUP_THRESH)
		return false;
	while (above < DUP_THRESH)
		above += at(--end).sacked;
	for (; lost_until_ < end; lost_until_++) {
		if (at(lost_until_).sacked || at(lost_until_).lost)
			continue;
		lose(lost_until_);
		some = true;
	}
	return some;
}

void TcpFlow::mark_lost_again()
{
	while (!again_.empty()) {
		const Again a = again_.front();
		bool current = a.number >= una_ && !at(a.number).sacked && at(a.number).again &&
			       at(a.number).at_ns == a.at_ns;

		if (current && a.at_ns + least_rtt_ns_ / 4 >= newest_ns_)
			return;
		again_.pop_front();
		if (current)
			lose(a.number);
	}
}

void TcpFlow::grow(uint32_t acked)
{
	if (state_ != State::RECOVERY && limited_ && srtt_ns_)
		cubic_.acked(acked, net_.now_ns, srtt_ns_);
}

void TcpFlow::rx_ack(const Segment &ack)
{
	uint32_t acked = ack.ack > una_ ? ack.ack - una_ : 0;

	if (ack.ack < una_)
		return;
	advance(ack.ack);
	for (uint32_t i = 0; i < ack.blocks; i++)
		sack(ack.sack[i]);
	if (acked) {
		if (state_ != State::OPEN && una_ >= recover_)
			state_ = State::OPEN;
		backoff_ = 0;
		grow(acked);
		arm_rto();
	}
	if (mark_lost() && state_ == State::OPEN) {
		state_ = State::RECOVERY;
		recover_ = next_;
		stats.gaps++;
		cubic_.lost(cubic_.window());
	}
	mark_lost_again();
	if (cfg.messages &&
	    (uint64_t)una_ * cfg.pmtu >= (uint64_t)cfg.messages * cfg.message_bytes &&
	    !stats.done_ns)
		finish();
	ask();
}

/* ---- silence ---- */

uint64_t TcpFlow::deadline() const
{
	return rto_ns_ && (!delack_ns_ || rto_ns_ < delack_ns_) ? rto_ns_ : delack_ns_;
}

void TcpFlow::time_out()
{
	stats.timeouts++;
	if (state_ != State::LOSS)
		cubic_.timed_out(std::max<double>(pipe_, 1));
	state_ = State::LOSS;
	recover_ = next_;
	for (uint32_t n = una_; n < next_; n++)
		if (!at(n).sacked)
			lose(n);
	lost_until_ = next_;
	again_from_ = una_;
	if (backoff_ < BACKOFF_MOST)
		backoff_++;
	arm_rto();
	ask();
}

void TcpFlow::timer()
{
	if (delack_ns_ && delack_ns_ <= net_.now_ns)
		send_ack();
	if (rto_ns_ && rto_ns_ <= net_.now_ns)
		time_out();
}

void TcpFlow::rx(Packet *p)
{
	if (p->to_source)
		rx_ack(p->tcp);
	else
		rx_data(*p);
	net_.pool.put(p);
}

void TcpFlow::check_end() const
{
	if (stats.delivered != (uint64_t)receiver_.next() * cfg.pmtu || una_ > receiver_.next() ||
	    receiver_.next() > next_)
		fail(-1, "flow %u: acknowledged %u, received %u, sent %u", id, una_,
		     receiver_.next(), next_);
	if (pipe_ > next_ - una_)
		fail(-1, "flow %u: %u segments on their way of %u", id, pipe_, next_ - una_);
}

} /* namespace netsim */
