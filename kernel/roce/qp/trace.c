// SPDX-License-Identifier: GPL-2.0
/* The trace events of roce/qp/trace.h: the kernel's macros define them here. */
#define CREATE_TRACE_POINTS
#include "roce/qp/trace.h"
