// SPDX-License-Identifier: GPL-2.0
// vmemcpy: measures memcpy() of buffers of -s bytes for -S seconds, as a reference for
// transfers within one host. Source and target are as large as perftest's,
// so that the same share of them is in the caches.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "options.h"
#include "outcome.h"

int main(int argc, char **argv)
{
	uint32_t bytes = 65536;
	double seconds = 1;

	if (!vt::parse_options(argc, argv, {{'s', &bytes}, {'S', &seconds}}) || !bytes) {
		fputs("usage: vmemcpy [-s BYTES] [-S SECONDS]\n", stderr);
		return 2;
	}
	std::vector<char> from(bytes, 1), to(bytes, 2);
	uint64_t copies = 0;
	double began = vt::now_s(), now;
	do {
		for (unsigned i = 0; i < 16; i++) {
			memcpy(to.data(), from.data(), bytes);
			// For the compiler the copy is used, and the source changes.
			asm volatile("" : : "r"(to.data()), "r"(from.data()) : "memory");
		}
		copies += 16;
		now = vt::now_s();
	} while (now - began < seconds);
	printf("copies %llu MiB/s %.2f\n", static_cast<unsigned long long>(copies),
	       static_cast<double>(copies) * bytes / 1048576 / (now - began));
	return 0;
}
