// SPDX-License-Identifier: GPL-2.0
#include "crc32c.h"

#include "crc_tables.h"

namespace sim {

uint32_t crc32c(uint32_t crc, const uint8_t *p, size_t n)
{
	static constexpr CrcTables tables(0x82f63b78);

	return tables.add(crc, p, n);
}

} /* namespace sim */
