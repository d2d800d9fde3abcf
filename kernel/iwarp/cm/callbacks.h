/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which callbacks an endpoint's socket has in which phase. All functions may sleep.
 */
#ifndef TERN_IWARP_CM_CALLBACKS_H
#define TERN_IWARP_CM_CALLBACKS_H

struct iw_ep;
struct sock;

/* Keep those that the socket has: TCP's own. */
void iw_callbacks_save(struct iw_ep *ep);
/* Callbacks that queue the endpoint's work. */
void iw_callbacks_attach(struct iw_ep *ep);
/* Those of the data path: they run ep->qp. */
void iw_callbacks_attach_data(struct iw_ep *ep);
/* The saved ones again. On return none of ours runs any more. */
void iw_callbacks_detach(struct iw_ep *ep);
/* A socket that the listener accepted has inherited the listener's: it gets TCP's own. */
void iw_callbacks_disinherit(struct sock *sk, const struct iw_ep *listener);

#endif
