// SPDX-License-Identifier: GPL-2.0
// A requester and a responder of RC, in memory: how many packets a second the engines can do.
// Included: all decisions of both, headers built and parsed with their lengths, completions reaped.
// Not included: payload, ICRC, IP, memory keys, locks. No data is copied.
#include "proto/rc_ack.h"
#include "proto/rc_req.h"
#include "proto/rc_resp.h"

#include <cstdlib>
#include <vector>

#include <benchmark/benchmark.h>

namespace {

constexpr u32 kEntries = 256;
constexpr u32 kDepth = 16;
constexpr u32 kMaxRun = 64;

class Pair {
public:
	explicit Pair(u32 pmtu) : ring_(kEntries), res_(kDepth)
	{
		rc_req_cfg req = {};
		rc_resp_cfg resp = {};

		req.service = BTH_RC;
		req.retry_cnt = 7;
		req.rnr_retry = 7;
		req.max_rd_atomic = kDepth;
		req.pkey = PKEY_DEFAULT;
		req.dqpn = 0x123;
		req.pmtu = pmtu;
		req.window = 1024;
		req.ack_timeout.first_ns = 1000000000;
		rc_req_init(&req_, ring_.data(), kEntries, 0, &req);

		resp.service = BTH_RC;
		resp.max_rd_atomic = kDepth;
		resp.access = RC_ACCESS_WRITE | RC_ACCESS_READ;
		resp.pkey = PKEY_DEFAULT;
		resp.dqpn = 0x321;
		resp.pmtu = pmtu;
		rc_resp_init(&resp_, res_.data(), &resp);
	}

	void post(wr_op op, u32 bytes)
	{
		struct wr wr = {};

		wr.op = op;
		wr.length = bytes;
		wr.va = 0x10000;
		wr.rkey = 0x55;
		must(rc_req_post(&req_, &wr));
	}

	// Run until all posted work is complete. Returns the number of packets.
	u32 run()
	{
		packets_ = 0;
		while (req_.tail != req_.head) {
			u32 before = packets_;

			requests();
			responses();
			reap();
			must(packets_ != before);
		}
		return packets_;
	}

private:
	static void must(bool ok)
	{
		if (!ok)
			abort();
	}

	// Build the headers and parse them as those of a packet of that length.
	const pkt *wire(pkt *k)
	{
		u32 hdr = pkt_build(bytes_, k);
		u32 all = hdr + k->payload_bytes + k->pad_bytes + ICRC_BYTES;

		packets_++;
		must(pkt_parse(bytes_, all < sizeof(bytes_) ? all : sizeof(bytes_), all, &rx_) ==
		     PKT_OK);
		return &rx_;
	}

	void requests()
	{
		run_t r;

		while (rc_req_next(&req_, ++now_, kMaxRun, &r)) {
			for (u32 i = 0; i < r.npkts; i++) {
				rc_act act;
				pkt k;

				run_pkt(&r, i, &k);
				const pkt *rx = wire(&k);
				rc_resp_rx(&resp_, rx, &act);
				must(act.kind == RC_ACT_WRITE || act.kind == RC_ACT_READ);
				rc_resp_commit(&resp_, rx, &act, 0);
			}
			rc_req_sent(&req_, now_, &r, r.npkts);
		}
	}

	void responses()
	{
		run_t r;

		while (rc_resp_next(&resp_, kMaxRun, &r)) {
			for (u32 i = 0; i < r.npkts; i++) {
				rc_req_act act;
				pkt k;

				run_pkt(&r, i, &k);
				rc_req_rx(&req_, now_, wire(&k), &act);
				if (act.kind == RC_REQ_PLACE)
					rc_req_placed(&req_, now_, &act);
			}
			rc_resp_sent(&resp_, &r, r.npkts);
		}
	}

	void reap()
	{
		wr_status status;
		u32 slot;

		while (rc_req_reap(&req_, &slot, &status))
			must(status == WR_ST_SUCCESS);
	}

	using run_t = struct run;

	std::vector<rc_sqe> ring_;
	std::vector<rc_res> res_;
	rc_req req_;
	rc_resp resp_;
	u8 bytes_[PKT_HDR_MAX_BYTES] = {};
	pkt rx_;
	u64 now_ = 1;
	u32 packets_ = 0;
};

// Arguments: bytes of a message, messages in a batch, path MTU.
void BM_Rc(benchmark::State &state, wr_op op)
{
	const auto bytes = static_cast<u32>(state.range(0));
	const auto batch = static_cast<u32>(state.range(1));
	Pair pair(static_cast<u32>(state.range(2)));
	u64 packets = 0;

	for (auto _ : state) {
		for (u32 i = 0; i < batch; i++)
			pair.post(op, bytes);
		packets += pair.run();
	}
	state.SetItemsProcessed(static_cast<int64_t>(packets));
	state.SetLabel("packets");
}
BENCHMARK_CAPTURE(BM_Rc, write, WR_WRITE)
	->ArgNames({"bytes", "batch", "pmtu"})
	->Args({64, 1, 4096})
	->Args({64, 32, 4096})
	->Args({64, 128, 4096})
	->Args({65536, 1, 1024})
	->Args({65536, 8, 1024})
	->Args({65536, 1, 4096})
	->Args({65536, 8, 4096});
BENCHMARK_CAPTURE(BM_Rc, read, WR_READ)
	->ArgNames({"bytes", "batch", "pmtu"})
	->Args({64, 1, 4096})
	->Args({64, 16, 4096})
	->Args({65536, 1, 4096})
	->Args({65536, 8, 4096});

} // namespace
