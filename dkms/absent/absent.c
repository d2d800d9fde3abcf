// SPDX-License-Identifier: GPL-2.0
/*
 * What DKMS installs as tern.ko for a kernel that tern does not compile for. Were DKMS to fail
 * instead, the package of that kernel could not be configured, nor what apt has in hand after it.
 * This module cannot be loaded; trying says why, to modprobe's caller as to `rdma link add`'s.
 */
#include <linux/errno.h>
#include <linux/module.h>

static int __init absent_init(void)
{
	pr_err("tern: this version of tern does not compile for this kernel: install a newer tern-dkms, or boot another kernel; what the compiler said is in /var/lib/dkms/tern/*/*/*/log/make.log\n");
	return -EOPNOTSUPP;
}
module_init(absent_init);

MODULE_DESCRIPTION("Says that tern was not compiled for this kernel");
MODULE_LICENSE("GPL");
/* By this field dkms/tell knows it. */
MODULE_INFO(absent, "Y");
MODULE_ALIAS("rdma-link-tern_roce");
MODULE_ALIAS("rdma-link-tern_iwarp");
