/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Address handles: the kernel's index, which a UD WQE needs, and addresses in commands. */
#ifndef TERN_PROVIDER_AH_H
#define TERN_PROVIDER_AH_H

#include <cstdint>
#include <cstring>

#include <infiniband/verbs.h>

#include "sl.h"

namespace tern {

struct Ah {
	ibv_ah base; /* first: the application holds &base */
	uint32_t index;
};

inline const Ah *to_ah(const ibv_ah *ah)
{
	return reinterpret_cast<const Ah *>(ah);
}

/*
 * An address for the kernel. In a create_ah command the GRH's fields are a structure within the
 * rest, in a modify_qp command (ib_uverbs_qp_dest) both are one.
 */
template <typename Grh, typename Rest>
void fill_address(const ibv_ah_attr &attr, Grh *grh, Rest *rest)
{
	rest->dlid = attr.dlid;
	rest->sl = sl_of_address(attr.sl);
	rest->src_path_bits = attr.src_path_bits;
	rest->static_rate = attr.static_rate;
	rest->is_global = attr.is_global;
	rest->port_num = attr.port_num;
	if (!attr.is_global)
		return;
	memcpy(grh->dgid, attr.grh.dgid.raw, sizeof(grh->dgid));
	grh->flow_label = attr.grh.flow_label;
	grh->sgid_index = attr.grh.sgid_index;
	grh->hop_limit = attr.grh.hop_limit;
	grh->traffic_class = attr.grh.traffic_class;
}

} // namespace tern

#endif
