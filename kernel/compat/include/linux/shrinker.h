/* SPDX-License-Identifier: GPL-2.0 */
/* Before 6.7 the caller allocates a shrinker, and its registration, which names it, may fail. */
#ifndef TERN_COMPAT_LINUX_SHRINKER_H
#define TERN_COMPAT_LINUX_SHRINKER_H

#include_next <linux/shrinker.h>

#include <linux/slab.h>
#include <linux/version.h>

/* The caller fills it in, then registers it. NULL: no memory. All of these sleep. */
static inline struct shrinker *tern_shrinker_alloc(const char *name)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	return kzalloc(sizeof(struct shrinker), GFP_KERNEL);
#else
	return shrinker_alloc(0, "%s", name);
#endif
}

/* 0, or -ENOMEM; then s is freed. */
static inline int tern_shrinker_register(struct shrinker *s, const char *name)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	int err = register_shrinker(s, "%s", name);

	if (err)
		kfree(s);
	return err;
#else
	shrinker_register(s);
	return 0;
#endif
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
static inline void shrinker_free(struct shrinker *s)
{
	unregister_shrinker(s);
	kfree(s);
}
#endif

#endif
