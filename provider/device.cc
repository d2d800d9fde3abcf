// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Registration with libibverbs, and its device object. */
#include "abi/library.h"
#include "objects.h"
#include "tern-abi.h"
#include "verbs.h"

namespace tern {
namespace {

/* By driver id only: the number is private to tern, and there is no PCI device. */
const verbs_match_ent match_table[] = {
	{nullptr, {.driver_id = TERN_DRIVER_ID}, 0, 0, VERBS_MATCH_DRIVER_ID},
	{nullptr, {.driver_id = 0}, 0, 0, VERBS_MATCH_SENTINEL},
};

verbs_device *alloc_device(verbs_sysfs_dev * /*sysfs_dev*/)
{
	return alloc_object<verbs_device>();
}

void uninit_device(verbs_device *device)
{
	free_object(device);
}

__attribute__((constructor)) void register_driver()
{
	const char *why = abi::find_library();

	if (why)
		abi::complain(why);
	else
		abi::library.register_driver(&device_ops);
}

} // namespace

const verbs_device_ops device_ops = {
	.name = "tern",
	.match_min_abi_version = TERN_ABI_VERSION,
	.match_max_abi_version = TERN_ABI_VERSION,
	.match_table = match_table,
	.static_providers = nullptr,
	.match_device = nullptr,
	.alloc_context = alloc_context,
	.import_context = import_context,
	.alloc_device = alloc_device,
	.uninit_device = uninit_device,
};

} // namespace tern
