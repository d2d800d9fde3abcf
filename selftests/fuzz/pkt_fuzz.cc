// SPDX-License-Identifier: GPL-2.0
// Any bytes as a packet: nothing outside them is read, and the builder restores what the parser
// accepts bit by bit, except reserved bits.
#include <cstring>
#include <memory>

#include "fuzz.h"
#include "proto/pkt.h"

namespace {

void clear_reserved(u8 *hdr, u32 flags)
{
	hdr[4] &= 0xc0;
	hdr[8] &= 0x80;
	if (flags & OPF_XRCETH)
		hdr[BTH_BYTES] = 0;
	if (flags & OPF_FETH) {
		memset(hdr + BTH_BYTES, 0, FETH_BYTES - 1);
		hdr[BTH_BYTES + FETH_BYTES - 1] &= FETH_PLACEMENT_MASK | FETH_SELECTIVITY_MASK;
	}
	if (flags & OPF_DETH)
		hdr[BTH_BYTES + 4] = 0;
	if (flags & OPF_CNP)
		memset(hdr + BTH_BYTES, 0, CNP_RESERVED_BYTES);
}

void check_accepted(const u8 *data, u32 bytes, pkt k)
{
	u8 want[PKT_HDR_MAX_BYTES], got[PKT_HDR_MAX_BYTES];
	const u32 pad = k.pad_bytes, hdr = k.hdr_bytes;

	REQUIRE(k.op_flags == opcode_info(data[0])->flags && (k.op_flags & OPF_VALID));
	REQUIRE(hdr <= PKT_HDR_MAX_BYTES);
	REQUIRE(hdr + k.payload_bytes + pad + ICRC_BYTES == bytes);
	REQUIRE(pad < 4 && (!k.payload_bytes || (k.op_flags & OPF_PAYLOAD)));

	memcpy(want, data, hdr);
	clear_reserved(want, k.op_flags);
	REQUIRE(pkt_build(got, &k) == hdr);
	REQUIRE(k.pad_bytes == pad);
	REQUIRE(memcmp(want, got, hdr) == 0);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	// The first two bytes make the packet longer than what is readable, as when only the
	// headers are in the linear part.
	if (size < 2 || size > 4096)
		return 0;
	u32 extra = get_unaligned_be16(data);
	data += 2;
	size -= 2;

	u32 have = static_cast<u32>(size);
	u32 bytes = have >= PKT_HDR_MAX_BYTES ? have + extra : have;
	std::unique_ptr<u8[]> p(new u8[have]);
	pkt k;

	if (have)
		memcpy(p.get(), data, have);
	if (pkt_parse(p.get(), have, bytes, &k) == PKT_OK)
		check_accepted(p.get(), bytes, k);
	return 0;
}
