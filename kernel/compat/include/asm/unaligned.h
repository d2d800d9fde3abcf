/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TERN_COMPAT_ASM_UNALIGNED_H
#define TERN_COMPAT_ASM_UNALIGNED_H

#include <linux/version.h>

/* Moved in 6.12. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include_next <asm/unaligned.h>
#endif

#endif
