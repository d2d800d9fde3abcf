/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kernel_bind() and kernel_connect() take addresses as struct sockaddr, newer ones as struct
 * sockaddr_unsized. What is pointed to is the same.
 */
#ifndef TERN_COMPAT_LINUX_NET_H
#define TERN_COMPAT_LINUX_NET_H

#include_next <linux/net.h>

#define tern_sockaddr(addr) ((void *)(addr))

#endif
