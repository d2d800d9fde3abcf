/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the configuration of a kernel would say of the compiler, had clang built it.
 * kernel-clang includes it behind the configuration.
 */
#undef CONFIG_CC_IS_GCC
#undef CONFIG_GCC_VERSION
#undef CONFIG_CLANG_VERSION
#undef CONFIG_CC_HAS_NAMED_AS
#undef CONFIG_CC_HAS_NAMED_AS_FIXED_SANITIZERS
#undef CONFIG_USE_X86_SEG_SUPPORT

/* Versions of clang-format do not agree about these. */
/* clang-format off */
#define CONFIG_CC_IS_CLANG 1
#define CONFIG_GCC_VERSION 0
#define CONFIG_CLANG_VERSION (__clang_major__ * 10000 + __clang_minor__ * 100)
