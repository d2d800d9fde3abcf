// SPDX-License-Identifier: GPL-2.0
// vmemcpy: how fast this machine's memcpy() copies buffers of -s bytes, for -S seconds: what
// transfers within one host are measured against. Source and target are as big as perftest's,
// so as much of them as of its buffers is in the caches.
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
			// What was copied is used, as far as the compiler knows, and then is other.
			asm volatile("" : : "r"(to.data()), "r"(from.data()) : "memory");
		}
		copies += 16;
		now = vt::now_s();
	} while (now - began < seconds);
	printf("copies %llu MiB/s %.2f\n", static_cast<unsigned long long>(copies),
	       static_cast<double>(copies) * bytes / 1048576 / (now - began));
	return 0;
}
