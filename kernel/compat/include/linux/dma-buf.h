/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Older kernels have other names: before 6.2 functions without _unlocked, which
 * take no lock of the buffer; until 7.1 "move" for "invalidate mappings".
 */
#ifndef TERN_COMPAT_LINUX_DMA_BUF_H
#define TERN_COMPAT_LINUX_DMA_BUF_H

#include_next <linux/dma-buf.h>

#include <linux/module.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define dma_buf_vmap_unlocked dma_buf_vmap
#define dma_buf_vunmap_unlocked dma_buf_vunmap
#endif

#ifndef TERN_HAS_invalidate_mappings
#define invalidate_mappings move_notify
#define dma_buf_invalidate_mappings dma_buf_move_notify
#endif

/* For each module that uses this header's functions, once. The name is a string from 6.13 on. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define TERN_IMPORT_DMA_BUF() MODULE_IMPORT_NS(DMA_BUF)
#else
#define TERN_IMPORT_DMA_BUF() MODULE_IMPORT_NS("DMA_BUF")
#endif

#endif
