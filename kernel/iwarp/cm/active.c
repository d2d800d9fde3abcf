// SPDX-License-Identifier: GPL-2.0
/*
 * The active side: iw_cm's connect. It ends where TCP's handshake begins; the rest are steps
 * (startup.c).
 */
#include <net/ip.h>
#include <net/tcp.h>
#include <rdma/rdma_cm.h>

#include "core/device.h"
#include "iwarp/cm/active.h"
#include "iwarp/cm/callbacks.h"
#include "iwarp/cm/cmid.h"
#include "iwarp/cm/ep.h"
#include "iwarp/cm/startup.h"
#include "iwarp/cm/step.h"
#include "iwarp/stream/cmref.h"

static int start_connect(struct iw_ep *ep, const struct iw_cm_id *cm_id,
			 const struct sockaddr_storage *from)
{
	const struct sockaddr_storage *to = &cm_id->m_remote_addr;
	int err;

	if (cm_id->tos_set)
		iw_sock_set_tos(ep->sock->sk, cm_id->tos);
	err = iw_addr_bind(ep->sock, from);
	if (err)
		return err;
	iw_callbacks_attach(ep);
	err = kernel_connect(ep->sock, tern_sockaddr(to), iw_addr_bytes(to), O_NONBLOCK);
	if (!err || err == -EINPROGRESS)
		return 0;
	iw_callbacks_detach(ep);
	return err;
}

/* Is it a port that nobody asked for: one of those that are handed out? */
static bool is_ephemeral(const struct tern_dev *dev, const struct sockaddr_storage *addr)
{
	/* IPv6 has its port in the same place. */
	int port = ntohs(((const struct sockaddr_in *)addr)->sin_port);
	int low, high;

	inet_get_local_port_range(dev->net, &low, &high);
	return port >= low && port <= high;
}

/* rdma_cm's port was free among its own; to TCP it may be taken, or too young to reuse. */
static int start_connect_anywhere(struct iw_ep *ep, const struct iw_cm_id *cm_id)
{
	struct sockaddr_storage from = cm_id->m_local_addr;
	struct socket *sock;
	int err;

	err = iw_sock_create(ep->dev, from.ss_family, IW_RCVBUF_BYTES, &sock);
	if (err)
		return err;
	iw_sock_release(ep->sock);
	ep->sock = sock;
	iw_sock_pick_port(sock);
	((struct sockaddr_in *)&from)->sin_port = 0;
	return start_connect(ep, cm_id, &from);
}

int iw_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct tern_dev *dev = to_tern_dev(cm_id->device);
	struct iw_ep *ep;
	int err;

	if (param->private_data_len > MPA_MAX_PRIVATE_BYTES - MPA_ENHANCED_BYTES)
		return -EINVAL;
	/* Before Linux 6.5 rdma_cm finds a link by its hardware address, wherever that is. */
	if (!iw_is_in_namespace(cm_id))
		return -ENODEV;
	ep = iw_step_create(dev, cm_id->m_remote_addr.ss_family, IW_RCVBUF_BYTES);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	iw_ep_lock(ep);
	iw_startup_set_offer(ep, param, MPA_RTR_WRITE);
	/* Kept where the peer's frame comes later. */
	memcpy(ep->buf, param->private_data, param->private_data_len);
	ep->own_bytes = param->private_data_len;

	err = iw_startup_attach_qp(ep, cm_id, param->qpn);
	if (err)
		goto fail;
	iw_ep_set_state(ep, IW_EP_CONNECTING);
	err = start_connect(ep, cm_id, &cm_id->m_local_addr);
	if ((err == -EADDRINUSE || err == -EADDRNOTAVAIL) &&
	    is_ephemeral(dev, &cm_id->m_local_addr))
		err = start_connect_anywhere(ep, cm_id);
	if (err)
		goto fail;
	cm_id->add_ref(cm_id);
	cm_id->provider_data = ep;
	ep->cm_id = cm_id;
	iw_ep_start_timer(ep, READ_ONCE(dev->peer_timeout_s) * HZ);
	iw_ep_unlock(ep);
	iw_ep_kick(ep);
	iw_ep_put(ep);		/* the QP has one */
	return 0;

fail:
	iw_ep_set_state(ep, IW_EP_DEAD);
	iw_qp_detach(ep->qp, ep);
	ep->qp = NULL;
	iw_ep_unlock(ep);
	iw_ep_put(ep);
	return err;
}
