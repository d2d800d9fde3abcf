// SPDX-License-Identifier: GPL-2.0
/*
 * Acknowledges that wait for a request to go with; the contract is in ack_hold.h.
 */
#include "ack_hold.h"

void ack_hold_message(struct ack_hold *h, u64 now_ns)
{
	if (h->since_ns)
		h->prompt = 0;	/* two without a reply in between */
	h->since_ns = now_ns;
	h->unanswered++;
}

bool ack_hold_may_wait(struct ack_hold *h, u64 now_ns)
{
	u64 ns = (u64)h->reply_ns * ACK_HOLD_TIMES;

	if (!ack_hold_is_for(h)) {
		h->until_ns = 0;
		return false;
	}
	if (ns < ACK_HOLD_MIN_NS)
		ns = ACK_HOLD_MIN_NS;
	if (ns > ACK_HOLD_MAX_NS)
		ns = ACK_HOLD_MAX_NS;
	h->until_ns = h->since_ns + ns;
	if (now_ns < h->until_ns)
		return true;
	h->prompt = 0;
	h->until_ns = 0;
	return false;
}

void ack_hold_reply(struct ack_hold *h, u64 now_ns)
{
	u64 ns = now_ns - h->since_ns;

	h->until_ns = 0;
	h->unanswered = 0;
	if (!h->since_ns)
		return;
	h->since_ns = 0;
	if (ns >= ACK_HOLD_MAX_NS) {
		h->prompt = 0;
		return;
	}
	if (h->prompt < ACK_HOLD_PROMPT)
		h->prompt++;
	if (ns > h->reply_ns)
		h->reply_ns = (u32)ns;
	else
		h->reply_ns -= (h->reply_ns - (u32)ns) / ACK_HOLD_FADE;
}
