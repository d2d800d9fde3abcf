// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Doorbell: an ioctl on the context's doorbell file. If there is no such file or
 * the ioctl fails (the program may have closed it), the uverbs command rings, at
 * several times the cost. Then the command's error is the one to return.
 */
#include "doorbell.h"

#include <sys/ioctl.h>

#include <cerrno>

#include "command.h"
#include "tern-abi.h"

namespace tern {

static int ring_by_command(int cmd_fd, uint32_t qp_handle)
{
	const ib_uverbs_post_send req = {.response = 0,
					 .qp_handle = qp_handle,
					 .wr_count = 0,
					 .sge_count = 0,
					 .wqe_size = sizeof(ib_uverbs_send_wr)};
	ib_uverbs_post_send_resp resp;

	return WriteCommand(IB_USER_VERBS_CMD_POST_SEND, req).resp(&resp).run(cmd_fd);
}

int Doorbell::ring() const
{
	const int saved = errno;
	int err = 0;

	if (doorbell_fd < 0 || ioctl(doorbell_fd, TERN_IOCTL_DOORBELL, qp_num))
		err = ring_by_command(cmd_fd, qp_handle);
	errno = saved;
	return err;
}

} // namespace tern
