/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A resize: what was produced and not yet consumed goes from the old ring to the
 * new one, each entry at its free-running index, while both ends of the old ring go
 * on. This is done in rounds, of so few bytes that a lock may be held, with IRQs off.
 *
 * Pure: also built into the unit tests.
 */
#ifndef TERN_QUEUE_MOVE_H
#define TERN_QUEUE_MOVE_H

#include "proto/deps.h"

/* Some microseconds, also where no cache has any of it. */
#define TERN_MOVE_ROUND_BYTES 16384

/* The slots of a ring; nslots is a power of two. */
struct tern_slots {
	void *at;
	u32 nslots;
};

struct tern_move {
	struct tern_slots to, from;
	u32 stride;
	u32 next;	/* what is before it is moved, or consumed */
};

/* cons: where the consumer is now. */
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
 * One round: what the lock that is held keeps in place is [cons, prod). 1: all of it is
 * moved, and the new ring may take the old one's place before the lock is released. 0:
 * there is more. -EINVAL: one of the rings has no room for so much.
 *
 * Any cons and prod are safe, and cost no more than a round. Of how many rounds it takes
 * this is sure if the end that is user space's stays where it was: as many as either ring
 * takes. So who calls reads that end's index once.
 */
static inline int tern_move_round(struct tern_move *m, u32 cons, u32 prod)
{
	u32 fill = prod - cons;
	u32 room = TERN_MOVE_ROUND_BYTES / m->stride;

	if (fill > m->to.nslots || fill > m->from.nslots)
		return -EINVAL;
	/* Overtaken by the consumer. */
	if (m->next - cons > fill)
		m->next = cons;
	for (; m->next != prod && room; m->next++, room--)
		memcpy(tern_move_slot(m->to, m->next, m->stride),
		       tern_move_slot(m->from, m->next, m->stride), m->stride);
	return m->next == prod;
}

#endif
