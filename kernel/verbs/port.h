/* SPDX-License-Identifier: GPL-2.0 */
/* The verbs of the device's port. */
#ifndef TERN_VERBS_PORT_H
#define TERN_VERBS_PORT_H

#include <rdma/ib_verbs.h>

int tern_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr);
int tern_modify_port(struct ib_device *ibdev, u32 port, int mask, struct ib_port_modify *modify);
int tern_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
int tern_get_port_immutable(struct ib_device *ibdev, u32 port,
			    struct ib_port_immutable *immutable);
enum rdma_link_layer tern_get_link_layer(struct ib_device *ibdev, u32 port);

#endif
