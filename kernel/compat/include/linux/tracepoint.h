/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Strings of trace events: from 6.10 on __string() alone names what is copied. Not guarded, as
 * the kernel's own header defines TRACE_EVENT() each time that it is read.
 */
#include_next <linux/tracepoint.h>

#include <linux/version.h>

#undef tern_assign_str
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define tern_assign_str(dst, src) __assign_str(dst)
#else
#define tern_assign_str(dst, src) __assign_str(dst, src)
#endif
