// SPDX-License-Identifier: GPL-2.0
#include "shared_counter.h"

#include <cinttypes>

#include "trace.h"

namespace sim {

void SharedCounter::result(int endpoint, uint64_t result)
{
	if (result >= value)
		fail(endpoint, "shared counter: %" PRIu64 " seen before it was reached", result);
	if (result >= seen_.size())
		seen_.resize(result * 2 + 1024);
	if (seen_[result])
		fail(endpoint, "shared counter: %" PRIu64 " seen twice", result);
	seen_[result] = true;
	results_++;
}

void SharedCounter::check_end() const
{
	if (results_ != value)
		fail(-1, "shared counter is %" PRIu64 " after %" PRIu64 " additions", value,
		     results_);
}

} /* namespace sim */
