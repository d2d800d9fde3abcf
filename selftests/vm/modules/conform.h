/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Test module tern_conform: what only kernel consumers reach, case by case. conform_main.c has the
 * device and prints KTAP, conform_pair.c makes QPs, conform_work.c posts, the others have the
 * cases.
 */
#ifndef TERN_CONFORM_H
#define TERN_CONFORM_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/scatterlist.h>
#include <linux/socket.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "consumer.h"

#define CONFORM_WAIT_MS 10000
#define CONFORM_PAGES	4
#define CONFORM_BYTES	(CONFORM_PAGES * PAGE_SIZE)
#define CONFORM_SLOTS	32 /* work requests of an end that are waited for at a time */
#define CONFORM_UNDOS	32

struct conform_undo {
	void (*undo)(void *object);
	void *object;
};

struct conform {
	struct ib_device *dev;
	struct ib_pd *pd;
	const struct ib_gid_attr *gid;	 /* of RoCEv2; NULL: iWARP */
	struct sockaddr_storage address; /* this host's own */

	/* Of the case that runs. */
	const char *skip; /* why it cannot be tried here */
	bool failed;
	char why[256]; /* the first thing that was wrong */
	u32 num_undos;
	struct conform_undo undos[CONFORM_UNDOS];
};

enum conform_transport {
	CONFORM_ANY,
	CONFORM_ROCE,
	CONFORM_IWARP,
};

struct conform_case {
	const char *name;
	void (*run)(struct conform *c);
	enum conform_transport transport;
};

/* Tables end with a case without a name. */
extern const struct conform_case conform_cq_cases[];
extern const struct conform_case conform_drain_cases[];
extern const struct conform_case conform_inv_cases[];
extern const struct conform_case conform_mr_cases[];
extern const struct conform_case conform_post_cases[];
extern const struct conform_case conform_qp_cases[];
extern const struct conform_case conform_reg_cases[];
extern const struct conform_case conform_srq_cases[];

/* Fails the case unless got is want. Returns whether it is. */
bool conform_expect(struct conform *c, s64 got, s64 want, const char *what, int line);
#define EXPECT(c, got, want) conform_expect(c, (s64)(got), (s64)(want), #got, __LINE__)
/* Why a verb made no object, or 0. */
#define REFUSAL(object)	     PTR_ERR_OR_ZERO(object)

/* Has the end of the case call undo(object), the last one first. */
void conform_defer(struct conform *c, void (*undo)(void *object), void *object);
static inline bool conform_is_iwarp(const struct conform *c)
{
	return !c->gid;
}

/* ---- objects, which go when the case ends; NULL fails the case ---- */

struct conform_done {
	struct ib_cqe cqe;
	struct ib_wc wc;
	struct completion completion;
};

/* A QP with its CQ and its memory. */
struct conform_end {
	struct conform *c;
	struct rdma_cm_id *id; /* of a pair */
	struct ib_qp *qp;
	struct ib_qp_cap cap; /* as given */
	struct ib_cq *cq;
	bool borrows_cq;
	u8 *mem; /* CONFORM_BYTES */
	u64 dma;
	struct scatterlist sg[CONFORM_PAGES]; /* mem, mapped */
	unsigned long events;		      /* a bit for each ib_event_type */
	int status;			      /* of connecting */
	struct completion moved;
	struct conform_done done[CONFORM_SLOTS];
};

struct conform_pair {
	struct rdma_cm_id *listener;
	struct conform_end near, far;
};

struct conform_options {
	enum ib_poll_context poll_ctx;
	int vector;	       /* below 0: ib_alloc_cq_any() */
	struct ib_cq *near_cq; /* instead of one of these */
	struct ib_srq *srq;    /* far's */
};

struct ib_pd *conform_pd(struct conform *c, unsigned int flags);
struct ib_cq *conform_cq(struct conform *c, u32 entries);
struct ib_mr *conform_mr(struct conform *c, struct ib_pd *pd, enum ib_mr_type type, u32 pages);
struct ib_srq *conform_srq(struct conform *c, u32 wrs, u32 sges);
/* Two RC QPs that are connected by rdma_cm. options may be NULL. */
struct conform_pair *conform_pair(struct conform *c, const struct conform_options *options);
/* A QP that is its own peer, in that state. RoCE only. */
struct conform_end *conform_single(struct conform *c, enum ib_qp_type type, enum ib_qp_state state);
/* What QPs are created of here. */
void conform_qp_init_attr(struct ib_qp_init_attr *init, struct ib_cq *cq, enum ib_qp_type type);
/* Within CONFORM_WAIT_MS: is the count no longer 0, has the event come? */
bool conform_comes(const atomic_t *count);
bool conform_has_event(const struct conform_end *end, enum ib_event_type event);
void conform_to_error(struct conform_end *end);

/* ---- work requests ---- */

struct conform_work {
	struct ib_sge sge[2];
	union {
		struct ib_send_wr send;
		struct ib_rdma_wr rdma;
		struct ib_atomic_wr atomic;
		struct ib_reg_wr reg;
		struct ib_ud_wr ud;
	};
};

/* Signalled, of end's first bytes by the local DMA key. It points into itself. */
void conform_work(struct conform_work *w, struct conform_end *end, enum ib_wr_opcode opcode,
		  u32 bytes);
/* A READ or WRITE of the peer's memory. */
void conform_rdma(struct conform_work *w, struct conform_end *end, enum ib_wr_opcode opcode,
		  u64 remote_addr, u32 rkey, u32 bytes);
/* 0 or an error of the verb; the slot says which completion conform_wait() waits for. */
int conform_post(struct conform_end *end, struct ib_send_wr *wr, u32 slot);
int conform_post_recv(struct conform_end *end, u32 bytes, u32 slot);
/* The same to srq; NULL: to the QP's own queue. */
int conform_post_recv_to(struct ib_srq *srq, struct conform_end *end, u32 bytes, u32 slot);
/* A status, or below 0. */
int conform_wait(struct conform_end *end, u32 slot);
int conform_do(struct conform_end *end, struct ib_send_wr *wr);
/*
 * The status of a WRITE or READ of peer memory. A READ of nothing follows a WRITE, as iWARP's is
 * complete when it is sent; its status counts if the WRITE's is good.
 */
int conform_access(struct conform_end *end, enum ib_wr_opcode opcode, u64 addr, u32 rkey,
		   u32 bytes);
/* Maps all of end's memory. */
int conform_map(struct conform_end *end, struct ib_mr *mr);
/* Registers what is mapped with a new key, or with this one. */
int conform_reg(struct conform_end *end, struct ib_mr *mr, int access);
int conform_reg_key(struct conform_end *end, struct ib_mr *mr, u32 key, int access);
int conform_invalidate(struct conform_end *end, u32 key);

#endif
