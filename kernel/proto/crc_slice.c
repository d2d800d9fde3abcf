// SPDX-License-Identifier: GPL-2.0
/*
 * Slicing: each byte's contribution to the register is looked up separately, in a table for the
 * number of bytes that follow it. So of sixteen bytes only the first four wait for the register
 * before them.
 */
#include "crc_entries.h"
#include "crc_slice.h"

const u32 crc32_slices[CRC32_SLICES][256] = {
	{ ENTRIES256(0x77073096u, 0xee0e612cu, 0x076dc419u, 0x0edb8832u,
		     0x1db71064u, 0x3b6e20c8u, 0x76dc4190u, 0xedb88320u) },
	{ ENTRIES256(0x191b3141u, 0x32366282u, 0x646cc504u, 0xc8d98a08u,
		     0x4ac21251u, 0x958424a2u, 0xf0794f05u, 0x3b83984bu) },
	{ ENTRIES256(0x01c26a37u, 0x0384d46eu, 0x0709a8dcu, 0x0e1351b8u,
		     0x1c26a370u, 0x384d46e0u, 0x709a8dc0u, 0xe1351b80u) },
	{ ENTRIES256(0xb8bc6765u, 0xaa09c88bu, 0x8f629757u, 0xc5b428efu,
		     0x5019579fu, 0xa032af3eu, 0x9b14583du, 0xed59b63bu) },
	{ ENTRIES256(0x3d6029b0u, 0x7ac05360u, 0xf580a6c0u, 0x30704bc1u,
		     0x60e09782u, 0xc1c12f04u, 0x58f35849u, 0xb1e6b092u) },
	{ ENTRIES256(0xcb5cd3a5u, 0x4dc8a10bu, 0x9b914216u, 0xec53826du,
		     0x03d6029bu, 0x07ac0536u, 0x0f580a6cu, 0x1eb014d8u) },
	{ ENTRIES256(0xa6770bb4u, 0x979f1129u, 0xf44f2413u, 0x33ef4e67u,
		     0x67de9cceu, 0xcfbd399cu, 0x440b7579u, 0x8816eaf2u) },
	{ ENTRIES256(0xccaa009eu, 0x4225077du, 0x844a0efau, 0xd3e51bb5u,
		     0x7cbb312bu, 0xf9766256u, 0x299dc2edu, 0x533b85dau) },
	{ ENTRIES256(0x177b1443u, 0x2ef62886u, 0x5dec510cu, 0xbbd8a218u,
		     0xacc04271u, 0x82f182a3u, 0xde920307u, 0x6655004fu) },
	{ ENTRIES256(0xefc26b3eu, 0x04f5d03du, 0x09eba07au, 0x13d740f4u,
		     0x27ae81e8u, 0x4f5d03d0u, 0x9eba07a0u, 0xe6050901u) },
	{ ENTRIES256(0xc18edfc0u, 0x586cb9c1u, 0xb0d97382u, 0xbac3e145u,
		     0xaef6c4cbu, 0x869c8fd7u, 0xd64819efu, 0x77e1359fu) },
	{ ENTRIES256(0x9ba54c6fu, 0xec3b9e9fu, 0x03063b7fu, 0x060c76feu,
		     0x0c18edfcu, 0x1831dbf8u, 0x3063b7f0u, 0x60c76fe0u) },
	{ ENTRIES256(0xdd96d985u, 0x605cb54bu, 0xc0b96a96u, 0x5a03d36du,
		     0xb407a6dau, 0xb37e4bf5u, 0xbd8d91abu, 0xa06a2517u) },
	{ ENTRIES256(0x9d0fe176u, 0xe16ec4adu, 0x19ac8f1bu, 0x33591e36u,
		     0x66b23c6cu, 0xcd6478d8u, 0x41b9f7f1u, 0x8373efe2u) },
	{ ENTRIES256(0xb9fbdbe8u, 0xa886b191u, 0x8a7c6563u, 0xcf89cc87u,
		     0x44629f4fu, 0x88c53e9eu, 0xcafb7b7du, 0x4e87f0bbu) },
	{ ENTRIES256(0xae689191u, 0x87a02563u, 0xd4314c87u, 0x73139f4fu,
		     0xe6273e9eu, 0x173f7b7du, 0x2e7ef6fau, 0x5cfdedf4u) },
};

u32 crc32_slice(u32 crc, const u8 *p, size_t n)
{
	for (; n >= 16; p += 16, n -= 16)
		crc = crc32_of_word(get_unaligned_le32(p + 4), 8) ^
		      crc32_of_word(get_unaligned_le32(p + 8), 4) ^
		      crc32_of_word(get_unaligned_le32(p + 12), 0) ^
		      crc32_of_word(get_unaligned_le32(p) ^ crc, 12);
	for (; n >= 4; p += 4, n -= 4)
		crc = crc32_of_word(get_unaligned_le32(p) ^ crc, 0);
	while (n--)
		crc = (crc >> 8) ^ crc32_slices[0][(crc ^ *p++) & 0xff];
	return crc;
}
