// SPDX-License-Identifier: GPL-2.0
#include "stream.h"

#include <algorithm>
#include <cstring>

#include "world.h"

namespace sim {

Stream::Stream(World &world, uint32_t to_endpoint, const StreamCfg &cfg, uint64_t seed)
	: world_(world), rng_(seed), cfg_(cfg), to_(to_endpoint), buf_(2 * (size_t)cfg.room)
{}

void Stream::schedule(uint64_t at_ns)
{
	if (scheduled_)
		return;
	scheduled_ = true;
	world_.at(at_ns, EV_DELIVER, to_);
}

uint8_t *Stream::reserve(uint32_t n)
{
	if (n > room() || !is_open())
		fail((int)(to_ ^ 1), "%u bytes written into room for %u", n, room());
	if (n > buf_.size() - tail_) {
		memmove(buf_.data(), &buf_[head_], tail_ - head_);
		tail_ -= head_;
		head_ = 0;
	}
	return buf_.data() + tail_;
}

void Stream::commit(uint32_t n)
{
	uint64_t at = world_.now_ns + cfg_.delay_ns + rng_.below(cfg_.jitter_ns + 1);

	if (rng_.one_in(256))
		at += rng_.below(cfg_.stall_ns + 1);
	last_ns_ = std::max(at, last_ns_);
	tail_ += n;
	written += n;
	if (!marks_.empty() && marks_.back().at_ns == last_ns_)
		marks_.back().end = written;
	else
		marks_.push_back({written, last_ns_});
	schedule(marks_.front().at_ns);
}

void Stream::close()
{
	if (!is_open())
		return;
	closed_ = true;
	last_ns_ = std::max(world_.now_ns + cfg_.delay_ns, last_ns_);
	if (marks_.empty())
		schedule(last_ns_);
}

uint32_t Stream::cut(uint32_t ready)
{
	uint32_t n = ready;

	switch (rng_.below(8)) {
	case 0:
		n = 1;
		break;
	case 1:
		n = rng_.range(2, 40);
		break;
	case 2:
		n = rng_.range(1, ready);
		break;
	default:
		break;
	}
	if (cfg_.cut)
		n = std::min(n, rng_.range(1, cfg_.cut));
	return std::min(n, ready);
}

void Stream::deliver()
{
	uint64_t ready = delivered;

	scheduled_ = false;
	if (aborted_ || ended_)
		return;
	for (const Mark &m : marks_) {
		if (m.at_ns > world_.now_ns)
			break;
		ready = m.end;
	}
	if (ready > delivered) {
		uint32_t n = cut((uint32_t)(ready - delivered));

		deliveries++;
		world_.ep[to_]->receive(&buf_[head_], n);
		head_ += n;
		delivered += n;
		if (head_ == tail_)
			head_ = tail_ = 0;
		while (!marks_.empty() && marks_.front().end <= delivered)
			marks_.pop_front();
		world_.ep[to_ ^ 1]->room_made();
	}
	if (!marks_.empty()) {
		schedule(std::max(marks_.front().at_ns, world_.now_ns + rng_.below(100)));
	} else if (closed_) {
		ended_ = true;
		world_.ep[to_]->lost();
	}
}

} /* namespace sim */
