// SPDX-License-Identifier: GPL-2.0
// vodpspeed, resident: messages to and from one buffer that is registered twice, pinned and on
// demand, with all its pages present. What is measured is the look at whether they are. Places are
// random, over all of the buffer. Rounds of both kinds alternate; each row has the medians and
// their ratio.
// absent: one long message to and from memory on demand of which no page is present.
// forking: a message from memory on demand after each fork(), which makes its pages absent. -N: so
// many milliseconds apart.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "post.h"
#include "session.h"
#include "transfer.h"

namespace vt {
namespace {

constexpr size_t kBufferBytes = 64 << 20; // 32 tables of pages
constexpr uint32_t kDepth = 16, kRounds = 9;

struct Row {
	ibv_wr_opcode opcode;
	uint32_t bytes, count; // messages of a round
};

constexpr ibv_wr_opcode kOpcodes[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND};
struct Size {
	uint32_t bytes, count;
};
constexpr Size kSizes[] = {{64, 20000}, {4096, 10000}, {65536, 2000}, {1 << 20, 150}};

// One side: the buffer, with both regions.
class Side {
public:
	explicit Side(Env &env)
		: env_(env), bench_(env, {}, kPage), buffer_(kBufferBytes),
		  random_(static_cast<unsigned>(env.seed + env.client))
	{
		memset(buffer_.data(), 1, kBufferBytes);
		for (bool demand : {false, true}) {
			int access = kAllAccess | (demand ? IBV_ACCESS_ON_DEMAND : 0);
			mr_[demand].reset(ibv_reg_mr(bench_.pd.get(), buffer_.data(), kBufferBytes,
						     static_cast<unsigned>(access)));
			env.both_need(mr_[demand] != nullptr, "memory on demand");
			theirs_[demand] = env.control.exchange(
				Remote{reinterpret_cast<uint64_t>(buffer_.data()), kBufferBytes,
				       mr_[demand]->rkey, 0});
		}
		ibv_sge all = {reinterpret_cast<uint64_t>(buffer_.data()), kBufferBytes,
			       mr_[true]->lkey};
		require(!ibv_advise_mr(bench_.pd.get(), IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				       IBV_ADVISE_MR_FLAG_FLUSH, &all, 1),
			"ibv_advise_mr");
	}

	void lose()
	{
		require(!madvise(buffer_.data(), kBufferBytes, MADV_DONTNEED), "madvise: %m");
	}

	// MiB/s at the client.
	double round(const Row &row, bool demand)
	{
		bool receives = !env_.client && row.opcode == IBV_WR_SEND;
		uint32_t posted = 0, done = 0;
		auto next = [&] {
			posted++;
			if (receives)
				post_recv(bench_.link, 1, {place(row.bytes, demand)});
			else
				start(row, demand);
		};
		if (receives)
			while (posted < std::min(2 * kDepth, row.count))
				next();
		env_.control.sync();
		double began = now_s();
		if (env_.client)
			while (posted < std::min(kDepth, row.count))
				next();
		while ((env_.client || receives) && done < row.count) {
			bench_.cq.expect(IBV_WC_SUCCESS, 1, env_.limit_s);
			done++;
			if (posted < row.count)
				next();
		}
		double seconds = now_s() - began;
		env_.control.sync();
		return row.count * static_cast<double>(row.bytes) / 1048576 / seconds;
	}

private:
	static constexpr size_t kPage = 4096;

	ibv_sge place(uint32_t bytes, bool demand)
	{
		return {reinterpret_cast<uint64_t>(buffer_.data()) + somewhere(bytes), bytes,
			mr_[demand]->lkey};
	}
	uint64_t somewhere(uint32_t bytes)
	{
		return random_() % ((kBufferBytes - bytes) / 64) * 64;
	}
	void start(const Row &row, bool demand)
	{
		Work w{.opcode = row.opcode, .id = 1, .sges = {place(row.bytes, demand)}};
		w.remote_va = theirs_[demand].va + somewhere(row.bytes);
		w.rkey = theirs_[demand].rkey;
		post(bench_.link, w);
	}

	Env &env_;
	Bench bench_;
	Buffer buffer_;
	Mr mr_[2]; // pinned, on demand
	Remote theirs_[2];
	std::minstd_rand random_;
};

double median(std::vector<double> values)
{
	std::sort(values.begin(), values.end());
	return values[values.size() / 2];
}

void resident(Env &env)
{
	Side side(env);
	for (ibv_wr_opcode opcode : kOpcodes) {
		for (const Size &size : kSizes) {
			Row row = {opcode, size.bytes, size.count};
			std::vector<double> mib[2], ratio;
			for (uint32_t i = 0; i < kRounds; i++) {
				// The first of a pair is pinned, then on demand, in turn.
				for (bool demand : {i % 2 == 1, i % 2 == 0})
					mib[demand].push_back(side.round(row, demand));
				ratio.push_back(mib[true].back() / mib[false].back());
			}
			if (env.client)
				printf("# %-10s %8u bytes: pinned %9.1f MiB/s, on demand %9.1f, "
				       "ratio of medians %.3f, median of ratios %.3f\n",
				       opcode_name(opcode), row.bytes, median(mib[false]),
				       median(mib[true]), median(mib[true]) / median(mib[false]),
				       median(ratio));
		}
	}
}

void absent(Env &env)
{
	constexpr uint32_t kBytes = 32 << 20;
	Side side(env);
	for (ibv_wr_opcode opcode : kOpcodes) {
		std::vector<double> mib;
		for (uint32_t i = 0; i < kRounds; i++) {
			side.lose();
			mib.push_back(side.round({opcode, kBytes, 1}, true));
		}
		if (env.client)
			printf("# %-10s %8u bytes, absent: %9.1f MiB/s\n", opcode_name(opcode),
			       kBytes, median(mib));
	}
}

void forking(Env &env)
{
	constexpr Row kRow = {IBV_WR_RDMA_WRITE, 65536, 1};
	Side side(env);
	std::vector<double> us;
	for (uint32_t i = 0; i < 100; i++) {
		if (env.client) {
			pid_t child = fork();
			if (!child)
				_exit(0);
			require(child > 0 && waitpid(child, nullptr, 0) == child, "fork: %m");
			usleep(env.amount * 1000);
		}
		us.push_back(kRow.bytes / side.round(kRow, true) / 1.048576);
	}
	if (env.client)
		printf("# a WRITE of %u bytes after fork(), %u ms later: %.1f us\n", kRow.bytes,
		       env.amount, median(us));
}

const Register kCases([](Cases &cases) {
	cases.push_back({"resident", resident});
	cases.push_back({"absent", absent});
	cases.push_back({"forking", forking});
});

} // namespace
} // namespace vt

int main(int argc, char **argv)
{
	return vt::session_main(argc, argv);
}
