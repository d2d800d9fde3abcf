/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The service level in a receive's completion, and that of an address.
 *
 * A UD completion of RoCEv2 tells the IP version of the datagram (IBTA A17.4.5.1), but struct
 * ibv_wc has no member for it. mlx5's adapters put it into sl, and UCX up to 1.13 reads it
 * there on any device: it drops a datagram whose sl does not have it. So tern's sl has it too:
 * 8 plus the version. Ethernet priorities and the levels of an address are 0 to 7; the
 * datagram's is in the bits above, so that the address of an answer, which
 * ibv_init_ah_from_wc() makes with this sl, still has it.
 */
#ifndef TERN_PROVIDER_SL_H
#define TERN_PROVIDER_SL_H

#include <cstdint>

#include "tern-abi.h"

namespace tern {

inline constexpr uint8_t kSlSaysVersion = 8;
inline constexpr uint8_t kSlIpv6 = 1;
inline constexpr uint8_t kSlIpv4 = 2;
inline constexpr uint8_t kSlPriorities = 7; /* mask */
inline constexpr uint8_t kSlPriorityShift = 4;

/* The sl of an ibv_wc. */
inline uint8_t sl_of_cqe(const tern_cqe &cqe)
{
	if (!(cqe.wc_flags & TERN_WC_WITH_NETWORK_HDR) ||
	    cqe.network_hdr_type == TERN_NETWORK_ROCE_V1)
		return cqe.sl;
	return static_cast<uint8_t>(
		(cqe.sl & kSlPriorities) << kSlPriorityShift | kSlSaysVersion |
		(cqe.network_hdr_type == TERN_NETWORK_IPV4 ? kSlIpv4 : kSlIpv6));
}

/* The level of an address for the kernel, from the program's sl. */
inline uint8_t sl_of_address(uint8_t sl)
{
	return sl & kSlSaysVersion ? sl >> kSlPriorityShift & kSlPriorities : sl;
}

} // namespace tern

#endif
