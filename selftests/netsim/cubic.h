/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CUBIC's window (RFC 9438), in segments, with fast convergence and the Reno-friendly region. Slow
 * start is RFC 5681's.
 */
#ifndef TERN_NETSIM_CUBIC_H
#define TERN_NETSIM_CUBIC_H

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace netsim {

class Cubic {
public:
	double window() const { return window_; }

	/* Segments were acknowledged, and the window is what limits the sender. */
	void acked(uint32_t segments, uint64_t now_ns, uint64_t rtt_ns)
	{
		for (; segments && window_ < threshold_; segments--)
			window_ += 1;
		for (; segments; segments--)
			avoid(now_ns, rtt_ns);
	}

	/* A loss; in_flight: segments (RFC 9438 4.6, 4.7). */
	void lost(double in_flight)
	{
		begun_ = false;
		most_ = window_ < most_ ? window_ * (1 + BETA) / 2 : window_;
		before_ = window_;
		threshold_ = std::max(in_flight * BETA, 2.0);
		window_ = threshold_;
	}

	/* A time-out (4.8). */
	void timed_out(double in_flight)
	{
		lost(in_flight);
		window_ = 1;
	}

private:
	static constexpr double BETA = 0.7;
	static constexpr double C = 0.4;
	static constexpr double ALPHA = 3 * (1 - BETA) / (1 + BETA);

	double curve(double t) const { return C * std::pow(t - k_, 3) + most_; }

	void begin(uint64_t now_ns)
	{
		begun_ = true;
		begun_ns_ = now_ns;
		most_ = std::max(most_, window_);
		k_ = std::cbrt((most_ - window_) / C);
		friendly_ = window_;
	}

	/* Congestion avoidance, for one segment (4.2 to 4.5). */
	void avoid(uint64_t now_ns, uint64_t rtt_ns)
	{
		double t, target;

		if (!begun_)
			begin(now_ns);
		t = (double)(now_ns - begun_ns_) / 1e9;
		friendly_ += (friendly_ < before_ ? ALPHA : 1) / window_;
		if (curve(t) < friendly_) {
			window_ = std::max(window_, friendly_);
			return;
		}
		target = std::clamp(curve(t + (double)rtt_ns / 1e9), window_, 1.5 * window_);
		window_ += (target - window_) / window_;
	}

	double window_ = 10;
	double threshold_ = 1e9;
	double most_ = 0;     /* W_max */
	double before_ = 0;   /* cwnd_prior */
	double friendly_ = 0; /* W_est */
	double k_ = 0;
	uint64_t begun_ns_ = 0;
	bool begun_ = false;
};

} /* namespace netsim */

#endif
