/* SPDX-License-Identifier: GPL-2.0 */
// A heap that has what libibverbs will ask for, so that what there is no memory for is the kernel's.
#ifndef TERN_VM_HEAP_H
#define TERN_VM_HEAP_H

namespace vt {

// Some 24 MiB, which malloc() keeps.
void grow_heap();

} // namespace vt

#endif
