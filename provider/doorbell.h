/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The one system call of the fast path: tell the kernel to look at a QP's rings. */
#ifndef TERN_PROVIDER_DOORBELL_H
#define TERN_PROVIDER_DOORBELL_H

#include <cstddef>
#include <cstdint>

#include <rdma/ib_user_verbs.h>

namespace tern {

/* IB_USER_VERBS_CMD_POST_SEND as written to the command file. */
struct DoorbellMessage {
	ib_uverbs_cmd_hdr hdr;
	uint64_t response;
	uint32_t qp_handle;
	uint32_t wr_count;
	uint32_t sge_count;
	uint32_t wqe_size;
};
static_assert(sizeof(DoorbellMessage) == sizeof(ib_uverbs_cmd_hdr) + sizeof(ib_uverbs_post_send));
static_assert(offsetof(DoorbellMessage, qp_handle) ==
	      sizeof(ib_uverbs_cmd_hdr) + offsetof(ib_uverbs_post_send, qp_handle));
static_assert(offsetof(DoorbellMessage, wqe_size) ==
	      sizeof(ib_uverbs_cmd_hdr) + offsetof(ib_uverbs_post_send, wqe_size));

class Doorbell {
public:
	/* The object must not move afterwards. */
	void init(int cmd_fd, uint32_t qp_handle);

	/*
	 * 0 or a positive errno. Any thread, no lock needed: the message is
	 * constant and the response is not looked at.
	 */
	int ring();

private:
	DoorbellMessage message_;
	ib_uverbs_post_send_resp response_;
	int cmd_fd_;
};

} // namespace tern

#endif
