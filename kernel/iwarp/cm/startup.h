/* SPDX-License-Identifier: GPL-2.0 */
/*
 * MPA's start-up: from a TCP connection to FPDUs. ep->lock held; may sleep.
 */
#ifndef TERN_IWARP_CM_STARTUP_H
#define TERN_IWARP_CM_STARTUP_H

#include <linux/jiffies.h>
#include <linux/types.h>

struct iw_cm_conn_param;
struct iw_cm_id;
struct iw_ep;
struct mpa_frame;
struct mpa_terms;

/*
 * An application's answer to a request has to come within this time: the peer's reply to ours; our
 * application's, after the listener's end. Adapters wait as long.
 */
#define IW_ANSWER_TIMEOUT	(60 * HZ)

/* ---- steps: CONNECTING, WAIT_REPLY, WAIT_REQUEST ---- */

void iw_startup_connecting(struct iw_ep *ep);
void iw_startup_reply(struct iw_ep *ep);
void iw_startup_request(struct iw_ep *ep);

/* ---- for active.c and passive.c ---- */

/*
 * What we offer the peer. rtr: what the initiator can send first, or the responder can take as
 * that.
 */
void iw_startup_set_offer(struct iw_ep *ep, const struct iw_cm_conn_param *param, u8 rtr);
/* The QP of that number becomes the endpoint's. 0, or an error of iw_qp_attach(). */
int iw_startup_attach_qp(struct iw_ep *ep, struct iw_cm_id *cm_id, u32 qpn);
/* Send an MPA frame with private data. 0, or the socket's error. */
int iw_startup_send_frame(struct iw_ep *ep, struct mpa_frame *f, const void *data, u16 bytes);
/* FPDUs follow, on these terms. 0, or an error of iw_qp_start(). */
int iw_startup_open(struct iw_ep *ep, const struct mpa_terms *terms, bool active);
/* The data path's callbacks, and a run for what came before they were there. */
void iw_startup_run(struct iw_ep *ep);

#endif
