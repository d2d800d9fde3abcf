/* SPDX-License-Identifier: GPL-2.0 */
// Long messages from the client to the server, many in flight. Their memory is overwritten
// as soon as they have completed, and the server verifies every byte. So the test notices if
// the stream reads memory whose request has completed.
#ifndef TERN_VM_STREAM_H
#define TERN_VM_STREAM_H

#include <cstdint>

#include "endpoint.h"

namespace vt {

struct StreamOptions {
	unsigned rounds;
	uint32_t max_bytes;
	uint64_t seed;
};

// Connects, and moves the messages of all rounds; returns their bytes, verified.
uint64_t stream(Endpoint &endpoint, bool client, const StreamOptions &options);

} // namespace vt

#endif
