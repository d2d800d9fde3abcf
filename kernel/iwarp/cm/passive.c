// SPDX-License-Identifier: GPL-2.0
/*
 * The passive side: listeners, and iw_cm's answers to the requests that came by them.
 */
#include <net/ip.h>
#include <net/tcp.h>
#include <rdma/iw_cm.h>

#include "core/device.h"
#include "iwarp/cm/callbacks.h"
#include "iwarp/cm/cmid.h"
#include "iwarp/cm/end.h"
#include "iwarp/cm/ep.h"
#include "iwarp/cm/event.h"
#include "iwarp/cm/passive.h"
#include "iwarp/cm/request.h"
#include "iwarp/cm/startup.h"
#include "iwarp/cm/step.h"
#include "iwarp/stream/close.h"

static int start_listen(struct iw_ep *ep, const struct iw_cm_id *cm_id, int backlog)
{
	const struct sockaddr_storage *addr = &cm_id->m_local_addr;
	struct sock *sk = ep->sock->sk;
	int err;

	if (addr->ss_family == AF_INET6 && cm_id->afonly)
		ip6_sock_set_v6only(sk);
	/* What it accepts inherits that. */
	if (cm_id->tos_set)
		iw_sock_set_tos(ep->sock->sk, cm_id->tos);
	/* A wildcard is this device's: each may listen on one port. */
	if (iw_addr_is_wildcard(addr))
		sk->sk_bound_dev_if = ep->dev->netdev->ifindex;
	err = iw_addr_bind(ep->sock, addr);
	if (err)
		return err;
	iw_callbacks_attach(ep);
	/* The application's backlog counts MPA requests; iw_cm keeps it. */
	err = kernel_listen(ep->sock, max(backlog, 128));
	if (err)
		iw_callbacks_detach(ep);
	return err;
}

int iw_create_listen(struct iw_cm_id *cm_id, int backlog)
{
	struct iw_ep *ep;
	int err;

	/* A listener on any address is asked of all links; not for those of other namespaces. */
	if (!iw_is_in_namespace(cm_id))
		return iw_addr_is_wildcard(&cm_id->m_local_addr) ? 0 : -ENODEV;
	ep = iw_step_create(to_tern_dev(cm_id->device), cm_id->m_local_addr.ss_family,
			  IW_START_RCVBUF_BYTES);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	iw_ep_lock(ep);
	err = start_listen(ep, cm_id, backlog);
	if (!err) {
		iw_ep_set_state(ep, IW_EP_LISTENING);
		cm_id->add_ref(cm_id);
		cm_id->provider_data = ep;
		ep->cm_id = cm_id;
	}
	iw_ep_unlock(ep);
	if (err)
		iw_ep_put(ep);
	return err;
}

/* The listener of a connection that came in goes. */
static void end_child(struct iw_ep *ep)
{
	iw_ep_lock(ep);
	if (ep->state == IW_EP_WAIT_REQUEST)
		iw_ep_reset(ep, -ECONNABORTED);
	else if (ep->state == IW_EP_REQUESTED)
		iw_ep_start_timer(ep, IW_ANSWER_TIMEOUT);
	iw_ep_unlock(ep);
}

int iw_destroy_listen(struct iw_cm_id *cm_id)
{
	struct iw_ep *ep = cm_id->provider_data;
	struct iw_ep *child;

	if (!ep)
		return 0;	/* not in its namespace */
	iw_ep_lock(ep);
	iw_ep_set_state(ep, IW_EP_DEAD);
	iw_callbacks_detach(ep);
	iw_event_forget_cm_id(ep);
	/* Work may still hold the endpoint: no peer may connect to it. */
	kernel_sock_shutdown(ep->sock, SHUT_RDWR);
	while ((child = list_first_entry_or_null(&ep->children, struct iw_ep, child))) {
		list_del_init(&child->child);
		ep->num_children--;
		iw_ep_get(child);
		/* A child takes its own lock first, then ours. */
		iw_ep_unlock(ep);
		end_child(child);
		iw_ep_put(child);
		iw_ep_lock(ep);
	}
	iw_ep_unlock(ep);
	iw_ep_put(ep);
	return 0;
}

int iw_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct iw_ep *ep = iw_request_take((uintptr_t)cm_id->provider_data);
	struct mpa_frame reply;
	struct mpa_terms terms;
	int err = -ECONNRESET;

	if (!ep)
		return err;
	iw_ep_lock(ep);
	if (ep->state != IW_EP_REQUESTED)
		goto fail;
	iw_ep_leave_listener(ep);
	err = -EINVAL;
	if (param->private_data_len > MPA_MAX_PRIVATE_BYTES - MPA_ENHANCED_BYTES)
		goto fail;
	iw_startup_set_offer(ep, param, MPA_RTR_WRITE | MPA_RTR_READ);
	/* Also if it has no first message that we know: it is told, and has to end it. */
	mpa_accept(&ep->offer, &ep->frame, &terms, &reply);
	err = iw_startup_attach_qp(ep, cm_id, param->qpn);
	if (err)
		goto fail;
	err = iw_startup_open(ep, &terms, false);
	if (err)
		goto fail;
	/* Only the reply can be first: the data path has no socket callbacks yet. */
	err = iw_startup_send_frame(ep, &reply, param->private_data, param->private_data_len);
	if (err) {
		iw_ep_set_state(ep, IW_EP_REQUESTED);	/* no event: the error tells it */
		iw_qp_closed(ep->qp);
		goto fail;
	}
	cm_id->add_ref(cm_id);
	ep->cm_id = cm_id;
	iw_event_send(ep, IW_CM_EVENT_ESTABLISHED, 0);
	iw_startup_run(ep);
	iw_ep_unlock(ep);
	iw_ep_put(ep);
	return 0;

fail:
	iw_ep_reset(ep, err);
	iw_ep_unlock(ep);
	iw_ep_put(ep);
	return err;
}

int iw_reject(struct iw_cm_id *cm_id, const void *data, u8 bytes)
{
	struct iw_ep *ep = iw_request_take((uintptr_t)cm_id->provider_data);
	struct mpa_offer mine = { .revision = 2 };
	struct mpa_frame reply;
	int err = -ECONNRESET;

	if (!ep)
		return err;
	iw_ep_lock(ep);
	if (ep->state == IW_EP_REQUESTED) {
		mpa_reject(&mine, &ep->frame, &reply);
		err = iw_startup_send_frame(ep, &reply, data, bytes);
		iw_ep_end(ep, 0);
	}
	iw_ep_unlock(ep);
	iw_ep_put(ep);
	return err;
}
