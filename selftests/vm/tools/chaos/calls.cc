// SPDX-License-Identifier: GPL-2.0
// See calls.h.
#include "calls.h"

#include <algorithm>
#include <cstring>
#include <ifaddrs.h>
#include <memory>

#include "outcome.h"

namespace vt {
namespace {

constexpr size_t kMost = 12; // calls to begin
constexpr int kLimitMs = 10000;

struct AddressesFree {
	void operator()(ifaddrs *list) const { freeifaddrs(list); }
};

// rdma_cm needs an IP address.
sockaddr_in address_of(const std::string &netdev)
{
	ifaddrs *list = nullptr;
	require(!getifaddrs(&list), "getifaddrs: %m");
	std::unique_ptr<ifaddrs, AddressesFree> owner(list);
	for (const ifaddrs *one = list; one; one = one->ifa_next)
		if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET && netdev == one->ifa_name)
			return *reinterpret_cast<const sockaddr_in *>(one->ifa_addr);
	fail("netdev '%s' has no IPv4 address", netdev.c_str());
}

} // namespace

Calls::Calls(const std::string &netdev, uint64_t seed, Choose choose)
	: random_(seed), choose_(std::move(choose)), address_(address_of(netdev))
{
	listen();
}

void Calls::listen()
{
	sockaddr_in any_port = address_;
	any_port.sin_port = 0;
	listener_ = channel_.listen(reinterpret_cast<sockaddr *>(&any_port), 4);
	address_.sin_port = rdma_get_src_port(listener_.get());
}

bool Calls::begin()
{
	if (calls_.size() >= kMost)
		return true;
	CmId id = channel_.make_id();
	if (rdma_resolve_addr(id.get(), nullptr, reinterpret_cast<sockaddr *>(&address_), kLimitMs))
		return false;
	calls_.push_back({std::move(id), 0, false});
	return true;
}

// Whatever is at a random place, if anything: the fewer calls there are, the longer they live.
Calls::Call *Calls::pick()
{
	size_t i = below(kMost);
	return i < calls_.size() ? &calls_[i] : nullptr;
}

// Not a call that waits: that would block until the answer, which may have to be our own.
bool Calls::hang_up()
{
	Call *call = pick();
	return !call || call->waits || !rdma_disconnect(call->id.get());
}

void Calls::drop()
{
	Call *call = pick();
	// As hang_up(). Calls of killed processes end the same way.
	if (call && !call->waits)
		end(call->id.get());
}

Calls::Call *Calls::find(const rdma_cm_id *id)
{
	auto found = std::find_if(calls_.begin(), calls_.end(),
				  [id](const Call &call) { return call.id.get() == id; });
	return found == calls_.end() ? nullptr : &*found;
}

void Calls::end(const rdma_cm_id *id)
{
	std::erase_if(calls_, [id](const Call &call) { return call.id.get() == id; });
}

// An incoming request: accepted, rejected, or not answered.
void Calls::answer(CmId id)
{
	uint32_t qpn = choose_();
	rdma_conn_param param = CmOffer{.depth = 4, .qpn = qpn}.param();
	switch (below(8)) {
	case 0:
		rdma_reject(id.get(), nullptr, 0);
		return;
	case 1:
		return;
	default:
		if (!rdma_accept(id.get(), &param))
			calls_.push_back({std::move(id), qpn, true});
	}
}

// False: the call has ended.
bool Calls::go_on(Call *call, rdma_cm_event_type type)
{
	rdma_conn_param param = {};
	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return !rdma_resolve_route(call->id.get(), kLimitMs);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		call->qpn = choose_();
		param = CmOffer{.depth = 4, .qpn = call->qpn}.param();
		call->waits = !rdma_connect(call->id.get(), &param);
		return call->waits;
	case RDMA_CM_EVENT_ESTABLISHED:
		call->waits = false;
		return true;
	default:
		return false;
	}
}

std::vector<uint32_t> Calls::take_events()
{
	std::vector<uint32_t> connected;
	while (std::optional<CmEvent> event = channel_.next(0)) {
		if (event->request) {
			answer(std::move(event->request));
			continue;
		}
		Call *call = find(event->id);
		if (call && event->type == RDMA_CM_EVENT_ESTABLISHED)
			connected.push_back(call->qpn);
		if (call && !go_on(call, event->type))
			end(event->id);
	}
	return connected;
}

} // namespace vt
