// SPDX-License-Identifier: GPL-2.0
// CRCs without CPU instructions for them: by tables (8 bytes at a time, as the kernel's crc32_le()
// and __crc32c_le(); 16) and by folding. And the ICRC of a packet without payload.
#include "proto/crc_slice.h"
#include "proto/icrc.h"
#include "proto/pkt.h"

#include <vector>

#include <benchmark/benchmark.h>

#include "crc_tables.h"

namespace {

constexpr sim::CrcTables kCrc32(0xedb88320);
constexpr sim::CrcTables kCrc32c(0x82f63b78);

u32 crc32_tables(u32 crc, const u8 *p, size_t n)
{
	return kCrc32.add(crc, p, n);
}

u32 crc32c_tables(u32 crc, const u8 *p, size_t n)
{
	return kCrc32c.add(crc, p, n);
}

u32 crc32_folded(u32 crc, const u8 *p, size_t n)
{
	return crc32_fold(crc, p, n, crc32_tables);
}

u32 crc32c_folded(u32 crc, const u8 *p, size_t n)
{
	return crc32c_fold(crc, p, n, crc32c_tables);
}

void BM_Crc(benchmark::State &state, crc_fn crc)
{
	std::vector<u8> bytes(static_cast<size_t>(state.range(0)), 0x5a);

	for (auto _ : state)
		benchmark::DoNotOptimize(crc(~0u, bytes.data(), bytes.size()));
	state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
}
BENCHMARK_CAPTURE(BM_Crc, crc32_tables, crc32_tables)->RangeMultiplier(4)->Range(64, 65536);
BENCHMARK_CAPTURE(BM_Crc, crc32_slice, crc32_slice)->RangeMultiplier(4)->Range(64, 65536);
BENCHMARK_CAPTURE(BM_Crc, crc32_fold, crc32_folded)->RangeMultiplier(4)->Range(64, 65536);
BENCHMARK_CAPTURE(BM_Crc, crc32c_tables, crc32c_tables)->RangeMultiplier(4)->Range(64, 65536);
BENCHMARK_CAPTURE(BM_Crc, crc32c_fold, crc32c_folded)->RangeMultiplier(4)->Range(64, 65536);

// The whole ICRC of a packet: pseudo header and all after the BTH.
void BM_Icrc(benchmark::State &state, bool ipv6, bool in_a_row)
{
	const auto after_bth = static_cast<size_t>(state.range(0));
	std::vector<u8> packet(40 + 8 + BTH_BYTES + after_bth, 0x5a);
	const u8 *after = packet.data() + (ipv6 ? 40 : 20) + 8 + BTH_BYTES;
	icrc_memo memo = {};

	for (auto _ : state) {
		if (!in_a_row)
			memo = {};
		u32 crc = (ipv6 ? icrc_start_ipv6 : icrc_start_ipv4)(crc32_tables, &memo,
								     packet.data());

		crc = crc32_tables(crc, after, after_bth);
		benchmark::DoNotOptimize(icrc_finish(crc));
	}
}
// An ACK; a WRITE of 64 bytes.
BENCHMARK_CAPTURE(BM_Icrc, ipv4, false, false)->Arg(AETH_BYTES)->Arg(RETH_BYTES + 64);
BENCHMARK_CAPTURE(BM_Icrc, ipv6, true, false)->Arg(AETH_BYTES)->Arg(RETH_BYTES + 64);
// One of many packets of a flow.
BENCHMARK_CAPTURE(BM_Icrc, ipv4_in_a_row, false, true)->Arg(AETH_BYTES)->Arg(RETH_BYTES + 64);
BENCHMARK_CAPTURE(BM_Icrc, ipv6_in_a_row, true, true)->Arg(AETH_BYTES)->Arg(RETH_BYTES + 64);

} // namespace
