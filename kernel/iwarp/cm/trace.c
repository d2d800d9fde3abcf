// SPDX-License-Identifier: GPL-2.0
/* The trace events of iwarp/cm/trace.h: the kernel's macros define them here. */
#define CREATE_TRACE_POINTS
#include "iwarp/cm/trace.h"
