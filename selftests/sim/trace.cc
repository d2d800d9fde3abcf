// SPDX-License-Identifier: GPL-2.0
#include "trace.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>

namespace sim {

void fail(int endpoint, const char *format, ...)
{
	char text[512];
	va_list ap;
	int n = 0;

	if (endpoint >= 0)
		n = snprintf(text, sizeof(text), "endpoint %d: ", endpoint);
	va_start(ap, format);
	vsnprintf(text + n, sizeof(text) - (size_t)n, format, ap);
	va_end(ap);
	throw Failure(text);
}

void Trace::print(FILE *f, size_t last) const
{
	uint64_t count = std::min<uint64_t>({n_, ring_.size(), last});

	for (uint64_t i = n_ - count; i < n_; i++) {
		const Entry &e = ring_[i % ring_.size()];

		fprintf(f,
			"  %12" PRIu64 " ns  ep %-2u %-14s op 0x%02x %s 0x%06x  %" PRIu64
			" %" PRIu64 "\n",
			e.now_ns, e.endpoint, e.what, e.opcode, sequence_, e.seq, e.a, e.b);
	}
}

} /* namespace sim */
