/* SPDX-License-Identifier: GPL-2.0 */
/* A reflected CRC of 32 bits by tables, eight bytes at a time; a register in, a register out. */
#ifndef TERN_SIM_CRC_TABLES_H
#define TERN_SIM_CRC_TABLES_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sim {

class CrcTables {
public:
	explicit constexpr CrcTables(uint32_t polynomial)
	{
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;

			for (int k = 0; k < 8; k++)
				c = (c >> 1) ^ (c & 1 ? polynomial : 0);
			t_[0][i] = c;
		}
		for (uint32_t i = 0; i < 256; i++)
			for (int k = 1; k < 8; k++)
				t_[k][i] = (t_[k - 1][i] >> 8) ^ t_[0][t_[k - 1][i] & 0xff];
	}

	uint32_t add(uint32_t crc, const uint8_t *p, size_t n) const
	{
		for (; n >= 8; p += 8, n -= 8) {
			uint64_t w;

			memcpy(&w, p, 8);
			w ^= crc;
			crc = t_[7][w & 0xff] ^ t_[6][(w >> 8) & 0xff] ^ t_[5][(w >> 16) & 0xff] ^
			      t_[4][(w >> 24) & 0xff] ^ t_[3][(w >> 32) & 0xff] ^
			      t_[2][(w >> 40) & 0xff] ^ t_[1][(w >> 48) & 0xff] ^ t_[0][w >> 56];
		}
		while (n--)
			crc = (crc >> 8) ^ t_[0][(crc ^ *p++) & 0xff];
		return crc;
	}

private:
	uint32_t t_[8][256] = {};
};

} /* namespace sim */

#endif
