/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the module tern_exporter and the tests: a misc device that makes
 * dma-bufs of pages, and takes them back on request.
 */
#ifndef TERN_EXPORTER_H
#define TERN_EXPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define EXPORTER_DEVICE "/dev/tern-exporter"

enum exporter_flags {
	EXPORTER_MOVES = 1u << 0,      /* its buffers may move: importers pin them */
	EXPORTER_READ_ONLY = 1u << 1,  /* the descriptor is opened for reading */
	EXPORTER_NO_VMAP = 1u << 2,    /* has no kernel addresses */
	EXPORTER_IO_MEMORY = 1u << 3,  /* says that they are of I/O memory */
	EXPORTER_NO_ATTACH = 1u << 4,  /* refuses importers: EBUSY */
	EXPORTER_NO_PIN = 1u << 5,     /* refuses to be pinned: EBUSY; with MOVES */
	EXPORTER_NO_ACCESS = 1u << 6,  /* refuses access by the CPU: EBUSY */
	EXPORTER_TAKES_BACK = 1u << 7, /* revokes while it is mapped; with MOVES */
};

struct exporter_create {
	__u64 bytes; /* a multiple of 4096 */
	__u32 flags;
	__s32 fd; /* out: close-on-exec */
};

/* What importers have at present. */
struct exporter_state {
	__s32 fd;
	__u32 attached;
	__u32 pinned;
	__u32 mapped;
	__u32 accessed; /* begin_cpu_access without end_cpu_access */
	__u32 reserved;
	__u64 scribbled; /* bytes of the memory taken back that somebody has written to */
};

#define EXPORTER_CREATE _IOWR(0xe8, 0, struct exporter_create)
/*
 * The argument is a descriptor, of a buffer that moves. Importers are told; then the buffer has
 * other pages, of zeros, and the former ones hold EXPORTER_POISON.
 */
#define EXPORTER_REVOKE _IO(0xe8, 1)
#define EXPORTER_STATE	_IOWR(0xe8, 2, struct exporter_state)

#define EXPORTER_POISON 0x5a

#endif
