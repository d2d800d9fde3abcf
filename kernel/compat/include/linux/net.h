/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kernel_bind() and kernel_connect() take a struct sockaddr, in newer kernels a
 * struct sockaddr_unsized. The content is the same.
 */
#ifndef TERN_COMPAT_LINUX_NET_H
#define TERN_COMPAT_LINUX_NET_H

#include_next <linux/net.h>

#define tern_sockaddr(addr) ((void *)(addr))

#endif
