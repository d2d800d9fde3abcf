// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Doorbell: a preformatted write(), which costs less than the equivalent ioctl.
 * The kernel refuses write() to a process that changed its credentials since it
 * opened the device (EACCES); the ioctl then does the same.
 */
#include "doorbell.h"

#include <unistd.h>

#include <cerrno>

#include "command.h"

namespace tern {

void Doorbell::init(int cmd_fd, uint32_t qp_handle)
{
	message_ = DoorbellMessage{};
	message_.hdr.command = IB_USER_VERBS_CMD_POST_SEND;
	message_.hdr.in_words = sizeof(message_) / sizeof(uint32_t);
	message_.hdr.out_words = sizeof(response_) / sizeof(uint32_t);
	message_.response = reinterpret_cast<uintptr_t>(&response_);
	message_.qp_handle = qp_handle;
	message_.wqe_size = sizeof(ib_uverbs_send_wr);
	cmd_fd_ = cmd_fd;
}

static int ring_by_ioctl(int cmd_fd, const DoorbellMessage &message)
{
	struct {
		uint64_t response;
		uint32_t words[4];
	} req = {0, {message.qp_handle, 0, 0, message.wqe_size}};
	ib_uverbs_post_send_resp resp;

	return WriteCommand(IB_USER_VERBS_CMD_POST_SEND, req).resp(&resp).run(cmd_fd);
}

int Doorbell::ring()
{
	int saved = errno;
	int err = 0;

	while (write(cmd_fd_, &message_, sizeof(message_)) < 0) {
		err = errno;
		if (err == EINTR) {
			err = 0;
			continue;
		}
		if (err == EACCES)
			err = ring_by_ioctl(cmd_fd_, message_);
		break;
	}
	errno = saved;
	return err;
}

} // namespace tern
