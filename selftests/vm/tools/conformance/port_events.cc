// SPDX-License-Identifier: GPL-2.0
// Events of the port and its GIDs, which changes of the netdev provoke: group "PortEvent". Run it
// over a netdev that nobody else needs.
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conform.h"
#include "event.h"

namespace vt {
namespace {

constexpr double kSoon = 10;

// The netdev goes up or down; it is up when the case ends, and the port is active.
class Netdev {
public:
	explicit Netdev(Bed &bed)
		: bed_(bed), socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0))
	{
		require(socket_ >= 0, "socket: %m");
		bed.netdev.copy(request_.ifr_name, IFNAMSIZ - 1);
	}
	~Netdev()
	{
		if (down_) {
			set(true);
			expect_event(bed_.device, IBV_EVENT_PORT_ACTIVE, kSoon);
		}
		close(socket_);
	}
	Netdev(const Netdev &) = delete;
	Netdev &operator=(const Netdev &) = delete;

	void set(bool up)
	{
		EXPECT_EQ(ioctl(socket_, SIOCGIFFLAGS, &request_), 0);
		unsigned flags = static_cast<unsigned short>(request_.ifr_flags);
		flags = up ? flags | IFF_UP : flags & ~unsigned{IFF_UP};
		request_.ifr_flags = static_cast<short>(flags);
		EXPECT_EQ(ioctl(socket_, SIOCSIFFLAGS, &request_), 0);
		down_ = !up;
	}

private:
	Bed &bed_;
	int socket_;
	bool down_ = false;
	ifreq request_ = {};
};

ibv_port_state state_of(const Bed &bed)
{
	ibv_port_attr port = {};
	EXPECT_OK(ibv_query_port(bed.context, 1, &port));
	return port.state;
}

void must_run(const std::string &command)
{
	require(!system(command.c_str()), "'%s' failed", command.c_str());
}

CONFORM(PortEvent, PORT_ERR_when_the_netdev_goes_down)
{
	Netdev netdev(bed);
	netdev.set(false);
	expect_event(bed.device, IBV_EVENT_PORT_ERR, kSoon);
	EXPECT_EQ(state_of(bed), IBV_PORT_DOWN);
}

CONFORM(PortEvent, PORT_ACTIVE_when_it_comes_up)
{
	Netdev netdev(bed);
	netdev.set(false);
	expect_event(bed.device, IBV_EVENT_PORT_ERR, kSoon);
	netdev.set(true);
	expect_event(bed.device, IBV_EVENT_PORT_ACTIVE, kSoon);
	EXPECT_EQ(state_of(bed), IBV_PORT_ACTIVE);
}

CONFORM(PortEvent, names_the_port)
{
	Netdev netdev(bed);
	netdev.set(false);
	pollfd ready = {bed.context->async_fd, POLLIN, 0};
	ASSERT_EQ(poll(&ready, 1, static_cast<int>(kSoon * slow() * 1000)), 1);
	ibv_async_event event = {};
	ASSERT_EQ(ibv_get_async_event(bed.context, &event), 0);
	EXPECT_EQ(event.element.port_num, 1);
	ibv_ack_async_event(&event);
}

CONFORM(PortEvent, GID_CHANGE_when_an_address_comes_and_goes)
{
	bed.need_roce("its GID is made of the hardware address");
	const std::string address = " 10.99.1.1/32 dev " + bed.netdev;
	must_run("ip addr add" + address);
	expect_event(bed.device, IBV_EVENT_GID_CHANGE, kSoon);
	while (next_event(bed.device, 0.5 * slow()))
		continue;
	must_run("ip addr del" + address);
	expect_event(bed.device, IBV_EVENT_GID_CHANGE, kSoon);
}

// ib_core tells of GIDs of RoCE only.
CONFORM(PortEvent, iWARP_GID_is_that_of_a_new_hardware_address)
{
	constexpr uint8_t kAddress[] = {2, 0, 0, 0, 0x99, 1};
	if (!bed.device.is_iwarp())
		skip("only iWARP has it");
	must_run("ip link set " + bed.netdev + " address 02:00:00:00:99:01");
	ibv_gid gid = {};
	for (double until = now_s() + kSoon * slow();
	     memcmp(gid.raw, kAddress, sizeof(kAddress)) && now_s() < until; usleep(10000))
		EXPECT_OK(ibv_query_gid(bed.context, 1, 0, &gid));
	EXPECT_EQ(memcmp(gid.raw, kAddress, sizeof(kAddress)), 0);
}

} // namespace
} // namespace vt
