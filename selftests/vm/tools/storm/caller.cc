// SPDX-License-Identifier: GPL-2.0
// See caller.h.
#include "caller.h"

#include <cstring>
#include <unistd.h>

#include "pattern.h"

namespace vt {
namespace {

// It is one of many on a slow machine.
constexpr double kLimit = 30;

} // namespace

Caller::Caller(const std::string &host, const std::string &port)
	: cm_(kLimit), id_(cm_.resolve(host, port)), pd_(make_pd(id_->verbs)),
	  cq_(ibv_create_cq(id_->verbs, 8, nullptr, nullptr, 0))
{
	require(cq_ != nullptr, "ibv_create_cq: %m");
	echo_ = std::make_unique<Echo>(id_.get(), pd_.get(), cq_.get());
	cm_.connect(id_.get(), {});
}

void Caller::wait_message()
{
	double deadline = now_s() + kLimit * slow();
	for (;;) {
		ibv_wc wc;
		int n = ibv_poll_cq(cq_.get(), 1, &wc);
		require(n >= 0, "ibv_poll_cq failed");
		if (!n) {
			require(now_s() < deadline, "no answer");
			// Dozens of pollers on one CPU would leave no time for the others.
			usleep(500);
			continue;
		}
		require(wc.status == IBV_WC_SUCCESS, "completed with '%s'",
			ibv_wc_status_str(wc.status));
		if (wc.opcode != IBV_WC_RECV)
			continue;
		require(wc.byte_len == kEchoBytes, "an answer of %u bytes", wc.byte_len);
		return;
	}
}

void Caller::echo(uint64_t seed)
{
	pattern_fill(echo_->sent(), kEchoBytes, pattern_key(seed, 1, 0));
	echo_->send();
	wait_message();
	require(!memcmp(echo_->sent(), echo_->received(), kEchoBytes), "the answer is another");
	cm_.disconnect(id_.get());
	cm_.expect(RDMA_CM_EVENT_DISCONNECTED);
}

} // namespace vt
