// SPDX-License-Identifier: GPL-2.0
// RoCEv1's global route header: built, read, and a whole packet behind it.
#include "proto/crc_slice.h"
#include "proto/grh.h"
#include "proto/icrc.h"
#include "proto/pkt.h"

#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace {

using Bytes = std::vector<u8>;

constexpr std::array<u8, GID_BYTES> kSgid = {0, 0, 0,	 0,    0,   0, 0, 0,
					     0, 0, 0xff, 0xff, 192, 0, 2, 1};
constexpr std::array<u8, GID_BYTES> kDgid = {0, 0, 0,	 0,    0,   0, 0, 0,
					     0, 0, 0xff, 0xff, 192, 0, 2, 2};

// An RC SEND ONLY of "hello", every byte written out; the ICRC is zlib's CRC-32 of the masked
// bytes.
const Bytes kFrame = {
	0x66, 0x81, 0x23, 0x45, 0x00, 0x18, 0x1b, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xc0, 0x00, 0x02, 0x01, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xc0, 0x00, 0x02,
	0x02, 0x04, 0x70, 0xff, 0xff, 0x00, 0x00, 0x00, 0x12, 0x80, 0x00, 0x47, 0x11,
	0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x00, 0x00, 0x00, 0x96, 0x5d, 0xc8, 0xe0,
};

Bytes header(u8 tclass, u32 flow_label, u16 bytes, u8 hop_limit)
{
	Bytes grh(GRH_BYTES, 0xee);

	grh_build(grh.data(), tclass, flow_label, bytes, hop_limit, kSgid.data(), kDgid.data());
	return grh;
}

TEST(Grh, IsBuiltByteForByte)
{
	EXPECT_EQ(header(0x68, 0x12345, 24, 64), Bytes(kFrame.begin(), kFrame.begin() + GRH_BYTES));
}

TEST(Grh, FieldsDoNotRunIntoOneAnother)
{
	const Bytes all = header(0xff, 0xffffffff, 0xffff, 0xff), none = header(0, 0, 0, 0);

	EXPECT_EQ(get_unaligned_be32(all.data()), 0x6fffffffu);
	EXPECT_EQ(get_unaligned_be32(none.data()), 0x60000000u);
	EXPECT_EQ(get_unaligned_be32(&all[4]), 0xffff1bffu);
	EXPECT_EQ(get_unaligned_be32(&none[4]), 0x00001b00u);
}

TEST(Grh, AnnouncesWhatIsBehindIt)
{
	for (u16 bytes : {0, 1, 16, 4136, 65535})
		EXPECT_EQ(grh_announces(header(0, 0, bytes, 1).data()), bytes);
}

TEST(Grh, OfAnyOtherVersionOrProtocolAnnouncesNothing)
{
	for (unsigned value = 0; value < 256; value++) {
		Bytes grh = header(0, 0, 16, 1);

		grh[0] = static_cast<u8>(value);
		EXPECT_EQ(grh_announces(grh.data()), value >> 4 == 6 ? 16u : 0u) << value;
		grh[0] = 0x60;
		grh[GRH_NEXT] = static_cast<u8>(value);
		EXPECT_EQ(grh_announces(grh.data()), value == 0x1b ? 16u : 0u) << value;
	}
}

// The packet as transmit makes it, from the same engine's header.
TEST(Grh, WholePacketIsBuiltByteForByte)
{
	Bytes frame = header(0x68, 0x12345, 24, 64);
	pkt k = {};
	icrc_memo memo = {};

	k.opcode = OP_SEND_ONLY;
	k.migrated = k.ack_req = true;
	k.pkey = PKEY_DEFAULT;
	k.dqpn = 0x12;
	k.psn = 0x4711;
	k.payload_bytes = 5;
	frame.resize(kFrame.size());
	EXPECT_EQ(pkt_build(&frame[GRH_BYTES], &k), u32{BTH_BYTES});
	memcpy(&frame[GRH_BYTES + BTH_BYTES], "hello", 5);

	u32 crc = icrc_start_grh(crc32_slice, &memo, frame.data());
	size_t body = GRH_BYTES + BTH_BYTES, end = frame.size() - ICRC_BYTES;
	crc = crc32_slice(crc, &frame[body], end - body);
	put_unaligned_le32(icrc_finish(crc), &frame[end]);
	EXPECT_EQ(frame, kFrame);
}

TEST(Grh, WholePacketIsReadBack)
{
	pkt k = {};

	ASSERT_EQ(grh_announces(kFrame.data()), kFrame.size() - GRH_BYTES);
	ASSERT_EQ(pkt_parse(&kFrame[GRH_BYTES], 24, 24, &k), PKT_OK);
	EXPECT_EQ(k.opcode, OP_SEND_ONLY);
	EXPECT_EQ(k.dqpn, 0x12u);
	EXPECT_EQ(k.psn, 0x4711u);
	EXPECT_EQ(k.payload_bytes, 5u);
}

} // namespace
