// SPDX-License-Identifier: GPL-2.0
/*
 * The order of module init, and its mirror image.
 */
#include <linux/kmod.h>
#include <linux/module.h>
#include <rdma/rdma_netlink.h>

#include "core/device.h"
#include "core/transport.h"
#include "crc.h"
#include "link/link.h"
#include "mem/copy.h"
#include "mem/page.h"

static int __init tern_init(void)
{
	int err;

	err = tern_copy_init();
	if (err)
		return err;
	err = tern_crc_init();
	if (err)
		return err;
	err = tern_pages_init();
	if (err)
		goto crc_exit;
	err = tern_roce_init();
	if (err)
		goto pages_exit;
	err = tern_iwarp_init();
	if (err)
		goto roce_exit;
	/*
	 * Programs can use a link only with ib_uverbs. Kernels whose ib_core pins user memory do
	 * not load it by themselves. With a soft dependency `modprobe -r tern` would fail while
	 * ib_uverbs is in use.
	 */
	request_module("ib_uverbs");
	/* Last: from here on links can be added. */
	err = tern_link_init();
	if (err)
		goto iwarp_exit;
	return 0;

iwarp_exit:
	tern_iwarp_exit();
roce_exit:
	tern_roce_exit();
pages_exit:
	tern_pages_exit();
crc_exit:
	tern_crc_exit();
	return err;
}

static void __exit tern_exit(void)
{
	tern_link_exit();
	tern_iwarp_exit();
	tern_roce_exit();
	tern_pages_exit();
	tern_crc_exit();
	/* RCU callbacks into this module */
	rcu_barrier();
}

module_init(tern_init);
module_exit(tern_exit);

MODULE_DESCRIPTION("Transport Engine for RDMA over ordinary Networks");
MODULE_LICENSE("GPL");
MODULE_VERSION(TERN_VERSION);
MODULE_ALIAS_RDMA_LINK("tern_roce");
MODULE_ALIAS_RDMA_LINK("tern_iwarp");
