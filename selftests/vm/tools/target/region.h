/* SPDX-License-Identifier: GPL-2.0 */
// The memory that a hostile peer can address: regions with different rights, receive
// buffers and sinks, each between guard bytes, and all of it filled with one value, so
// that every written byte is found.
#ifndef TERN_VM_TARGET_REGION_H
#define TERN_VM_TARGET_REGION_H

#include <cstdint>
#include <vector>

#include "objects.h"

namespace vt {

// In the order in which the peer gets them.
enum Region {
	kOpen,	// all rights
	kRead,	// remote read only
	kWrite, // remote write only
	kNone,	// no remote right
	kAlien, // all rights, but of another PD than the QPs'
	kDead,	// had all rights, until it was deregistered
	kRegions
};

constexpr uint32_t kReceives = 16;
constexpr uint32_t kReceiveBytes = 256;
constexpr uint32_t kSinkBytes = 1000;

struct Changes {
	size_t inside = 0;  // bytes written where a valid request may write
	size_t outside = 0; // bytes written elsewhere
	size_t first = 0;   // where the first of these is
};

class Memory {
public:
	explicit Memory(ibv_context *context);

	ibv_pd *pd() const { return pd_.get(); }
	Remote remote(Region region) const;
	ibv_sge receive(uint32_t number) const;
	ibv_sge sink() const;

	// Counts the bytes that differ from the filling, and fills all memory again.
	Changes check();

private:
	struct Extent {
		size_t at, bytes;
	};
	size_t place(size_t bytes);
	bool may_change(size_t at) const;

	Pd pd_, alien_pd_;
	Buffer buffer_;
	size_t end_ = 0;
	Extent regions_[kRegions] = {};
	uint32_t keys_[kRegions] = {};
	std::vector<Mr> mrs_;
	Extent receives_[kReceives] = {};
	Extent sink_ = {};
	std::vector<Extent> changeable_;
};

} // namespace vt

#endif
