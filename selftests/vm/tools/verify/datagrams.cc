// SPDX-License-Identifier: GPL-2.0
// What a datagram shows of its sender, so that it can be answered, and datagrams to a group.
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>

#include "post.h"
#include "transfer.h"

namespace vt {
namespace {

constexpr uint32_t kGrhBytes = 40, kBytes = 100;
constexpr uint32_t kMulticastQpn = 0xffffff;

// A UD link with a posted receive, which begins with the 40 bytes.
struct UdBench {
	explicit UdBench(Env &e, uint32_t create_flags = 0)
		: env(e), pd(make_pd(e.device.context())), cq(e.device, {}), arena(pd.get(), 4096),
		  link(e.device, pd.get(), cq.get(), cq.get(), options(create_flags))
	{
		link.connect(env.control);
		post_recv(link, 1, {arena.sge(0, kGrhBytes + kBytes)});
		env.control.sync();
	}

	static LinkOptions options(uint32_t create_flags)
	{
		LinkOptions o;
		o.type = IBV_QPT_UD;
		o.create_flags = create_flags;
		return o;
	}

	void send(ibv_ah *ah, uint32_t qpn, char fill)
	{
		constexpr uint64_t kAt = 2048;
		memset(arena.at(kAt), fill, kBytes);
		ibv_sge sge = arena.sge(kAt, kBytes);
		ibv_send_wr wr = {}, *bad = nullptr;
		wr.wr_id = 2;
		wr.opcode = IBV_WR_SEND;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.wr.ud = {ah, qpn, link.options().qkey};
		int error = ibv_post_send(link.qp(), &wr, &bad);
		require(!error, "ibv_post_send: %s", strerror(error));
	}

	// A completion with all that ibv_wc has.
	ibv_wc next()
	{
		ibv_wc wc = {};
		double deadline = now_s() + env.limit_s;
		while (!ibv_poll_cq(cq.get(), 1, &wc))
			require(now_s() < deadline, "no completion");
		require(wc.status == IBV_WC_SUCCESS, "%s: %s",
			wc.opcode & IBV_WC_RECV ? "receive" : "send", ibv_wc_status_str(wc.status));
		return wc;
	}

	// Waits for a completion of a send, and for one of a receive.
	ibv_wc send_and_receive()
	{
		ibv_wc first = next(), second = next();
		require((first.opcode ^ second.opcode) & IBV_WC_RECV, "two of one kind");
		return first.opcode & IBV_WC_RECV ? first : second;
	}

	void require_data(const ibv_wc &wc, char fill) const
	{
		require(wc.byte_len == kGrhBytes + kBytes, "%u bytes", wc.byte_len);
		for (uint32_t i = 0; i < kBytes; i++)
			require(*arena.at(kGrhBytes + i) == fill, "byte %u is wrong", i);
	}

	Env &env;
	Pd pd;
	Cq cq;
	Arena arena;
	Link link;
};

// By the completion and the 40 bytes alone.
void answer(Env &env)
{
	UdBench bench(env);
	if (env.client) {
		bench.send(bench.link.ah(), bench.link.peer().qpn, 'q');
		bench.require_data(bench.send_and_receive(), 'a');
		return;
	}
	ibv_wc wc = bench.next();
	bench.require_data(wc, 'q');
	require(wc.wc_flags & IBV_WC_GRH, "the completion says that there are no 40 bytes");
	Ah back(ibv_create_ah_from_wc(bench.pd.get(), &wc,
				      reinterpret_cast<ibv_grh *>(bench.arena.at(0)), 1));
	require(back != nullptr, "ibv_create_ah_from_wc: %m");
	bench.send(back.get(), wc.src_qp, 'a');
	bench.next();
}

// As rdma_cm makes it: RoCEv1 has no groups in the form of IPv4-mapped addresses.
ibv_gid group_for(const Device &device)
{
	const char *group = "ff15::77:9";
	if (!memcmp(device.gid().raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12))
		group = device.is_roce_v1() ? "ff0e::ffff:239.77.0.9" : "::ffff:239.77.0.9";
	ibv_gid gid;
	require(inet_pton(AF_INET6, group, gid.raw) == 1, "%s is no address", group);
	return gid;
}

Ah way_to_group(const UdBench &bench, const ibv_gid &gid)
{
	ibv_ah_attr way = {};
	way.is_global = 1;
	way.port_num = 1;
	way.grh.dgid = gid;
	way.grh.sgid_index = static_cast<uint8_t>(bench.env.device.gid_index());
	way.grh.hop_limit = 1;
	Ah to_group(ibv_create_ah(bench.pd.get(), &way));
	require(to_group != nullptr, "ibv_create_ah: %m");
	return to_group;
}

// Both ends are members. A sender gets a copy of what it sends, as the kernel's IP does.
void group(Env &env)
{
	UdBench bench(env);
	ibv_gid gid = group_for(env.device);
	int error = ibv_attach_mcast(bench.link.qp(), &gid, 0);
	require(!error, "ibv_attach_mcast: %s", strerror(error));
	Ah to_group = way_to_group(bench, gid);
	env.control.sync();

	if (env.client)
		bench.send(to_group.get(), kMulticastQpn, 'g');
	bench.require_data(env.client ? bench.send_and_receive() : bench.next(), 'g');
	env.control.sync();
	error = ibv_detach_mcast(bench.link.qp(), &gid, 0);
	require(!error, "ibv_detach_mcast: %s", strerror(error));
	env.control.sync();

	post_recv(bench.link, 1, {bench.arena.sge(0, kGrhBytes + kBytes)});
	env.control.sync();
	if (env.client) {
		bench.send(to_group.get(), kMulticastQpn, 'h');
		bench.next();
	}
	bench.cq.expect_none(0.2);
}

struct Member {
	Member(UdBench *b, const ibv_gid &g) : bench(b), gid(g)
	{
		int error = ibv_attach_mcast(bench->link.qp(), &gid, 0);
		require(!error, "ibv_attach_mcast: %s", strerror(error));
	}
	~Member() { ibv_detach_mcast(bench->link.qp(), &gid, 0); }
	UdBench *bench;
	ibv_gid gid;
};

// A QP that is created so gets what others send to its group, and nothing of its own.
void group_without_oneself(Env &env)
{
	UdBench quiet(env, IBV_QP_CREATE_BLOCK_SELF_MCAST_LB), other(env);
	ibv_gid gid = group_for(env.device);
	Member member(&quiet, gid), member_too(&other, gid);
	Ah to_group = way_to_group(quiet, gid), to_group_too = way_to_group(other, gid);
	env.control.sync();

	if (env.client) {
		quiet.send(to_group.get(), kMulticastQpn, 'q');
		quiet.next();
		quiet.cq.expect_none(0.2);
	} else {
		quiet.require_data(quiet.next(), 'q');
	}
	other.require_data(other.next(), 'q');
	env.control.sync();

	post_recv(other.link, 1, {other.arena.sge(0, kGrhBytes + kBytes)});
	if (!env.client)
		post_recv(quiet.link, 1, {quiet.arena.sge(0, kGrhBytes + kBytes)});
	env.control.sync();
	if (env.client)
		other.send(to_group_too.get(), kMulticastQpn, 'o');
	other.require_data(env.client ? other.send_and_receive() : other.next(), 'o');
	quiet.require_data(quiet.next(), 'o');
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"ud/answer", answer});
	list.push_back({"ud/group", group});
	list.push_back({"ud/group-without-oneself", group_without_oneself});
});

} // namespace
} // namespace vt
