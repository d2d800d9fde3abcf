// SPDX-License-Identifier: GPL-2.0
// Creating QPs: which operations and flags each type of QP has over each transport. What cannot be
// executed is refused at once.
#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "bench.h"
#include "placement.h"
#include "xrc.h"

namespace vt {
namespace {

constexpr uint64_t kAtomics =
	IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
constexpr uint64_t kWindows = IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;
constexpr uint64_t kWrites = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
constexpr uint64_t kSends = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
constexpr uint64_t kReliable = kWrites | kSends | IBV_QP_EX_WITH_SEND_WITH_INV |
			       IBV_QP_EX_WITH_RDMA_READ | kAtomics | kWindows;

struct Type {
	ibv_qp_type type;
	const char *name;
	uint64_t roce, iwarp; // the operations
};

// IBTA 10.8.3.2; RFC 5040 and 7306 have no Send with immediate data.
const Type kTypes[] = {
	{IBV_QPT_RC, "RC", kReliable | kWithFlush | kWithAtomicWrite,
	 kReliable & ~uint64_t{IBV_QP_EX_WITH_SEND_WITH_IMM}},
	{IBV_QPT_UC, "UC", kWrites | kSends | kWindows, 0},
	{IBV_QPT_UD, "UD", kSends, 0},
	{IBV_QPT_XRC_SEND, "XRC_SEND", kReliable, 0},
	{IBV_QPT_XRC_RECV, "XRC_RECV", 0, 0},
	{IBV_QPT_RAW_PACKET, "RAW_PACKET", 0, 0},
	{IBV_QPT_DRIVER, "DRIVER", 0, 0},
};

struct Maker {
	explicit Maker(Env &e)
		: env(e), pd(make_pd(e.device.context())), cq(e.device, {}),
		  domain(try_open_domain(e.device.context(), -1, O_CREAT))
	{}

	// 0 or errno.
	int make(ibv_qp_type type, uint64_t ops, uint32_t flags) const
	{
		ibv_qp_init_attr_ex attr = {};
		attr.send_cq = attr.recv_cq = cq.get();
		attr.cap = {4, 4, 1, 1, 0};
		attr.qp_type = type;
		attr.comp_mask = IBV_QP_INIT_ATTR_PD;
		attr.pd = pd.get();
		if (type == IBV_QPT_XRC_RECV) {
			attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
			attr.xrcd = domain.get();
		}
		if (ops) {
			attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
			attr.send_ops_flags = ops;
		}
		if (flags) {
			attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
			attr.create_flags = flags;
		}
		QpOwner qp(ibv_create_qp_ex(env.device.context(), &attr));
		return qp ? 0 : errno;
	}

	Env &env;
	Pd pd;
	Cq cq;
	Xrcd domain;
};

// Each operation, and bits that mean nothing yet.
void operations(Env &env)
{
	need_tern(env, "a check of send_ops_flags");
	Maker maker(env);
	std::string wrong;
	// Which of the newer ones are there depends on the kernel and on libibverbs.
	uint64_t newer = kWithFlush | kWithAtomicWrite, here = placement_ops(env.device);
	for (const Type &type : kTypes) {
		uint64_t can = env.device.is_iwarp() ? type.iwarp : type.roce;
		can &= ~newer | here;
		for (int bit = 0; bit < 40; bit++) {
			uint64_t op = 1ull << bit;
			int error = maker.make(type.type, op, 0);
			if (error != (can & op ? 0 : EOPNOTSUPP))
				wrong += std::string(" ") + type.name + " with bit " +
					 std::to_string(bit) + ": " + strerror(error) + ";";
		}
		// All of them at once, and one too many.
		if (can && (maker.make(type.type, can, 0) ||
			    maker.make(type.type, can | IBV_QP_EX_WITH_TSO, 0) != EOPNOTSUPP))
			wrong += std::string(" ") + type.name + " with all;";
	}
	require(wrong.empty(), "%s", wrong.c_str());
	env.control.sync();
}

// A UD QP may leave out its own multicast. There is no other flag.
void flags(Env &env)
{
	need_tern(env, "a check of create_flags");
	Maker maker(env);
	std::string wrong;
	for (const Type &type : kTypes) {
		uint64_t can = env.device.is_iwarp() ? type.iwarp : type.roce;
		for (int bit = 0; bit < 32; bit++) {
			uint32_t flag = 1u << bit;
			int error = maker.make(type.type, 0, flag), want = EOPNOTSUPP;
			if (flag == IBV_QP_CREATE_BLOCK_SELF_MCAST_LB &&
			    (can || (type.type == IBV_QPT_XRC_RECV && !env.device.is_iwarp())))
				want = type.type == IBV_QPT_UD ? 0 : EINVAL;
			if (error != want)
				wrong += std::string(" ") + type.name + " with bit " +
					 std::to_string(bit) + ": " + strerror(error) + ";";
		}
	}
	require(wrong.empty(), "%s", wrong.c_str());
	env.control.sync();
}

// A device without options for enhanced connection establishment: asking is no error, setting a
// vendor's is one that librdmacm passes by.
void ece(Env &env)
{
	need_tern(env, "ECE");
	Bench b(env, {}, 4096); // over iWARP, by librdmacm
	ibv_ece options;
	memset(&options, 0xff, sizeof(options));
	int error = ibv_query_ece(b.link.qp(), &options);
	require(!error && !options.vendor_id && !options.options && !options.comp_mask,
		"ibv_query_ece: %s, vendor %#x", strerror(error), options.vendor_id);
	options = {0x2c9, 1, 0};
	error = ibv_set_ece(b.link.qp(), &options);
	require(error == EOPNOTSUPP && errno == error, "ibv_set_ece: %s", strerror(error));
	b.run({});
}

Register cases([](Cases &list) {
	list.push_back({"create/operations", operations});
	list.push_back({"create/flags", flags});
	list.push_back({"create/ece", ece});
});

} // namespace
} // namespace vt
