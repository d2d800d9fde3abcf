/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A port and ib_core: changes of the GID table, and what ib_core is told of the
 * port, which decides whether index 0 of that table is an address that exists.
 */
#ifndef TERN_ROCE_WIRE_PORT_H
#define TERN_ROCE_WIRE_PORT_H

struct ib_gid_attr;
struct ib_port_immutable;
struct tern_dev;

/* ib_device_ops.add_gid and del_gid. ib_core serialises both for one entry. They sleep. */
int roce_add_gid(const struct ib_gid_attr *attr, void **context);
int roce_del_gid(const struct ib_gid_attr *attr, void **context);

/* During ib_register_device(). */
void roce_port_immutable(struct tern_dev *dev, struct ib_port_immutable *immutable);
/* Registered, no client or user yet. Takes the RTNL. */
int roce_dev_enable(struct tern_dev *dev);

#endif
