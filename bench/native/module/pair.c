// SPDX-License-Identifier: GPL-2.0
/*
 * The two ends: devices, their interfaces and addresses, one registered buffer
 * each, and two RC QPs of a kernel consumer, connected without a CM over RoCEv2.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/inetdevice.h>
#include <linux/slab.h>

#include "bench.h"
#include "consumer.h"	/* selftests/vm/modules/ */

#define CQ_ENTRIES	(2 * BENCH_LIST)
#define TIMEOUT		16	/* 268 ms: a retry would be seen in the figures */

/* RoCE: a reference to the GID entry keeps the entry, and the entry its netdev. */
static struct net_device *find_roce_netdev(struct bench_end *e)
{
	struct net_device *ndev;

	e->sgid = consumer_find_gid(e->dev);
	if (IS_ERR(e->sgid)) {
		ndev = ERR_CAST(e->sgid);
		e->sgid = NULL;
		return ndev;
	}
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(e->sgid);
	if (!IS_ERR(ndev))
		dev_hold(ndev);
	rcu_read_unlock();
	return ndev;
}

static struct net_device *find_iwarp_netdev(struct ib_device *dev)
{
	struct net_device *ndev;

	rcu_read_lock();
	ndev = rcu_dereference(dev->port_data[CONSUMER_PORT].netdev);
	dev_hold(ndev);
	rcu_read_unlock();
	return ndev ?: ERR_PTR(-ENODEV);
}

int bench_end_open(struct bench_end *e, struct ib_device *dev)
{
	struct net_device *ndev;

	e->dev = dev;	/* with the caller's reference */
	ndev = rdma_protocol_iwarp(dev, CONSUMER_PORT) ? find_iwarp_netdev(dev) : find_roce_netdev(e);
	if (IS_ERR(ndev))
		return PTR_ERR(ndev);
	e->ndev = ndev;
	e->ip = inet_select_addr(ndev, 0, RT_SCOPE_UNIVERSE);
	if (!e->ip)
		return -EADDRNOTAVAIL;
	e->buf = kmalloc(BENCH_BUF_BYTES, GFP_KERNEL);
	if (!e->buf)
		return -ENOMEM;
	e->addr = ib_dma_map_single(dev, e->buf, BENCH_BUF_BYTES, DMA_BIDIRECTIONAL);
	return ib_dma_mapping_error(dev, e->addr) ? -ENOMEM : 0;
}

void bench_end_close(struct bench_end *e)
{
	if (e->addr)
		ib_dma_unmap_single(e->dev, e->addr, BENCH_BUF_BYTES, DMA_BIDIRECTIONAL);
	kfree(e->buf);
	dev_put(e->ndev);
	if (e->sgid)
		rdma_put_gid_attr(e->sgid);
	if (e->dev)
		ib_device_put(e->dev);
	memset(e, 0, sizeof(*e));
}

/* ---- queues ---- */

void bench_queues_destroy(struct bench_end *e)
{
	if (e->rcq)
		ib_destroy_cq(e->rcq);
	if (e->scq)
		ib_destroy_cq(e->scq);
	if (e->pd)
		ib_dealloc_pd(e->pd);
	e->rcq = NULL;
	e->scq = NULL;
	e->pd = NULL;
}

int bench_queues_create(struct bench_end *e, u32 entries)
{
	struct ib_cq_init_attr cq = { .cqe = entries };
	void *made;

	made = ib_alloc_pd(e->dev, IB_PD_UNSAFE_GLOBAL_RKEY);
	if (IS_ERR(made))
		return PTR_ERR(made);
	e->pd = made;

	made = ib_create_cq(e->dev, NULL, NULL, NULL, &cq);
	if (IS_ERR(made))
		goto failed;
	e->scq = made;
	made = ib_create_cq(e->dev, NULL, NULL, NULL, &cq);
	if (IS_ERR(made))
		goto failed;
	e->rcq = made;
	return 0;

failed:
	bench_queues_destroy(e);
	return PTR_ERR(made);
}

static void end_destroy(struct bench_end *e)
{
	if (e->qp)
		ib_destroy_qp(e->qp);
	e->qp = NULL;
	bench_queues_destroy(e);
}

static int end_create(struct bench_end *e)
{
	struct ib_qp_init_attr init = {
		.cap = {
			.max_send_wr = 2 * BENCH_LIST,
			.max_recv_wr = 2 * BENCH_LIST,
			.max_send_sge = 1,
			.max_inline_data = BENCH_INLINE,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *made;
	int err = bench_queues_create(e, CQ_ENTRIES);

	if (err)
		return err;
	init.send_cq = e->scq;
	init.recv_cq = e->rcq;
	made = ib_create_qp(e->pd, &init);
	if (IS_ERR(made)) {
		end_destroy(e);
		return PTR_ERR(made);
	}
	e->qp = made;
	return 0;
}

int bench_connect(struct bench_subject *s, enum ib_mtu mtu)
{
	int err;

	err = end_create(&s->a);
	if (err)
		return err;
	err = end_create(&s->b);
	if (err) {
		end_destroy(&s->a);
		return err;
	}
	err = consumer_to_init(s->a.qp) ?:
	      consumer_to_init(s->b.qp) ?:
	      consumer_to_rtr(s->a.qp, s->a.sgid, s->b.qp, s->b.sgid, mtu) ?:
	      consumer_to_rtr(s->b.qp, s->b.sgid, s->a.qp, s->a.sgid, mtu) ?:
	      consumer_to_rts(s->a.qp, TIMEOUT) ?:
	      consumer_to_rts(s->b.qp, TIMEOUT);
	if (err)
		bench_disconnect(s);
	return err;
}

void bench_disconnect(struct bench_subject *s)
{
	end_destroy(&s->a);
	end_destroy(&s->b);
}
