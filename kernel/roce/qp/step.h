/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a step of a QP's run ends, and how much a run may do.
 */
#ifndef TERN_ROCE_QP_STEP_H
#define TERN_ROCE_QP_STEP_H

enum roce_step {
	ROCE_DONE,	/* nothing is left */
	ROCE_BLOCKED,	/* the rest waits for an event, which runs the QP: room, a lock, a timer */
	ROCE_MORE,	/* the budget is spent: run the QP again */
	ROCE_NEXT,	/* only within a loop of steps: go on with the next one */
};

/* Packets that one holder of the run lock sends or takes in before it lets others on. */
#define ROCE_BUDGET_SOFTIRQ	128
#define ROCE_BUDGET_PROCESS	1024
/*
 * WQEs that it has taken and not begun to send: none begins more than it may send packets. And
 * that it completes: one packet's ACK may be for as many, taken in such portions.
 */
#define ROCE_BUDGET_WQES	ROCE_BUDGET_PROCESS

#endif
