/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Address handle: what a UD WQE needs of it is the kernel's index. */
#ifndef TERN_PROVIDER_AH_H
#define TERN_PROVIDER_AH_H

#include <cstdint>

#include <infiniband/verbs.h>

namespace tern {

struct Ah {
	ibv_ah base; /* first: the application holds &base */
	uint32_t index;
};

inline const Ah *to_ah(const ibv_ah *ah)
{
	return reinterpret_cast<const Ah *>(ah);
}

} // namespace tern

#endif
