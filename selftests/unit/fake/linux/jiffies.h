/* SPDX-License-Identifier: GPL-2.0 */
/* Ticks, as a test counts them. */
#ifndef TERN_UNIT_FAKE_JIFFIES_H
#define TERN_UNIT_FAKE_JIFFIES_H

inline unsigned long jiffies = 1000;

#endif
