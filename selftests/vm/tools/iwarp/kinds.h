/* SPDX-License-Identifier: GPL-2.0 */
// One message of each kind that iWARP has, from both ends, for tests that capture the wire.
#ifndef TERN_VM_KINDS_H
#define TERN_VM_KINDS_H

#include "endpoint.h"

namespace vt {

// Connects, has each kind sent and checked, and ends with a Terminate.
void every_kind(Endpoint &endpoint, bool client);

} // namespace vt

#endif
