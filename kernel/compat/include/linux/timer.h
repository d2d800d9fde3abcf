/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two names. timer_delete_sync() is del_timer_sync() before 6.2;
 * timer_container_of() is from_timer() before 6.16.
 */
#ifndef TERN_COMPAT_LINUX_TIMER_H
#define TERN_COMPAT_LINUX_TIMER_H

#include_next <linux/timer.h>

#include <linux/version.h>

/* Later releases of 6.1 have it as a function, and the old name too. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define timer_delete_sync(timer) del_timer_sync(timer)
#endif

#ifndef timer_container_of
#define timer_container_of(var, timer, field) from_timer(var, timer, field)
#endif

#endif
