/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The only system call of the fast path: make the kernel look at a QP's rings. */
#ifndef TERN_PROVIDER_DOORBELL_H
#define TERN_PROVIDER_DOORBELL_H

#include <cstdint>

namespace tern {

struct Doorbell {
	int doorbell_fd; /* below 0: the context has no doorbell file */
	uint32_t qp_num;
	int cmd_fd;
	uint32_t qp_handle;

	/* 0 or a positive errno. Leaves errno as it is. Any thread; needs no lock. */
	int ring() const;
};

} // namespace tern

#endif
