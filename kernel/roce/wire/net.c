// SPDX-License-Identifier: GPL-2.0
/*
 * RoCE in a network namespace, and the start and stop of devices. See net.h for
 * the order in which they end.
 */
#include <linux/if_ether.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "core/device.h"
#include "roce/wire/mcast.h"
#include "roce/wire/net.h"
#include "roce/wire/rx.h"
#include "roce/wire/socket.h"

static unsigned int roce_net_id;

int roce_dev_start(struct tern_dev *dev)
{
	struct roce_net *rn = net_generic(dev->net, roce_net_id);
	struct roce_dev *rd;
	int err = 0;

	rd = kzalloc(sizeof(*rd), GFP_KERNEL);
	if (!rd)
		return -ENOMEM;
	rd->dev = dev;
	rd->rn = rn;
	rd->local = true;
	rd->cc = cc_all[0];
	rd->cc_params = cc_default_params;
	roce_gate_init(&rd->gate, dev->netdev);
	roce_mcast_dev_init(rd);

	mutex_lock(&rn->lock);
	if (rn->dying)
		err = -ENODEV;
	else if (!rn->links)
		err = roce_sockets_open(dev->net, rn);
	if (!err)
		rn->links++;
	mutex_unlock(&rn->lock);

	if (err) {
		roce_mcast_dev_uninit(rd);
		kfree(rd);
		return err;
	}
	dev->transport_data = rd;
	return 0;
}

void roce_dev_stop(struct tern_dev *dev)
{
	struct roce_dev *rd = to_roce_dev(dev);
	struct roce_net *rn = rd->rn;

	WARN_ON(!hlist_empty(&rd->gids));
	roce_mcast_dev_uninit(rd);

	mutex_lock(&rn->lock);
	if (!--rn->links)
		roce_sockets_close(rn);
	mutex_unlock(&rn->lock);

	synchronize_net();
	roce_gate_uninit(&rd->gate);
	dev->transport_data = NULL;
	kfree(rd);
}

static int __net_init roce_net_create(struct net *net)
{
	struct roce_net *rn = net_generic(net, roce_net_id);

	mutex_init(&rn->lock);
	spin_lock_init(&rn->table_lock);
	return roce_mcast_net_init(rn);
}

/* No device starts here any more; those that there are, link/ now stops. */
static void __net_exit roce_net_pre_exit(struct net *net)
{
	struct roce_net *rn = net_generic(net, roce_net_id);

	mutex_lock(&rn->lock);
	rn->dying = true;
	mutex_unlock(&rn->lock);
}

static void __net_exit roce_net_destroy(struct net *net)
{
	struct roce_net *rn = net_generic(net, roce_net_id);

	/* A socket must not outlive its namespace even if link/ let us down. */
	if (WARN_ON(rn->links))
		roce_sockets_close(rn);
	roce_mcast_net_uninit(rn);
	mutex_destroy(&rn->lock);
}

/*
 * A subsystem, not a device: on exit the core runs all device operations, and
 * subsystem operations registered after these, before roce_net_destroy().
 */
static struct pernet_operations roce_net_ops = {
	.init = roce_net_create,
	.pre_exit = roce_net_pre_exit,
	.exit = roce_net_destroy,
	.id = &roce_net_id,
	.size = sizeof(struct roce_net),
};

static int take_frame(struct sk_buff *skb, struct net_device *ndev, struct packet_type *type,
		      struct net_device *orig_ndev)
{
	roce_rx_frame(net_generic(dev_net(ndev), roce_net_id), skb);
	return NET_RX_SUCCESS;
}

/* Of RoCEv1, in all namespaces. One without a link has no GIDs, so the frame is dropped. */
static struct packet_type frames = {
	.type = cpu_to_be16(ETH_P_IBOE),
	.func = take_frame,
};

int roce_net_init(void)
{
	int err = register_pernet_subsys(&roce_net_ops);

	if (!err)
		dev_add_pack(&frames);
	return err;
}

void roce_net_exit(void)
{
	dev_remove_pack(&frames);
	unregister_pernet_subsys(&roce_net_ops);
	/* the last calls of sk_write_space callbacks (room.c) */
	synchronize_rcu();
}
