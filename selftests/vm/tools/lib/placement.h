/* SPDX-License-Identifier: GPL-2.0 */
// FLUSH and ATOMIC WRITE (IBTA annex A19), for tests that are built with any rdma-core: names
// that older headers lack, and what a device and a libibverbs can do.
#ifndef TERN_VM_PLACEMENT_H
#define TERN_VM_PLACEMENT_H

#include <cstdint>

#include <infiniband/verbs.h>

#include "device.h"

namespace vt {

constexpr auto kWrFlush = static_cast<ibv_wr_opcode>(14);
constexpr auto kWrAtomicWrite = static_cast<ibv_wr_opcode>(15);
constexpr auto kWcFlush = static_cast<ibv_wc_opcode>(8);
constexpr auto kWcAtomicWrite = static_cast<ibv_wc_opcode>(9);
constexpr uint64_t kWithFlush = 1u << 11, kWithAtomicWrite = 1u << 12;
constexpr int kAccessFlushGlobal = 1 << 8, kAccessFlushPersistent = 1 << 9;
constexpr int kAccessFlush = kAccessFlushGlobal | kAccessFlushPersistent;
constexpr uint64_t kCapFlushGlobal = 1ull << 38, kCapFlushPersistent = 1ull << 39,
		   kCapAtomicWrite = 1ull << 40;

enum Placement : uint8_t { kGlobal = 1, kPersistent = 2 };
enum Selectivity : uint8_t { kRange = 0, kRegion = 1 };

// What a request of either kind needs besides those of a WRITE.
struct FlushArgs {
	size_t bytes = 0; // of the range
	uint8_t placement = kGlobal, selectivity = kRange;
};

// Does the device say that it has them?
inline bool has_cap(const Device &device, uint64_t cap)
{
	return device.attr_ex().device_cap_flags_ex & cap;
}

// Those of kWithFlush and kWithAtomicWrite that this libibverbs and the device have.
uint64_t placement_ops(const Device &device);

// Is this end fit for FLUSHes that the client posts? tern's provider is helped if the libibverbs is
// older than 45.
bool can_flush(const Device &device, bool client);

// Between ibv_wr_start() and ibv_wr_complete(): one request. wr_id must be new to the QP.
void wr_atomic_write(ibv_qp_ex *qp, uint32_t rkey, uint64_t va, const void *value);
void wr_flush(ibv_qp_ex *qp, uint32_t rkey, uint64_t va, const FlushArgs &args);

} // namespace vt

#endif
