// SPDX-License-Identifier: GPL-2.0
/*
 * DKMS installs this as tern.ko for a kernel that tern does not compile for. If DKMS failed
 * instead, apt could not configure the package of that kernel, nor any after it. The module
 * cannot be loaded. The attempt, by modprobe or `rdma link add`, logs why.
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
/* dkms/tell recognises the module by this field. */
MODULE_INFO(absent, "Y");
MODULE_ALIAS("rdma-link-tern_roce");
MODULE_ALIAS("rdma-link-tern_iwarp");
