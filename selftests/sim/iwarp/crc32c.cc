// SPDX-License-Identifier: GPL-2.0
#include "crc32c.h"

#include <cstring>

namespace sim {
namespace {

/* Eight bytes at a time. */
struct Tables {
	uint32_t t[8][256];

	Tables()
	{
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;

			for (int k = 0; k < 8; k++)
				c = (c >> 1) ^ (c & 1 ? 0x82f63b78u : 0);
			t[0][i] = c;
		}
		for (uint32_t i = 0; i < 256; i++)
			for (int k = 1; k < 8; k++)
				t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 0xff];
	}
};

const Tables tables;

} /* namespace */

uint32_t crc32c(uint32_t crc, const uint8_t *p, size_t n)
{
	const auto &t = tables.t;

	for (; n >= 8; p += 8, n -= 8) {
		uint64_t w;

		memcpy(&w, p, 8);
		w ^= crc;
		crc = t[7][w & 0xff] ^ t[6][(w >> 8) & 0xff] ^ t[5][(w >> 16) & 0xff] ^
		      t[4][(w >> 24) & 0xff] ^ t[3][(w >> 32) & 0xff] ^ t[2][(w >> 40) & 0xff] ^
		      t[1][(w >> 48) & 0xff] ^ t[0][w >> 56];
	}
	while (n--)
		crc = (crc >> 8) ^ t[0][(crc ^ *p++) & 0xff];
	return crc;
}

} /* namespace sim */
