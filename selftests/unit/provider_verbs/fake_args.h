/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The attributes of one ioctl, as the fake kernel reads and answers them. */
#ifndef FAKE_ARGS_H
#define FAKE_ARGS_H

#include <cstring>
#include <map>

#include "fake_kernel.h"

/* Addresses come as integers. NOLINTBEGIN(performance-no-int-to-ptr) */

/* By id. */
struct FakeKernel::Args {
	std::map<uint16_t, ib_uverbs_attr *> attrs;

	bool has(uint16_t id) const { return attrs.count(id) != 0; }
	size_t bytes(uint16_t id) const { return has(id) ? attrs.at(id)->len : 0; }
	const unsigned char *in(uint16_t id) const
	{
		const ib_uverbs_attr *a = attrs.at(id);

		return a->len <= 8 ? reinterpret_cast<const unsigned char *>(&a->data) :
				     reinterpret_cast<const unsigned char *>(a->data);
	}
	/* Request, if it is exactly as long as the kernel's structure. */
	template <typename T> bool core(T *req) const
	{
		if (bytes(UVERBS_ATTR_CORE_IN) != sizeof(T))
			return false;
		memcpy(static_cast<void *>(req), in(UVERBS_ATTR_CORE_IN), sizeof(T));
		return true;
	}
	/* Input of just that type. */
	template <typename T> bool get(uint16_t id, T *value) const
	{
		if (bytes(id) != sizeof(T))
			return false;
		memcpy(static_cast<void *>(value), in(id), sizeof(T));
		return true;
	}
	/* Of an object or a file; 0: none. */
	uint32_t handle(uint16_t id) const
	{
		return has(id) && !attrs.at(id)->len ? static_cast<uint32_t>(attrs.at(id)->data) :
						       0;
	}
	template <typename T> bool put(uint16_t id, const T &value) const
	{
		if (bytes(id) < sizeof(T))
			return false;
		memcpy(reinterpret_cast<void *>(attrs.at(id)->data), &value, sizeof(T));
		return true;
	}
};

/* NOLINTEND(performance-no-int-to-ptr) */

#endif
