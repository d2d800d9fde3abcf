/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CRC-32 (reflected, 0xedb88320), fast enough that a simulation of tens of millions of packets does
 * not measure the CRC: PCLMUL folding where the CPU has it and the buffer is long, else slicing by
 * eight. Register convention of crc_fn in kernel/proto/icrc.h.
 */
#ifndef TERN_SIM_CRC32_H
#define TERN_SIM_CRC32_H

#include <cstddef>
#include <cstdint>

namespace sim {

uint32_t crc32_fast(uint32_t crc, const uint8_t *p, size_t n);

} /* namespace sim */

#endif
