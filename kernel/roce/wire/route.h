/* SPDX-License-Identifier: GPL-2.0 */
/*
 * IP routes of outgoing packets, one cached per QP in its accounting socket. Both
 * functions: by the owner of the run lock, BHs off.
 */
#ifndef TERN_ROCE_WIRE_ROUTE_H
#define TERN_ROCE_WIRE_ROUTE_H

struct dst_entry;
struct roce_path;
struct roce_tx;
struct tern_dev;

/*
 * The route to path, which is not RoCEv1's, or an ERR_PTR. tx's socket holds it, so it is good in
 * the caller's RCU section. A QP with one peer looks it up once, a UD QP each time
 * that it turns to another peer.
 */
struct dst_entry *roce_tx_route(struct roce_tx *tx, const struct roce_path *path);

/*
 * The device of this network stack that packets to path, of whatever network, would come
 * in by, over `lo`. NULL: they leave the host, or are to go as packets.
 */
struct tern_dev *roce_tx_peer_dev(struct roce_tx *tx, const struct roce_path *path);

#endif
