/* SPDX-License-Identifier: GPL-2.0 */
// A heap that has enough for libibverbs, so that only the kernel's allocations fail.
#ifndef TERN_VM_HEAP_H
#define TERN_VM_HEAP_H

namespace vt {

// About 24 MiB, which malloc() keeps.
void grow_heap();

} // namespace vt

#endif
