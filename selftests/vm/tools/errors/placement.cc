// SPDX-License-Identifier: GPL-2.0
// FLUSH and ATOMIC WRITE (IBTA annex A19) that fail: keys, rights, bounds, alignment, arguments,
// QPs that have no such operations, regions that cannot grant them.
#include <cerrno>
#include <cstring>

#include "bench.h"

namespace vt {
namespace {

constexpr int kFlushable = kAllAccess | kAccessFlushGlobal;

void need_atomic_write(Env &env)
{
	env.both_need(placement_ops(env.device) & kWithAtomicWrite, "ATOMIC WRITE");
}

void need_flush(Env &env)
{
	env.both_need(can_flush(env.device, env.client), "FLUSH is not on this machine");
}

LinkOptions with_placement(int access = kAllAccess)
{
	LinkOptions options = impatient();
	options.modern = options.placement = true;
	options.access = access;
	return options;
}

// One request on a new pair, at an offset into a region with these rights.
struct Attempt {
	int64_t offset = 0;
	ibv_wc_status status = IBV_WC_REM_ACCESS_ERR;
	uint32_t key_xor = 0;
	int access = kFlushable;
	int qp_access = kAllAccess;
	int qp_flush = kAccessFlush; // of a FLUSH: besides qp_access
	FlushArgs flush = {.bytes = 64};
};

void try_one(Env &env, ibv_wr_opcode opcode, const Attempt &a)
{
	int more = opcode == kWrFlush ? a.qp_flush : 0;
	ErrorBench b(env, with_placement(a.qp_access | more), a.access);
	Work w = b.to_target(opcode, 1, 8);
	w.remote_va += static_cast<uint64_t>(a.offset);
	w.rkey ^= a.key_xor;
	w.flush = a.flush;
	b.fails(w, a.status);
}

void atomic_write_refused(Env &env)
{
	need_atomic_write(env);
	const int plain = kAllAccess;
	const Attempt attempts[] = {
		{.key_xor = 0x5500, .access = plain},
		{.key_xor = 1, .access = plain},
		{.offset = kTargetBytes, .access = plain},
		{.offset = -8, .access = plain},
		{.access = plain & ~IBV_ACCESS_REMOTE_WRITE},
		{.status = IBV_WC_REM_INV_REQ_ERR,
		 .access = plain,
		 .qp_access = plain & ~IBV_ACCESS_REMOTE_WRITE},
		{.offset = 1, .status = IBV_WC_REM_INV_REQ_ERR, .access = plain},
		{.offset = 4, .status = IBV_WC_REM_INV_REQ_ERR, .access = plain},
		{.offset = kTargetBytes - 4, .status = IBV_WC_REM_INV_REQ_ERR, .access = plain},
	};
	for (const Attempt &attempt : attempts)
		try_one(env, kWrAtomicWrite, attempt);
}

// The last 8 bytes of a region, and nothing beside them.
void atomic_write_at_the_end(Env &env)
{
	need_atomic_write(env);
	ErrorBench b(env, with_placement());
	const uint64_t value = 0x1122334455667788;
	memcpy(b.bench.arena.at(0), &value, sizeof(value));
	Work w = b.to_target(kWrAtomicWrite, 1, 8);
	w.remote_va += kTargetBytes - 8;
	if (env.client) {
		post(b.bench.link, w);
		b.bench.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
	}
	env.control.sync();
	if (!env.client)
		require(!memcmp(b.target.at(kTargetBytes - 8), &value, sizeof(value)) &&
				b.target.check_canary(0, kTargetBytes - 8) == kTargetBytes - 8,
			"the word or its neighbours are wrong");
	env.control.sync();
}

void flush_refused(Env &env)
{
	need_flush(env);
	const FlushArgs all = {.bytes = kTargetBytes}, more = {.bytes = kTargetBytes + 1};
	const FlushArgs persistent = {.bytes = 64, .placement = kPersistent};
	const FlushArgs both = {.bytes = 64, .placement = kGlobal | kPersistent};
	const FlushArgs region = {.bytes = 64, .selectivity = kRegion};
	const Attempt attempts[] = {
		{.status = IBV_WC_SUCCESS, .flush = all},
		{.flush = more},
		{.offset = 1, .flush = all},
		{.offset = -1},
		{.key_xor = 0x5500},
		{.key_xor = 1},
		{.access = kAllAccess},
		{.flush = persistent},
		{.flush = both},
		// The region's own range counts, and its key.
		{.offset = -1, .status = IBV_WC_SUCCESS, .flush = region},
		{.key_xor = 0x5500, .flush = region},
		{.access = kAllAccess, .flush = region},
		// The QP needs the right too, and no other.
		{.status = IBV_WC_SUCCESS, .qp_access = 0},
		{.status = IBV_WC_SUCCESS, .qp_flush = kAccessFlushGlobal},
		{.status = IBV_WC_REM_INV_REQ_ERR, .qp_flush = 0},
		{.status = IBV_WC_REM_INV_REQ_ERR, .qp_flush = kAccessFlushPersistent},
		{.status = IBV_WC_REM_INV_REQ_ERR, .qp_flush = kAccessFlushGlobal, .flush = both},
		{.status = IBV_WC_REM_INV_REQ_ERR, .qp_flush = 0, .flush = region},
	};
	for (const Attempt &attempt : attempts)
		try_one(env, kWrFlush, attempt);
}

// What ibv_wr_complete() refuses, or the device when it takes the request.
void flush_malformed(Env &env)
{
	need_flush(env);
	const FlushArgs rows[] = {
		{.bytes = (1u << 31) + 1u},
		{.bytes = 64, .placement = 0},
		{.bytes = 64, .placement = 4},
		{.bytes = 64, .selectivity = 2},
	};
	need_tern(env, "a provider that checks FLUSHes");
	for (const FlushArgs &row : rows) {
		ErrorBench b(env, with_placement(), kFlushable);
		Work w = b.to_target(kWrFlush);
		w.flush = row;
		if (env.client) {
			int error = try_post(b.bench.link, w);
			require(!error || error == EINVAL, "posting: %s", strerror(error));
			if (!error)
				b.bench.cq.expect(IBV_WC_LOC_QP_OP_ERR, 1, env.limit_s);
		}
		env.control.sync();
	}
}

void unanswered(Env &env, ibv_wr_opcode opcode)
{
	ErrorBench b(env, with_placement(), opcode == kWrFlush ? kFlushable : kAllAccess);
	if (!env.client)
		b.bench.link.destroy();
	env.control.sync();
	b.fails(b.to_target(opcode, 1, 8), IBV_WC_RETRY_EXC_ERR);
}

// Of a QP that is gone.
void peer_gone(Env &env)
{
	need_atomic_write(env);
	unanswered(env, kWrAtomicWrite);
	need_flush(env);
	unanswered(env, kWrFlush);
}

// No more than max_rd_atomic allows may be begun: with none they fail.
void no_rd_atomic(Env &env)
{
	need_atomic_write(env);
	need_tern(env, "max_rd_atomic 0");
	LinkOptions options = with_placement();
	options.rd_atomic = 0;
	ErrorBench b(env, options);
	b.fails(b.to_target(kWrAtomicWrite, 1, 8), IBV_WC_LOC_QP_OP_ERR);
}

int create_with(const Device &device, ibv_pd *pd, ibv_cq *cq, ibv_qp_type type, uint64_t ops)
{
	ibv_qp_init_attr_ex attr = {};
	attr.send_cq = attr.recv_cq = cq;
	attr.cap = {4, 4, 1, 1, 0};
	attr.qp_type = type;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.pd = pd;
	attr.send_ops_flags = ops;
	QpOwner qp(ibv_create_qp_ex(device.context(), &attr));
	return qp ? 0 : errno;
}

void reliable_only(Env &env)
{
	need_tern(env, "a check of send_ops_flags");
	Pd pd = make_pd(env.device.context());
	Cq cq(env.device, {});
	const bool reliable_too = env.device.is_iwarp();
	for (uint64_t ops : {kWithAtomicWrite, kWithFlush})
		for (ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
			if (type == IBV_QPT_RC && !reliable_too)
				continue;
			int error = create_with(env.device, pd.get(), cq.get(), type, ops);
			require(error == EOPNOTSUPP, "QP type %d with operations %#llx: %s", type,
				static_cast<unsigned long long>(ops), strerror(error));
		}
	env.control.sync();
}

int register_with(ibv_pd *pd, const Buffer &memory, int access)
{
	Mr mr(ibv_reg_mr(pd, memory.data(), memory.size(), static_cast<unsigned>(access)));
	return mr ? 0 : errno;
}

// FLUSH_PERSISTENT is for persistent memory, and what a device does not have is refused.
void region_rights(Env &env)
{
	need_tern(env, "a check of FLUSH rights");
	Pd pd = make_pd(env.device.context());
	Buffer memory(8192);
	bool global = has_cap(env.device, kCapFlushGlobal);
	bool persistent = has_cap(env.device, kCapFlushPersistent);
	require(!(env.device.is_iwarp() && (global || persistent)), "an RNIC that flushes");
	int error = register_with(pd.get(), memory, kFlushable);
	require(global ? !error : error == EOPNOTSUPP || error == EINVAL, "FLUSH_GLOBAL: %s",
		strerror(error));
	error = register_with(pd.get(), memory, kAllAccess | kAccessFlushPersistent);
	require(error == EINVAL || (!persistent && error == EOPNOTSUPP),
		"FLUSH_PERSISTENT of ordinary memory: %s", strerror(error));
	if (global) {
		Mr mr(ibv_reg_mr(pd.get(), memory.data(), memory.size(), kAllAccess));
		require(mr != nullptr, "ibv_reg_mr: %m");
		error = ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
				     kAllAccess | kAccessFlushPersistent);
		require(error, "FLUSH_PERSISTENT was added to ordinary memory");
		error = ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
				     kFlushable);
		require(!error, "FLUSH_GLOBAL cannot be added: %d", error);
	}
	env.control.sync();
}

// A QP has rights to FLUSH if its device has FLUSH, and then both.
void qp_rights(Env &env)
{
	need_tern(env, "a check of FLUSH rights");
	Pd pd = make_pd(env.device.context());
	Cq cq(env.device, {});
	bool flushes = has_cap(env.device, kCapFlushGlobal | kCapFlushPersistent);
	for (int right : {kAccessFlushGlobal, kAccessFlushPersistent, kAccessFlush}) {
		Link link(env.device, pd.get(), cq.get(), cq.get(), {});
		link.to_init();
		ibv_qp_attr attr = {};
		attr.qp_access_flags = static_cast<unsigned>(kAllAccess | right);
		int error = link.modify(&attr, IBV_QP_ACCESS_FLAGS);
		require(error == (flushes ? 0 : EINVAL), "rights %#x: %s", right, strerror(error));
		if (env.device.is_iwarp())
			continue; // a query shows what is granted by keys
		int want = kAllAccess | (flushes ? right : 0);
		ibv_qp_init_attr init = {};
		error = ibv_query_qp(link.qp(), &attr, IBV_QP_ACCESS_FLAGS, &init);
		require(!error && attr.qp_access_flags == static_cast<unsigned>(want),
			"the QP has rights %#x, not %#x", attr.qp_access_flags, want);
	}
	env.control.sync();
}

// A window grants no FLUSH, whatever its region does.
void flush_through_window(Env &env)
{
	need_flush(env);
	env.both_need(env.device.can(IBV_DEVICE_MEM_WINDOW), "memory windows");
	Pd pd = make_pd(env.device.context());
	ErrorBench b(env, with_placement(kAllAccess | kAccessFlush),
		     kFlushable | IBV_ACCESS_MW_BIND);
	Mw mw(ibv_alloc_mw(b.bench.pd.get(), IBV_MW_TYPE_1));
	require(mw != nullptr, "ibv_alloc_mw: %m");
	if (!env.client) {
		ibv_mw_bind bind = {};
		bind.wr_id = 9;
		bind.send_flags = IBV_SEND_SIGNALED;
		bind.bind_info = {b.target.mr(), b.target.va(0), kTargetBytes,
				  IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
		int error = ibv_bind_mw(b.bench.link.qp(), mw.get(), &bind);
		require(!error, "ibv_bind_mw: %s", strerror(error));
		b.bench.cq.expect(IBV_WC_SUCCESS, 9, env.limit_s);
	}
	uint32_t rkey = env.control.exchange(mw->rkey);
	Work w = b.to_target(kWrFlush);
	w.rkey = rkey;
	w.flush.bytes = 64;
	b.fails(w, IBV_WC_REM_ACCESS_ERR);
}

Register cases([](Cases &list) {
	list.push_back({"placement/atomic-write-refused", atomic_write_refused});
	list.push_back({"placement/atomic-write-at-the-end", atomic_write_at_the_end});
	list.push_back({"placement/flush-refused", flush_refused});
	list.push_back({"placement/flush-malformed", flush_malformed});
	list.push_back({"placement/flush-through-window", flush_through_window});
	list.push_back({"placement/peer-gone", peer_gone});
	list.push_back({"placement/no-rd-atomic", no_rd_atomic});
	list.push_back({"placement/reliable-only", reliable_only});
	list.push_back({"placement/region-rights", region_rights});
	list.push_back({"placement/qp-rights", qp_rights});
});

} // namespace
} // namespace vt
