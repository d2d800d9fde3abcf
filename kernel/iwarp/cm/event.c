// SPDX-License-Identifier: GPL-2.0
/*
 * What iw_cm is told of an endpoint.
 */
#include <linux/in6.h>
#include <net/ipv6.h>

#include "iwarp/cm/ep.h"
#include "iwarp/cm/event.h"
#include "iwarp/stream/qp.h"
#include "iwarp/stream/start.h"

/* To rdma_cm an IPv4 connection of a dual-stack listener is one of IPv4. */
static void unmap_address(struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)addr;
	struct sockaddr_in four = { .sin_family = AF_INET };

	if (six->sin6_family != AF_INET6 || !ipv6_addr_v4mapped(&six->sin6_addr))
		return;
	four.sin_port = six->sin6_port;
	four.sin_addr.s_addr = six->sin6_addr.s6_addr32[3];
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, &four, sizeof(four));
}

void iw_event_describe(struct iw_ep *ep, struct iw_cm_event *event)
{
	bool known = ep->frame.enhanced;

	kernel_getsockname(ep->sock, (struct sockaddr *)&event->local_addr);
	kernel_getpeername(ep->sock, (struct sockaddr *)&event->remote_addr);
	unmap_address(&event->local_addr);
	unmap_address(&event->remote_addr);
	/* rdma_cm's initiator depth is the peer's IRD, its responder resources the peer's ORD. */
	event->ird = known ? min_t(u16, ep->frame.ird, U8_MAX) : IW_MAX_RD_ATOMIC;
	event->ord = known ? min_t(u16, ep->frame.ord, U8_MAX) : IW_MAX_RD_ATOMIC;
	/* iw_cm's length is a byte: what is beyond cannot be handed on. */
	event->private_data = ep->buf + ep->frame.private_at;
	event->private_data_len = (u8)min_t(u16, ep->frame.private_bytes, U8_MAX);
}

int iw_event_send(struct iw_ep *ep, enum iw_cm_event_type type, int status)
{
	struct iw_cm_event event = { .event = type, .status = status };
	int err;

	if (!ep->cm_id)
		return 0;
	if (type == IW_CM_EVENT_CONNECT_REPLY && (!status || status == -ECONNREFUSED))
		iw_event_describe(ep, &event);
	if (type == IW_CM_EVENT_ESTABLISHED) {
		u8 ird, ord;

		/* What was agreed on, in the terms of iw_event_describe(). */
		iw_qp_depths(ep->qp, &ird, &ord);
		event.ird = ord;
		event.ord = ird;
	}
	err = ep->cm_id->event_handler(ep->cm_id, &event);
	if (!err || WARN_ON_ONCE(!event.private_data_len))
		return err;
	/*
	 * iw_cm copies private data; for events without it keeps an entry. It must get this event.
	 */
	event.private_data = NULL;
	event.private_data_len = 0;
	event.status = status ?: err;
	ep->cm_id->event_handler(ep->cm_id, &event);
	return err;
}

void iw_event_forget_cm_id(struct iw_ep *ep)
{
	struct iw_cm_id *cm_id = ep->cm_id;

	ep->cm_id = NULL;
	if (cm_id)
		cm_id->rem_ref(cm_id);
}
