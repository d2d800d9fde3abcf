/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A tern device from allocation to its end. link/ decides when.
 */
#ifndef TERN_DEVICE_H
#define TERN_DEVICE_H

#include "objects.h"
#include "transport.h"

#ifndef TERN_VERSION
#define TERN_VERSION "0.1.0"
#endif

/*
 * A device for netdev, not yet registered; holds the netdev. rtnl held, netdev
 * registered. The caller adds dealloc_driver to its ops, which must end with
 * tern_device_destroy(), and disposes of the device by ib_dealloc_device()
 * until registration has succeeded, by ib_unregister_device*() after. ERR_PTR.
 */
struct tern_dev *tern_device_create(const struct tern_transport_ops *transport,
				    struct net_device *netdev);

/*
 * Start the transport and register with ib_core. On success the device may be
 * gone when this returns (somebody unregistered it). Sleeps; rtnl not held.
 */
int tern_device_register(struct tern_dev *dev, const char *name);

/* In dealloc_driver: everything of the device but its memory ends. Sleeps. */
void tern_device_destroy(struct tern_dev *dev);

#endif
