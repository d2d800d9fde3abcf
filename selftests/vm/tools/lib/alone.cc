// SPDX-License-Identifier: GPL-2.0
#include "alone.h"

#include <cstdio>
#include <exception>

#include "options.h"
#include "outcome.h"

namespace vt {

int check_alone(int argc, char **argv, const char *program, void (*check)(const Device &))
{
	DeviceChoice choice;

	if (!parse_options(argc, argv,
			   {{'n', &choice.netdev}, {'d', &choice.device}, {'r', &choice.roce}})) {
		fprintf(stderr, "usage: %s -n NETDEV [-r 1|2]\n", program);
		return 2;
	}
	try {
		Device device(choice);
		check(device);
	} catch (const std::exception &why) {
		printf("# %s\n", why.what());
		return 1;
	}
	const char *left = take_teardown_failure();
	if (left)
		printf("# %s\n", left);
	return left != nullptr;
}

} // namespace vt
