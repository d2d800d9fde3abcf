/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The objects behind the verbs. Each begins with the structure that the
 * application holds. Its create verb allocates it zeroed, its destroy verb
 * frees it, and in between it belongs to the application. A lock guards what
 * is listed under it. Everything else is constant after creation.
 */
#ifndef TERN_PROVIDER_OBJECTS_H
#define TERN_PROVIDER_OBJECTS_H

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "abi/verbs_private.h"
#include "command.h"
#include "doorbell.h"
#include "lock.h"
#include "mapping.h"
#include "ring.h"
#include "wqe.h"

namespace tern {

struct Context {
	uint64_t features;    /* TERN_FEATURE_*: what the module has, of what we know */
	int doorbell_fd;      /* ours; -1: none */
	bool single_threaded; /* TERN_SINGLE_THREADED is set in the environment */
	bool allow_disassoc;  /* destroying objects of a vanished device succeeds */
	bool cq_options;      /* TERN_FEATURE_CQ_OPTIONS */
	bool rate_limits;     /* TERN_FEATURE_RATE_LIMIT, on a device that has it */
	bool in_order;	      /* TERN_FEATURE_IN_ORDER */
	uint64_t absent_ops;  /* IBV_QP_EX_WITH_* that the module or the library does not know */
	/* The library's verbs_context ends with base; how much of this it takes, it decides. */
	alignas(ibv_context) unsigned char library_part[abi::kMaxContextOffset];
	ibv_context base;
	unsigned char spare[abi::kRoomForMore * sizeof(void *)];
};
static_assert(offsetof(Context, base) == offsetof(Context, library_part) + abi::kMaxContextOffset);

/* Thread domain: its queues are used by one thread at a time. */
struct Td {
	ibv_td base;
	std::atomic<uint32_t> users; /* parent domains */
};

struct Pd {
	ibv_pd base;
	Pd *parent; /* of a parent domain: the PD whose handle it has */
	Td *td;
	std::atomic<uint32_t> users; /* parent domains and null regions of this PD */
};

struct Dm {
	ibv_dm base;
	unsigned char *map;
	size_t bytes; /* of the mapping */
	size_t length;
};

/* XRC domain */
struct Xrcd {
	ibv_xrcd base;
	uint32_t handle;
};

struct Cq {
	verbs_cq vcq;

	Lock lock;
	ConsumerRing<tern_cqe> ring;
	Mapping map;
	const tern_cqe *current; /* between start_poll and end_poll */
	/* Module without TERN_CQ_WALLCLOCK: CLOCK_REALTIME - CLOCK_MONOTONIC_RAW, modulo 2^64 */
	uint64_t wallclock_offset_ns;

	Lock arm_lock; /* the ring's place, for arming beside a poller; inside lock */

	bool needs_offset; /* wallclock_offset_ns, in each poll */
};

struct Srq {
	verbs_srq vsrq;
	uint32_t max_sge;

	Lock lock;
	ProducerRing ring;
	Mapping map;
};

/* A QP on an SRQ has no receive ring, nor has an XRC initiator. An XRC target has none at all. */
struct Qp {
	verbs_qp vqp;
	Doorbell doorbell;
	SendLimits limits;
	uint32_t recv_max_sge;
	Mapping sq_map;
	Mapping rq_map;

	Lock sq_lock;
	ProducerRing sq;
	/* ibv_wr_*, from wr_start to wr_complete or wr_abort */
	tern_send_wqe *wr_wqe; /* the request being built, or NULL */
	uint32_t wr_mark;      /* where this batch began */
	int wr_err;	       /* first error of this batch */
	bool wr_needs_addr;    /* wr_wqe has no address (UD) or SRQ number (XRC) so far */

	Lock rq_lock;
	ProducerRing rq;
};

inline Context *to_context(ibv_context *context)
{
	return reinterpret_cast<Context *>(reinterpret_cast<char *>(context) -
					   offsetof(Context, base));
}

inline Td *to_td(ibv_td *td)
{
	return reinterpret_cast<Td *>(td);
}

inline Pd *to_pd(ibv_pd *pd)
{
	return reinterpret_cast<Pd *>(pd);
}

inline Dm *to_dm(ibv_dm *dm)
{
	return reinterpret_cast<Dm *>(dm);
}

inline Xrcd *to_xrcd(ibv_xrcd *xrcd)
{
	return reinterpret_cast<Xrcd *>(xrcd);
}

inline Cq *to_cq(ibv_cq *cq)
{
	return reinterpret_cast<Cq *>(cq);
}

inline Cq *to_cq(ibv_cq_ex *cq)
{
	return reinterpret_cast<Cq *>(cq);
}

inline Srq *to_srq(ibv_srq *srq)
{
	return reinterpret_cast<Srq *>(srq);
}

inline Qp *to_qp(ibv_qp *qp)
{
	return reinterpret_cast<Qp *>(qp);
}

inline Qp *to_qp(ibv_qp_ex *qp)
{
	return reinterpret_cast<Qp *>(qp);
}

/* Zeroed object, or NULL and ENOMEM. Free it with free_object(). */
template <typename T> T *alloc_object()
{
	void *memory = calloc(1, sizeof(T));

	if (!memory) {
		errno = ENOMEM;
		return nullptr;
	}
	return new (memory) T();
}

template <typename T> void free_object(T *object)
{
	object->~T();
	free(object);
}

/* What a create verb returns when it fails with err after alloc_object(). */
template <typename T> std::nullptr_t create_failed(T *object, int err)
{
	free_object(object);
	errno = err;
	return nullptr;
}

/* The user_handle by which the kernel's events name an object. */
inline uint64_t user_handle(const void *object)
{
	return reinterpret_cast<uintptr_t>(object);
}

inline bool has_feature(ibv_context *context, tern_features feature)
{
	return to_context(context)->features & feature;
}

inline bool is_iwarp(const ibv_context *context)
{
	return context->device->transport_type == IBV_TRANSPORT_IWARP;
}

/* Are the queues of this PD (may be NULL) used by one thread at a time? */
inline bool is_single_threaded(ibv_context *context, ibv_pd *pd)
{
	return to_context(context)->single_threaded || (pd && to_pd(pd)->td);
}

/*
 * The error of a destroy verb, from that of its command: 0 if the caller frees
 * the object. A vanished device answers EIO; its objects are gone with it.
 */
inline int destroy_error(ibv_context *context, int err)
{
	return err == EIO && to_context(context)->allow_disassoc ? 0 : err;
}

/* Destroy a PD, MR, MW, AH or XRCD by its command; frees object unless that fails. 0 or errno. */
template <typename T>
int destroy_object(ibv_context *context, uint32_t number, uint32_t handle, T *object)
{
	const int err = destroy_error(context, command_destroy(context->cmd_fd, number, handle));

	if (!err)
		free_object(object);
	return err;
}

/* Wait until the application has acknowledged all events that were delivered. */
inline void wait_for_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
			  uint32_t reported)
{
	pthread_mutex_lock(mutex);
	while (*completed != reported)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}

} // namespace tern

#endif
