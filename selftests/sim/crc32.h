/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CRC-32 (reflected, 0xedb88320), fast enough not to be what a simulation of
 * tens of millions of packets measures: PCLMUL folding where the CPU has it
 * and the buffer is long, slicing by eight otherwise. Register convention of
 * crc_fn in kernel/proto/icrc.h.
 */
#ifndef TERN_SIM_CRC32_H
#define TERN_SIM_CRC32_H

#include <cstddef>
#include <cstdint>

namespace sim {

uint32_t crc32_fast(uint32_t crc, const uint8_t *p, size_t n);

} /* namespace sim */

#endif
