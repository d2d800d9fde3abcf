/* SPDX-License-Identifier: GPL-2.0 */
/* From 6.13 on hrtimer_setup() sets a timer's function. Before, the user sets it. */
#ifndef TERN_COMPAT_LINUX_HRTIMER_H
#define TERN_COMPAT_LINUX_HRTIMER_H

#include_next <linux/hrtimer.h>

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void tern_hrtimer_setup(struct hrtimer *timer,
				      enum hrtimer_restart (*fn)(struct hrtimer *),
				      clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}

/* A macro, because a stable kernel may have the function. */
#define hrtimer_setup tern_hrtimer_setup
#endif

#endif
