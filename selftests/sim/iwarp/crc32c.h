/* SPDX-License-Identifier: GPL-2.0 */
/* CRC32C (Castagnoli, reflected) by tables, as in MPA: start with ~0, invert at the end. */
#ifndef TERN_SIM_IW_CRC32C_H
#define TERN_SIM_IW_CRC32C_H

#include <cstddef>
#include <cstdint>

namespace sim {

uint32_t crc32c(uint32_t crc, const uint8_t *p, size_t n);

} /* namespace sim */

#endif
