/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A resize moves the entries between consumer and producer from the old ring to
 * the new one, each at its free-running index, while both ends of the old ring
 * go on. It works in rounds of few bytes, so that a lock may be held, with IRQs
 * off.
 *
 * Pure: also built into the unit tests.
 */
#ifndef TERN_QUEUE_MOVE_H
#define TERN_QUEUE_MOVE_H

#include "proto/deps.h"

/* Takes some microseconds, even if no cache has the data. */
#define TERN_MOVE_ROUND_BYTES 16384

/* The slots of a ring; nslots is a power of two. */
struct tern_slots {
	void *at;
	u32 nslots;
};

struct tern_move {
	struct tern_slots to, from;
	u32 stride;
	u32 next;	/* entries before it are moved, or consumed */
};

/* cons: the consumer's index now. */
static inline void tern_move_begin(struct tern_move *m, struct tern_slots to,
				   struct tern_slots from, u32 stride, u32 cons)
{
	*m = (struct tern_move){ to, from, stride, cons };
}

static inline void *tern_move_slot(struct tern_slots s, u32 index, u32 stride)
{
	return (u8 *)s.at + (size_t)(index & (s.nslots - 1)) * stride;
}

/*
 * One round. The caller's lock keeps [cons, prod) in place. 1: all of it is moved, and the new ring
 * may take the old one's place before the lock is released. 0: there is more. -EINVAL: one of the
 * rings has no room for all.
 *
 * Any cons and prod are safe, and cost one round at most. The number of rounds is bounded only if
 * user space's index does not move: then it is what either ring takes. So the caller reads that
 * index once.
 */
static inline int tern_move_round(struct tern_move *m, u32 cons, u32 prod)
{
	u32 fill = prod - cons;
	u32 room = TERN_MOVE_ROUND_BYTES / m->stride;

	if (fill > m->to.nslots || fill > m->from.nslots)
		return -EINVAL;
	/* The consumer has overtaken it. */
	if (m->next - cons > fill)
		m->next = cons;
	for (; m->next != prod && room; m->next++, room--)
		memcpy(tern_move_slot(m->to, m->next, m->stride),
		       tern_move_slot(m->from, m->next, m->stride), m->stride);
	return m->next == prod;
}

#endif
