// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Assembles the attribute list of a uverbs ioctl and executes it. */
#include "command.h"

#include <sys/ioctl.h>

#include <cerrno>

#include "tern-abi.h"

namespace tern {

Command::Command(uint16_t object, uint16_t method)
	: object_(object), method_(method), num_attrs_(0), created_(0)
{}

void Command::add(uint16_t id, size_t bytes, uint64_t data)
{
	ib_uverbs_attr attr{};

	if (num_attrs_ == kMaxAttrs)
		__builtin_trap();
	attr.attr_id = id;
	attr.len = static_cast<uint16_t>(bytes);
	attr.flags = UVERBS_ATTR_F_MANDATORY;
	attr.data = data;
	memcpy(buf_ + sizeof(ib_uverbs_ioctl_hdr) + num_attrs_ * sizeof(attr), &attr, sizeof(attr));
	num_attrs_++;
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

ib_uverbs_attr Command::load(size_t i) const
{
	ib_uverbs_attr attr;

	memcpy(&attr, buf_ + sizeof(ib_uverbs_ioctl_hdr) + i * sizeof(attr), sizeof(attr));
	return attr;
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
	created_ = num_attrs_;
	add(id, 0, 0);
	return *this;
}

uint32_t Command::new_handle() const
{
	return static_cast<uint32_t>(load(created_).data);
}

int Command::run(int cmd_fd)
{
	ib_uverbs_ioctl_hdr hdr{};

	hdr.length = static_cast<uint16_t>(sizeof(hdr) + num_attrs_ * sizeof(ib_uverbs_attr));
	hdr.object_id = object_;
	hdr.method_id = method_;
	hdr.num_attrs = num_attrs_;
	hdr.driver_id = TERN_DRIVER_ID;
	memcpy(buf_, &hdr, sizeof(hdr));
	return ioctl(cmd_fd, RDMA_VERBS_IOCTL, buf_) < 0 ? errno : 0;
}

} // namespace tern
