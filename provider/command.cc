// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Assembles the attribute list of a uverbs ioctl and executes it. */
#include "command.h"

#include <sys/ioctl.h>

#include <cerrno>

#include "tern-abi.h"

namespace tern {

Command::Command(uint16_t object, uint16_t method)
{
	hdr()->object_id = object;
	hdr()->method_id = method;
	hdr()->driver_id = TERN_DRIVER_ID;
}

void Command::add(uint16_t id, size_t bytes, uint64_t data)
{
	ib_uverbs_attr *attr = &hdr()->attrs[hdr()->num_attrs++];

	if (hdr()->num_attrs > kMaxAttrs)
		__builtin_trap();
	attr->attr_id = id;
	attr->len = static_cast<uint16_t>(bytes);
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	attr->data = data;
}

/* The kernel reads inputs of up to 8 bytes from the attribute itself. */
void Command::add_in(uint16_t id, const void *data, size_t bytes)
{
	uint64_t value = 0;

	if (bytes <= sizeof(value))
		memcpy(&value, data, bytes);
	else
		value = reinterpret_cast<uintptr_t>(data);
	add(id, bytes, value);
}

Command &Command::fd(uint16_t id, int fd)
{
	if (fd >= 0)
		add(id, 0, static_cast<uint64_t>(fd));
	return *this;
}

Command &Command::handle(uint16_t id, uint32_t handle)
{
	add(id, 0, handle);
	return *this;
}

Command &Command::create(uint16_t id)
{
	created_ = hdr()->num_attrs;
	add(id, 0, 0);
	return *this;
}

int Command::run(int cmd_fd)
{
	hdr()->length = static_cast<uint16_t>(sizeof(ib_uverbs_ioctl_hdr) +
					      hdr()->num_attrs * sizeof(ib_uverbs_attr));
	return ioctl(cmd_fd, RDMA_VERBS_IOCTL, buf_) < 0 ? errno : 0;
}

} // namespace tern
