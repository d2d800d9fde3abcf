// SPDX-License-Identifier: GPL-2.0
// A requester and a responder of iWARP with a stream of FPDUs between, in memory. Included: all
// decisions of both, headers, lengths and padding of FPDUs built and parsed, completions reaped;
// with CRC: CRC-32C by folding at both ends. Not included: payload (never written), TCP, memory
// keys, locks.
#include "proto/crc_fold.h"
#include "proto/iw_req.h"
#include "proto/iw_resp.h"
#include "proto/mpa.h"

#include <cstdlib>
#include <vector>

#include <benchmark/benchmark.h>

#include "crc_tables.h"

namespace {

constexpr sim::CrcTables kCrc32c(0x82f63b78);
constexpr u32 kEntries = 256;

u32 crc32c_tables(u32 crc, const u8 *p, size_t n)
{
	return kCrc32c.add(crc, p, n);
}

class Stream {
public:
	Stream(u16 max_ulpdu, bool crc) : ring_(kEntries), irq_(iw_irq_entries(1)), crc_(crc)
	{
		const iw_req_cfg req = {1, max_ulpdu, 0};
		const iw_resp_cfg resp = {1, max_ulpdu, IW_ACCESS_WRITE};

		iw_req_init(&req_, ring_.data(), kEntries, 0, &req);
		iw_resp_init(&resp_, irq_.data(), &resp);
		fpdu_.resize(mpa_fpdu_bytes(MPA_MAX_ULPDU_BYTES));
	}

	void post_write(u32 bytes)
	{
		struct wr wr = {};

		wr.op = WR_WRITE;
		wr.length = bytes;
		wr.va = 0x10000;
		wr.rkey = 0x55;
		must(iw_req_post(&req_, &wr));
	}

	// Run until all posted work is complete. Returns the number of FPDUs.
	u32 run()
	{
		wr_status status;
		u32 fpdus = 0, slot;
		iw_seg seg;

		while (iw_req_next(&req_, &seg)) {
			receive(build(seg));
			iw_req_sent(&req_, &seg);
			fpdus++;
		}
		while (iw_req_reap(&req_, &slot, &status))
			must(status == WR_ST_SUCCESS);
		must(req_.tail == req_.head);
		return fpdus;
	}

private:
	static void must(bool ok)
	{
		if (!ok)
			abort();
	}

	// Returns the length of the FPDU in bytes.
	u32 build(const iw_seg &seg)
	{
		u32 ulpdu = seg.hdr_bytes + seg.bytes;
		u32 bytes = mpa_fpdu_bytes(ulpdu);
		u8 *p = fpdu_.data();

		put_unaligned_be16(static_cast<u16>(ulpdu), p);
		memcpy(p + MPA_LENGTH_BYTES, seg.hdr, seg.hdr_bytes);
		memset(p + MPA_LENGTH_BYTES + ulpdu, 0, mpa_pad_bytes(ulpdu));
		if (crc_)
			put_unaligned_le32(crc_of(bytes), p + bytes - MPA_CRC_BYTES);
		return bytes;
	}

	void receive(u32 bytes)
	{
		const u8 *p = fpdu_.data() + MPA_LENGTH_BYTES;
		u32 ulpdu = get_unaligned_be16(fpdu_.data());
		ddp_seg s;
		iw_act act;

		must(mpa_fpdu_bytes(ulpdu) == bytes);
		if (crc_)
			must(get_unaligned_le32(fpdu_.data() + bytes - MPA_CRC_BYTES) ==
			     crc_of(bytes));
		must(ddp_parse(p, ulpdu, ulpdu, &s) == TERM_NONE);
		iw_resp_rx(&resp_, &s, p, ulpdu, &act);
		must(act.kind == IW_ACT_WRITE);
		iw_resp_commit(&resp_, &s, &act, p, 0);
	}

	u32 crc_of(u32 bytes) const
	{
		return ~crc32c_fold(~0u, fpdu_.data(), bytes - MPA_CRC_BYTES, crc32c_tables);
	}

	std::vector<iw_sqe> ring_;
	std::vector<iw_irq> irq_;
	std::vector<u8> fpdu_;
	iw_req req_;
	iw_resp resp_;
	bool crc_;
};

// Arguments: bytes of a Write, Writes in a batch, largest ULPDU in bytes.
void BM_Iwarp(benchmark::State &state, bool crc)
{
	const auto bytes = static_cast<u32>(state.range(0));
	const auto batch = static_cast<u32>(state.range(1));
	Stream stream(static_cast<u16>(state.range(2)), crc);
	u64 fpdus = 0;

	for (auto _ : state) {
		for (u32 i = 0; i < batch; i++)
			stream.post_write(bytes);
		fpdus += stream.run();
	}
	state.SetItemsProcessed(static_cast<int64_t>(fpdus));
	state.SetLabel("FPDUs");
}
BENCHMARK_CAPTURE(BM_Iwarp, write, false)
	->ArgNames({"bytes", "batch", "ulpdu"})
	->Args({64, 1, 1440})
	->Args({64, 32, 1440})
	->Args({65536, 1, 1440})
	->Args({65536, 1, 8900});
BENCHMARK_CAPTURE(BM_Iwarp, write_crc, true)
	->ArgNames({"bytes", "batch", "ulpdu"})
	->Args({64, 32, 1440})
	->Args({65536, 1, 1440})
	->Args({65536, 1, 8900});

} // namespace
