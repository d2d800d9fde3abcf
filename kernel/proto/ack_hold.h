/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When an acknowledge may wait for a request to go with. Who answers each
 * message with one of its own, as in a ping-pong or a remote procedure call,
 * sends half as many packets, in half as many batches, if the acknowledge of
 * the one leaves together with the other. Who does not must not be kept waiting.
 *
 * So what is watched is how soon a reply follows a message. After some prompt
 * ones in a row acknowledges wait, for a few times as long as replies took; one
 * that waited in vain, or a second message before the reply, and they are sent
 * at once again. IBTA 9.7.5.1.2 leaves coalescing to the responder; the longest
 * wait is covered by the device's Local CA ACK Delay. Of who has not replied to several
 * messages in a row nothing is watched until it does: to ask for the time costs time.
 *
 * Sans-IO: times are nanoseconds of one monotonic clock, never 0.
 */
#ifndef TERN_PROTO_ACK_HOLD_H
#define TERN_PROTO_ACK_HOLD_H

#include "deps.h"
#include "tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ack_hold {
	u64 since_ns;		/* the last message came, no reply since; 0: none */
	u64 until_ns;		/* an acknowledge waits; 0: none does */
	u32 reply_ns;		/* how long replies take: the longest, slowly forgotten */
	u8 prompt;		/* replies in a row */
	u8 unanswered;		/* messages in a row, up to ACK_HOLD_UNANSWERED */
};

/* A new QP, or a new life of one: nothing is known of its replies, no acknowledge waits. */
static inline void ack_hold_init(struct ack_hold *h)
{
	*h = (struct ack_hold){ 0 };
}

/* When the acknowledge that waits must be sent; 0: none waits. */
static inline u64 ack_hold_deadline(const struct ack_hold *h)
{
	return h->until_ns;
}

/* Does an acknowledge wait for a request? */
static inline bool ack_hold_waits(const struct ack_hold *h)
{
	return h->until_ns;
}

/* No acknowledge waits any more: it is not due, or it must be sent at once. */
static inline void ack_hold_cancel(struct ack_hold *h)
{
	h->until_ns = 0;
}

/* Might ack_hold_may_wait() say yes? */
static inline bool ack_hold_is_for(const struct ack_hold *h)
{
	return h->prompt >= ACK_HOLD_PROMPT && h->since_ns;
}

/* Does ack_hold_reply() want the time? If not it may be 0. */
static inline bool ack_hold_is_asked(const struct ack_hold *h)
{
	return h->since_ns;
}

/* An acknowledge is due of a message that came just now, or before: may it wait? */
bool ack_hold_may_wait(struct ack_hold *h, u64 now_ns);

/* Is ack_hold_message() to be told of messages? */
static inline bool ack_hold_watches(const struct ack_hold *h)
{
	return h->unanswered < ACK_HOLD_UNANSWERED;
}

/* A message came that wants an acknowledge. */
void ack_hold_message(struct ack_hold *h, u64 now_ns);
/* A request goes out, and with it the acknowledge that waits. */
void ack_hold_reply(struct ack_hold *h, u64 now_ns);

#ifdef __cplusplus
}
#endif

#endif
