// SPDX-License-Identifier: GPL-2.0
// dma-bufs as regions: where they begin and end, what is refused, and what happens when their
// exporter takes the memory back. memory.cc moves data through them with every opcode.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

#include "pattern.h"
#include "post.h"
#include "transfer.h"

namespace vt {
namespace {

constexpr size_t kBytes = 16384;
constexpr uint64_t kIova = 0x7700000000;

// Both ends have the exporter, and a device that takes its dma-bufs.
void need_dma_bufs(Env &env)
{
	Pd pd = make_pd(env.device.context());
	bool able = true;
	std::string why;
	try {
		DmaBuf dma_buf = DmaBuf::exported(kBytes);
		Mr mr = reg_dma_buf(pd.get(), dma_buf, 0, kBytes, 0);
		if (!mr)
			refuse("ibv_reg_dmabuf_mr", errno);
	} catch (const Skip &reason) {
		able = false;
		why = reason.what();
	}
	env.both_need(able, why.empty() ? "dma-bufs" : why.c_str());
}

Work to(const Bench &bench, ibv_wr_opcode opcode, uint64_t id, const Remote &there, uint64_t offset,
	uint32_t bytes)
{
	Work w{.opcode = opcode, .id = id, .sges = {bench.arena.sge(0, bytes)}};
	w.remote_va = there.va + offset;
	w.rkey = there.rkey;
	return w;
}

// A region in the middle of a dma-buf, at an address of its own: it begins and ends at its bytes.
void place(Env &env)
{
	constexpr size_t kFrom = 4096 + 100, kLength = 5000;
	need_dma_bufs(env);
	Bench bench(env, {}, 65536);
	DmaBuf dma_buf = DmaBuf::exported(kBytes);
	Buffer whole(kBytes, dma_buf);
	Mr mr = reg_dma_buf(bench.pd.get(), dma_buf, kFrom, kLength, kIova + 100);
	require(mr != nullptr, "ibv_reg_dmabuf_mr: %m");
	require(mr->length == kLength, "its length is %zu", mr->length);
	pattern_fill(whole.data(), kBytes, 1);
	pattern_fill(bench.arena.at(0), kLength, 2);
	Remote there = env.control.exchange(Remote{kIova + 100, kLength, mr->rkey, 0});
	if (env.client) {
		post(bench.link, to(bench, IBV_WR_RDMA_WRITE, 1, there, 0, kLength));
		expect_write(env, bench.link, bench.cq, 1, IBV_WC_SUCCESS);
		memset(bench.arena.at(0), 0, kLength);
		post(bench.link, to(bench, IBV_WR_RDMA_READ, 2, there, 0, kLength));
		bench.cq.expect(IBV_WC_SUCCESS, 2, env.limit_s);
		require(pattern_check(bench.arena.at(0), kLength, 2) == kLength,
			"what was read back is wrong");
		post(bench.link, to(bench, IBV_WR_RDMA_WRITE, 3, there, 1, kLength));
		expect_write(env, bench.link, bench.cq, 3, IBV_WC_REM_ACCESS_ERR);
	}
	env.control.sync();
	if (!env.client)
		require(pattern_check(whole.data(), kFrom, 1) == kFrom &&
				pattern_check(whole.data() + kFrom, kLength, 2) == kLength &&
				pattern_check(whole.data() + kFrom + kLength,
					      kBytes - kFrom - kLength, 1,
					      kFrom + kLength) == kBytes - kFrom - kLength,
			"the target or its neighbours are wrong");
	mr.reset();
	dma_buf.require_unused();
	env.control.sync();
}

// What cannot be registered, and the errno.
class Refusals {
public:
	explicit Refusals(Env &env) : pd_(make_pd(env.device.context())) {}

	void expect(int want, const char *what, const DmaBuf &dma_buf, uint64_t offset,
		    size_t bytes, uint64_t iova, int access = kAllAccess)
	{
		errno = 0;
		Mr mr = reg_dma_buf(pd_.get(), dma_buf, offset, bytes, iova, access);
		require(!mr, "%s was accepted", what);
		require(errno == want, "%s: %m, not '%s'", what, strerror(want));
		dma_buf.require_unused();
	}
	// A whole dma-buf of the exporter with these flags.
	void expect(int want, const char *what, uint32_t flags, int access = kAllAccess)
	{
		expect(want, what, DmaBuf::exported(kBytes, flags), 0, kBytes, kIova, access);
	}
	void expect_fd(int want, const char *what, int fd)
	{
		errno = 0;
		Mr mr(ibv_reg_dmabuf_mr(pd_.get(), 0, kBytes, kIova, fd, kAllAccess));
		require(!mr && errno == want, "%s: %s", what, mr ? "accepted" : strerror(errno));
	}
	ibv_pd *pd() const { return pd_.get(); }

private:
	Pd pd_;
};

void refused(Env &env)
{
	need_dma_bufs(env);
	Refusals r(env);
	DmaBuf whole = DmaBuf::exported(kBytes);
	constexpr uint64_t kLastPage = UINT64_MAX - 4095;

	r.expect(EINVAL, "no bytes", whole, 0, 0, kIova);
	r.expect(EINVAL, "a byte too many", whole, 0, kBytes + 1, kIova);
	r.expect(EINVAL, "a byte too far", whole, 1, kBytes, kIova + 1);
	r.expect(EINVAL, "a place behind the end", whole, kBytes, 1, kIova);
	r.expect(EINVAL, "a place that wraps", whole, kLastPage, 8192, kIova);
	r.expect(EINVAL, "addresses that wrap", whole, 0, 8192, kLastPage);
	r.expect(EINVAL, "another offset in the page", whole, 0, 4096, kIova + 1);
	r.expect(EINVAL, "REMOTE_WRITE without LOCAL_WRITE", whole, 0, kBytes, kIova,
		 IBV_ACCESS_REMOTE_WRITE);
	r.expect(EINVAL, "MW_BIND", whole, 0, kBytes, kIova,
		 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	r.expect(EACCES, "LOCAL_WRITE without a writable descriptor", EXPORTER_READ_ONLY,
		 IBV_ACCESS_LOCAL_WRITE);
	r.expect(EACCES, "REMOTE_WRITE without a writable descriptor",
		 EXPORTER_READ_ONLY | EXPORTER_MOVES);
	for (uint32_t moves : {0u, uint32_t{EXPORTER_MOVES}}) {
		r.expect(EOPNOTSUPP, "a buffer without kernel addresses", EXPORTER_NO_VMAP | moves);
		r.expect(EOPNOTSUPP, "a buffer of I/O memory", EXPORTER_IO_MEMORY | moves);
		r.expect(EBUSY, "a buffer that refuses to be attached", EXPORTER_NO_ATTACH | moves);
		r.expect(EBUSY, "a buffer that refuses access", EXPORTER_NO_ACCESS | moves);
	}
	r.expect(EBUSY, "a buffer that refuses to be pinned", EXPORTER_NO_PIN | EXPORTER_MOVES);
	r.expect(ENODEV, "a buffer revoked meanwhile", EXPORTER_TAKES_BACK | EXPORTER_MOVES);
	r.expect_fd(EBADF, "descriptor -1", -1);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	r.expect_fd(EINVAL, "a file that is no dma-buf", null);
	close(null);
	r.expect_fd(EBADF, "a closed descriptor", null);
	// All of it, and the largest address, are no error.
	Mr most = reg_dma_buf(r.pd(), whole, 0, kBytes, UINT64_MAX - (kBytes - 1));
	require(most != nullptr, "the last addresses: %m");
	require(ibv_rereg_mr(most.get(), IBV_REREG_MR_CHANGE_ACCESS, r.pd(), nullptr, 0,
			     IBV_ACCESS_LOCAL_WRITE) != 0,
		"re-registration was accepted");
	env.control.sync();
}

// With a descriptor for reading, its memory can be read, by the owner and by the peer.
void read_only(Env &env)
{
	need_dma_bufs(env);
	Bench bench(env, {}, 65536);
	DmaBuf dma_buf = DmaBuf::exported(kBytes, EXPORTER_READ_ONLY);
	Mr mr = reg_dma_buf(bench.pd.get(), dma_buf, 0, kBytes, kIova, IBV_ACCESS_REMOTE_READ);
	require(mr != nullptr, "ibv_reg_dmabuf_mr: %m");
	Remote there = env.control.exchange(Remote{kIova, kBytes, mr->rkey, 0});
	auto is_zero = [&] {
		return std::all_of(bench.arena.at(0), bench.arena.at(4096),
				   [](char c) { return !c; });
	};
	if (!env.client)
		post_recv(bench.link, 7, {bench.arena.sge(0, 4096)});
	bench.arena.fill_canary();
	env.control.sync();
	if (env.client) {
		post(bench.link, to(bench, IBV_WR_RDMA_READ, 1, there, 0, 4096));
		bench.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
		require(is_zero(), "the peer's memory was not read");
		post(bench.link, {.id = 2, .sges = {{kIova, 4096, mr->lkey}}});
		bench.cq.expect(IBV_WC_SUCCESS, 2, env.limit_s);
	} else {
		bench.cq.expect(IBV_WC_SUCCESS, 7, env.limit_s);
		require(is_zero(), "the peer did not send its memory");
	}
	if (env.client) {
		post(bench.link, to(bench, IBV_WR_RDMA_WRITE, 3, there, 0, 64));
		expect_write(env, bench.link, bench.cq, 3, IBV_WC_REM_ACCESS_ERR);
	}
	env.control.sync();
}

// The region keeps the memory, whatever becomes of the descriptor.
void descriptor_closed(Env &env)
{
	need_dma_bufs(env);
	Bench bench(env, {}, 65536);
	std::optional<DmaBuf> dma_buf = DmaBuf::exported(kBytes, EXPORTER_MOVES);
	Mr mr = reg_dma_buf(bench.pd.get(), *dma_buf, 0, kBytes, kIova);
	require(mr != nullptr, "ibv_reg_dmabuf_mr: %m");
	dma_buf.reset();
	pattern_fill(bench.arena.at(0), kBytes, 5);
	Remote there = env.control.exchange(Remote{kIova, kBytes, mr->rkey, 0});
	if (env.client) {
		post(bench.link, to(bench, IBV_WR_RDMA_WRITE, 1, there, 0, kBytes));
		expect_write(env, bench.link, bench.cq, 1, IBV_WC_SUCCESS);
		memset(bench.arena.at(0), 0, kBytes);
		post(bench.link, to(bench, IBV_WR_RDMA_READ, 2, there, 0, kBytes));
		bench.cq.expect(IBV_WC_SUCCESS, 2, env.limit_s);
		require(pattern_check(bench.arena.at(0), kBytes, 5) == kBytes,
			"what was read back is wrong");
	}
	env.control.sync();
}

// After a revocation neither the peer nor the owner reaches the memory by the region's key.
void revoked(Env &env, bool by_owner)
{
	need_dma_bufs(env);
	Bench bench(env, {}, 65536);
	DmaBuf dma_buf = DmaBuf::exported(kBytes, EXPORTER_MOVES);
	Mr mr = reg_dma_buf(bench.pd.get(), dma_buf, 0, kBytes, kIova);
	require(mr != nullptr, "ibv_reg_dmabuf_mr: %m");
	Remote there = env.control.exchange(Remote{kIova, kBytes, mr->rkey, 0});
	if (env.client) {
		post(bench.link, to(bench, IBV_WR_RDMA_WRITE, 1, there, 0, kBytes));
		expect_write(env, bench.link, bench.cq, 1, IBV_WC_SUCCESS);
	}
	env.control.sync();
	dma_buf.revoke();
	env.control.sync();
	if (env.client && by_owner) {
		post(bench.link, {.opcode = IBV_WR_RDMA_WRITE,
				  .id = 2,
				  .sges = {{kIova, 64, mr->lkey}},
				  .remote_va = there.va,
				  .rkey = there.rkey});
		bench.cq.expect(IBV_WC_LOC_PROT_ERR, 2, env.limit_s);
	} else if (env.client) {
		post(bench.link, to(bench, IBV_WR_RDMA_WRITE, 2, there, 0, 64));
		expect_write(env, bench.link, bench.cq, 2, IBV_WC_REM_ACCESS_ERR);
	}
	env.control.sync();
	require(!dma_buf.state().scribbled, "%llu bytes of the former memory were written",
		static_cast<unsigned long long>(dma_buf.state().scribbled));
	Buffer now(kBytes, dma_buf);
	require(std::all_of(now.data(), now.data() + kBytes, [](char c) { return !c; }),
		"the new memory was written");
	require(dma_buf.state().attached == 1, "it is attached %u times", dma_buf.state().attached);
	mr.reset();
	dma_buf.require_unused();
	// What the exporter has now can be registered again.
	mr = reg_dma_buf(bench.pd.get(), dma_buf, 0, kBytes, kIova);
	require(mr != nullptr, "after the revocation: %m");
	env.control.sync();
}

// WRITEs and READs of zeros until one fails. No READ brings what was there after the revocation.
void use_until_revoked(Env &env, Bench *bench, const Remote &there)
{
	constexpr uint32_t kDepth = 32, kMessage = 8192;
	uint64_t posted = 0, done = 0;
	bool failed = false;

	memset(bench->arena.at(0), 0, bench->arena.size());
	while (!failed) {
		for (; posted - done < kDepth; posted++) {
			Work w{.opcode = posted % 2 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
			       .id = posted,
			       .sges = {bench->arena.sge(posted % 2 * kMessage, kMessage)}};
			w.remote_va = there.va + kMessage * (posted / 2 % 2);
			w.rkey = there.rkey;
			if (try_post(bench->link, w))
				break;
		}
		Completion c = bench->cq.next(env.limit_s);
		failed = c.status != IBV_WC_SUCCESS;
		require(!failed || c.status == IBV_WC_REM_ACCESS_ERR ||
				(env.device.is_iwarp() && c.status == IBV_WC_WR_FLUSH_ERR),
			"wr %llu ended with '%s'", static_cast<unsigned long long>(c.wr_id),
			ibv_wc_status_str(c.status));
		require(failed || std::all_of(bench->arena.at(kMessage),
					      bench->arena.at(2 * kMessage),
					      [](char byte) { return !byte; }),
			"READ %llu brought memory that was taken back",
			static_cast<unsigned long long>(c.wr_id));
		done++;
	}
}

void revoked_busy(Env &env)
{
	need_dma_bufs(env);
	for (uint32_t round = 0; round < 10; round++) {
		Bench bench(env, {}, 65536);
		DmaBuf dma_buf = DmaBuf::exported(kBytes, EXPORTER_MOVES);
		Mr mr = reg_dma_buf(bench.pd.get(), dma_buf, 0, kBytes, kIova);
		require(mr != nullptr, "ibv_reg_dmabuf_mr: %m");
		Remote there = env.control.exchange(Remote{kIova, kBytes, mr->rkey, 0});
		if (env.client) {
			use_until_revoked(env, &bench, there);
		} else {
			usleep(static_cast<useconds_t>((20000 + 1000 * round) * slow()));
			dma_buf.revoke();
		}
		env.control.sync();
		if (!env.client)
			require(!dma_buf.state().scribbled,
				"%llu bytes were written after the revocation",
				static_cast<unsigned long long>(dma_buf.state().scribbled));
		env.control.sync();
	}
}

// Deregistration and revocation at once, while the peer writes: both end, and nothing is left.
void revoked_and_deregistered(Env &env)
{
	need_dma_bufs(env);
	for (uint32_t round = 0; round < 40; round++) {
		Bench bench(env, {}, 65536);
		DmaBuf dma_buf = DmaBuf::exported(kBytes, EXPORTER_MOVES);
		Mr mr = reg_dma_buf(bench.pd.get(), dma_buf, 0, kBytes, kIova);
		require(mr != nullptr, "ibv_reg_dmabuf_mr: %m");
		Remote there = env.control.exchange(Remote{kIova, kBytes, mr->rkey, 0});
		if (env.client) {
			use_until_revoked(env, &bench, there);
		} else {
			usleep(static_cast<useconds_t>(3000 * slow()));
			std::jthread revoker([&] { dma_buf.revoke(); });
			std::jthread owner([&] { mr.reset(); });
		}
		env.control.sync();
		if (!env.client) {
			require(!dma_buf.state().scribbled, "the former memory was written");
			dma_buf.require_unused();
		}
		env.control.sync();
	}
}

Register cases([](Cases &list) {
	list.push_back({"dma-buf/place", place});
	list.push_back({"dma-buf/refused", refused});
	list.push_back({"dma-buf/read-only", read_only});
	list.push_back({"dma-buf/descriptor-closed", descriptor_closed});
	list.push_back({"dma-buf/revoked-for-peer", [](Env &env) { revoked(env, false); }});
	list.push_back({"dma-buf/revoked-for-owner", [](Env &env) { revoked(env, true); }});
	list.push_back({"dma-buf/revoked-busy", revoked_busy});
	list.push_back({"dma-buf/revoked-and-deregistered", revoked_and_deregistered});
});

} // namespace
} // namespace vt
