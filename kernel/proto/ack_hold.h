/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When an acknowledge may wait for a request to go with. If a program answers each message with one
 * of its own, as in a ping-pong or a remote procedure call, sending both together halves the number
 * of packets and of batches. An acknowledge of other programs must not wait.
 *
 * The engine observes how soon a reply follows a message. After some prompt replies in a row
 * acknowledges wait, for a few times as long as replies took. If one waits in vain, or if a second
 * message comes before the reply, they are sent at once again. IBTA 9.7.5.1.2 leaves coalescing to
 * the responder; the device's Local CA ACK Delay covers the longest wait. After several messages
 * without a reply nothing is observed until the next one, because reading the clock costs time.
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
	u64 since_ns;		/* when the last message came, if no reply followed; else 0 */
	u64 until_ns;		/* an acknowledge waits until then; 0: none waits */
	u32 reply_ns;		/* how long replies take: the longest, slowly forgotten */
	u8 prompt;		/* replies in a row */
	u8 unanswered;		/* messages in a row, up to ACK_HOLD_UNANSWERED */
};

/* Forget all replies; no acknowledge waits. For a new QP, or one that starts again. */
static inline void ack_hold_init(struct ack_hold *h)
{
	memset(h, 0, sizeof(*h));
}

/* When the waiting acknowledge must be sent; 0: none waits. */
static inline u64 ack_hold_deadline(const struct ack_hold *h)
{
	return h->until_ns;
}

/* Does an acknowledge wait for a request? */
static inline bool ack_hold_waits(const struct ack_hold *h)
{
	return h->until_ns;
}

/* No acknowledge waits any more: none is due, or it must be sent at once. */
static inline void ack_hold_cancel(struct ack_hold *h)
{
	h->until_ns = 0;
}

/* Can ack_hold_may_wait() return true? */
static inline bool ack_hold_is_for(const struct ack_hold *h)
{
	return h->prompt >= ACK_HOLD_PROMPT && h->since_ns;
}

/* Does ack_hold_reply() need the time? If not, now_ns may be 0. */
static inline bool ack_hold_is_asked(const struct ack_hold *h)
{
	return h->since_ns;
}

/* An acknowledge of a message is due, now or since a while: may it wait? */
bool ack_hold_may_wait(struct ack_hold *h, u64 now_ns);

/* Must ack_hold_message() be called for messages? */
static inline bool ack_hold_watches(const struct ack_hold *h)
{
	return h->unanswered < ACK_HOLD_UNANSWERED;
}

/* A message came that asks for an acknowledge. */
void ack_hold_message(struct ack_hold *h, u64 now_ns);
/* A request is sent, and with it the acknowledge that waits. */
void ack_hold_reply(struct ack_hold *h, u64 now_ns);

#ifdef __cplusplus
}
#endif

#endif
