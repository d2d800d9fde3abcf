/* SPDX-License-Identifier: GPL-2.0 */
/* What a send queue has completed, as pairs of slot and status. */
#ifndef TERN_UNIT_COMPLETIONS_H
#define TERN_UNIT_COMPLETIONS_H

#include "proto/deps.h"

#include <utility>
#include <vector>

using Completions = std::vector<std::pair<u32, int>>;

/* All completions; reap: rc_req_reap() or iw_req_reap(). */
template <class Queue, class Status>
Completions reap_all(Queue *q, bool (*reap)(Queue *, u32 *, Status *))
{
	Completions c;
	Status status;
	u32 slot;

	while (reap(q, &slot, &status))
		c.emplace_back(slot, status);
	return c;
}

#endif
