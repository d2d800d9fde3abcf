// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The provider's half of posting and polling, on rings in memory: work requests into WQEs and
// published, CQEs into work completions and released. No doorbell, no lock, no kernel.
#include "cqe.h"
#include "ring.h"
#include "wqe.h"

#include <cstdlib>
#include <vector>

#include <benchmark/benchmark.h>

namespace {

constexpr uint32_t kSlots = 256;
constexpr uint32_t kStride = 128;

class Memory {
public:
	explicit Memory(uint32_t stride)
		: lines_((TERN_RING_HDR_BYTES + kSlots * stride) / sizeof(Line)),
		  memory_{reinterpret_cast<tern_ring_hdr *>(lines_.data()), kSlots, stride}
	{}
	const tern::RingMemory &ring() const { return memory_; }
	tern_ring_hdr *hdr() { return memory_.hdr; }

private:
	struct alignas(64) Line {
		unsigned char bytes[64];
	};
	std::vector<Line> lines_;
	tern::RingMemory memory_;
};

// Arguments: work requests in a post; their bytes travel in the WQE, or one SGE names them.
void BM_PostSend(benchmark::State &state, unsigned int flags)
{
	constexpr tern::SendLimits lim = {4, 64, IBV_QPT_RC, false, false};
	const auto batch = static_cast<uint32_t>(state.range(0));
	Memory memory(kStride);
	tern::ProducerRing ring{};
	unsigned char data[64] = {};
	ibv_sge sge = {reinterpret_cast<uintptr_t>(data), sizeof(data), 1};
	ibv_send_wr wr = {};

	ring.attach(memory.ring());
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = flags;
	wr.wr.rdma.remote_addr = 0x1000;
	wr.wr.rdma.rkey = 2;
	for (auto _ : state) {
		for (uint32_t i = 0; i < batch; i++) {
			auto *wqe = static_cast<tern_send_wqe *>(ring.reserve());

			if (!wqe || tern::wqe_encode_send(wqe, lim, wr))
				abort();
			ring.advance();
		}
		benchmark::DoNotOptimize(ring.publish());
		// The kernel's part: all is taken.
		tern::store_release(memory.hdr()->cons, memory.hdr()->prod);
	}
	state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * batch);
	state.SetLabel("WQEs");
}
BENCHMARK_CAPTURE(BM_PostSend, sge, 0)->Arg(1)->Arg(32);
BENCHMARK_CAPTURE(BM_PostSend, inline, IBV_SEND_INLINE)->Arg(1)->Arg(32);

// Arguments: completions that a poll finds.
void BM_PollCq(benchmark::State &state)
{
	const auto batch = static_cast<uint32_t>(state.range(0));
	Memory memory(TERN_CQE_BYTES);
	tern::ConsumerRing<tern_cqe> ring{};
	std::vector<ibv_wc> wc(batch);

	ring.attach(memory.ring());
	for (auto _ : state) {
		tern::store_release(memory.hdr()->prod, memory.hdr()->prod + batch);
		for (uint32_t i = 0; i < batch; i++) {
			const tern_cqe *cqe = ring.peek();

			if (!cqe)
				abort();
			tern::cqe_to_wc(*cqe, &wc[i]);
			ring.advance();
		}
		ring.release();
		benchmark::DoNotOptimize(wc.data());
		benchmark::ClobberMemory();
	}
	state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * batch);
	state.SetLabel("CQEs");
}
BENCHMARK(BM_PollCq)->Arg(1)->Arg(16);

} // namespace
