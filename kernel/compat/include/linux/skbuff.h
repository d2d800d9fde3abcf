/* SPDX-License-Identifier: GPL-2.0 */
/* Before 6.10 struct ubuf_info holds its one function, from then on a table of functions. */
#ifndef TERN_COMPAT_LINUX_SKBUFF_H
#define TERN_COMPAT_LINUX_SKBUFF_H

#include_next <linux/skbuff.h>

#include <linux/version.h>

/* init(ubuf) lets each dropped reference call fn(). */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define TERN_UBUF_INIT(init, fn)						\
	static inline void init(struct ubuf_info *ubuf)				\
	{									\
		static const struct ubuf_info_ops ops = { .complete = fn };	\
										\
		ubuf->ops = &ops;						\
	}
#else
#define TERN_UBUF_INIT(init, fn)						\
	static inline void init(struct ubuf_info *ubuf)				\
	{									\
		ubuf->callback = fn;						\
	}
#endif

#endif
