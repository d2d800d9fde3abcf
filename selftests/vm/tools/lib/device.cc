// SPDX-License-Identifier: GPL-2.0
// See device.h.
#include "device.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <net/if.h>
#include <unistd.h>
#include <vector>

#include "outcome.h"

namespace vt {
namespace {

bool is_mapped_v4(const ibv_gid &gid)
{
	static const uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	return !memcmp(gid.raw, prefix, sizeof(prefix));
}

bool is_link_local(const ibv_gid &gid)
{
	return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80;
}

bool is_wanted(const ibv_gid_entry &entry, const DeviceChoice &choice)
{
	if (choice.gid_index >= 0)
		return static_cast<int>(entry.gid_index) == choice.gid_index;
	uint32_t type = choice.roce == 1 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
	return entry.gid_type == type && is_mapped_v4(entry.gid) == (choice.family == 4);
}

std::vector<ibv_gid_entry> gid_table(ibv_context *context)
{
	std::vector<ibv_gid_entry> table(1024);
	ssize_t n = ibv_query_gid_table(context, table.data(), table.size(), 0);
	table.resize(n < 0 ? 0 : static_cast<size_t>(n));
	return table;
}

} // namespace

// The GID of an iWARP device is its netdev's MAC.
bool Device::is_on(const std::string &netdev) const
{
	std::ifstream file("/sys/class/net/" + netdev + "/address");
	unsigned mac[6];
	char line[32] = "";
	file.getline(line, sizeof(line));
	if (sscanf(line, "%x:%x:%x:%x:%x:%x", &mac[0], &mac[1], &mac[2], &mac[3], &mac[4],
		   &mac[5]) != 6)
		return false;
	return std::equal(mac, mac + 6, gid_.gid.raw);
}

bool Device::find_gid(const DeviceChoice &choice)
{
	if (is_iwarp()) {
		return !ibv_query_gid(context_, 1, 0, &gid_.gid) &&
		       (choice.netdev.empty() || is_on(choice.netdev));
	}
	unsigned wanted = choice.netdev.empty() ? 0 : if_nametoindex(choice.netdev.c_str());
	if (!choice.netdev.empty() && !wanted)
		return false;
	bool found = false;
	for (const ibv_gid_entry &entry : gid_table(context_)) {
		if ((wanted && entry.ndev_ifindex != wanted) || !is_wanted(entry, choice))
			continue;
		bool spare = choice.gid_index < 0 && is_link_local(entry.gid);
		if (!spare || !found)
			gid_ = entry;
		found = true;
		if (!spare)
			break;
	}
	return found;
}

Device::Device(const DeviceChoice &choice)
{
	double deadline = now_s() + 5 * slow();
	bool usable = false;
	while (!usable) {
		int count = 0;
		ibv_device **list = ibv_get_device_list(&count);
		for (int i = 0; i < count && !usable; i++) {
			if (!choice.device.empty() && choice.device != ibv_get_device_name(list[i]))
				continue;
			context_ = ibv_open_device(list[i]);
			usable = context_ && find_gid(choice);
			if (!usable && context_) {
				ibv_close_device(context_);
				context_ = nullptr;
			}
		}
		if (list)
			ibv_free_device_list(list);
		if (!usable && now_s() > deadline)
			fail("no RDMA device '%s' on netdev '%s' with an IPv%d RoCEv%d GID (%d "
			     "devices)",
			     choice.device.c_str(), choice.netdev.c_str(), choice.family,
			     choice.roce, count);
		if (!usable)
			usleep(100000);
	}
	int error = ibv_query_device_ex(context_, nullptr, &attr_);
	if (!error)
		error = ibv_query_port(context_, 1, &port_);
	require(!error, "query device and port: %s", strerror(error));
}

Device::~Device()
{
	if (context_ && ibv_close_device(context_))
		note_teardown_failure("ibv_close_device", errno);
}

} // namespace vt
