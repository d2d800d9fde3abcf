/* SPDX-License-Identifier: GPL-2.0 */
// Cases of the conformance suite: a name "Group.what", and a function that uses one device. They
// are GoogleTest's tests; registered at run time, so that tables make them, with names that say
// what. A case is skipped if it throws Skip: the device refuses what it needs, as unsupported.
#ifndef TERN_VM_CONFORMANCE_CONFORM_H
#define TERN_VM_CONFORMANCE_CONFORM_H

#include <cerrno>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "cq.h"
#include "device.h"
#include "objects.h"
#include "outcome.h"
#include "placement.h"

namespace vt {

// What every case begins with. A context of its own, so that its events are its own.
struct Bed {
	explicit Bed(const DeviceChoice &choice)
		: netdev(choice.netdev), family(choice.family), device(choice),
		  context(device.context()), pd(make_pd(context))
	{}

	// Skip on a device of the other kind.
	void need_roce(const char *what) const
	{
		if (device.is_iwarp())
			skip("iWARP: %s", what);
	}

	// Skip unless device and libibverbs have the operation: kWithFlush or kWithAtomicWrite.
	void need_placement(uint64_t op) const
	{
		const char *name = op == kWithFlush ? "FLUSH" : "ATOMIC WRITE";
		if (!has_cap(device, op == kWithFlush ? kCapFlushGlobal : kCapAtomicWrite))
			skip("%s: no capability", name);
		if (!(placement_ops(device) & op))
			skip("%s: this libibverbs is too old", name);
	}

	void need_for(ibv_wr_opcode opcode) const
	{
		bool atomic = opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
			      opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
		if (atomic && device.attr().atomic_cap == IBV_ATOMIC_NONE)
			skip("atomics: no capability");
	}

	std::string netdev;
	int family; // of IP addresses: 4 or 6
	Device device;
	ibv_context *context;
	Pd pd;
};

struct QpType {
	const char *name;
	ibv_qp_type type;
};

// Those of one PD, with a send queue and a receive queue.
inline constexpr QpType kPlainTypes[] = {
	{"RC", IBV_QPT_RC}, {"UC", IBV_QPT_UC}, {"UD", IBV_QPT_UD}};

using CaseRun = std::function<void(Bed &)>;

void add_case(const char *group, const std::string &name, CaseRun run);

struct Added {
	Added(const char *group, const char *name, void (*run)(Bed &))
	{
		add_case(group, name, run);
	}
	// For cases made by a loop.
	explicit Added(void (*add)()) { add(); }
};

#define CONFORM(group, name)                                                                       \
	static void group##_##name(Bed &bed);                                                      \
	static const Added group##_##name##_added(#group, #name, group##_##name);                  \
	static void group##_##name([[maybe_unused]] Bed &bed)

// A result of a verb: 0 or errno.
struct Errno {
	int value;
	bool operator==(const Errno &) const = default;
};
std::ostream &operator<<(std::ostream &out, Errno error);

#define EXPECT_ERR(call, error) EXPECT_EQ(Errno{call}, Errno{error})
#define EXPECT_OK(call)		EXPECT_ERR(call, 0)
#define ASSERT_ERR(call, error) ASSERT_EQ(Errno{call}, Errno{error})
#define ASSERT_OK(call)		ASSERT_ERR(call, 0)

// Why a verb made no object, or 0.
template <class Owner> int refusal(const Owner &owner)
{
	return owner ? 0 : errno;
}

// The object, or Skip if its verb is unsupported, or Failure.
template <class Owner> Owner made(Owner owner, const char *what)
{
	if (!owner)
		refuse(what, errno);
	return owner;
}

// What a verb returned must be 0: else Skip, if that means unsupported, or Failure.
inline void need_ok(int error, const char *what)
{
	if (error)
		refuse(what, error);
}

inline constexpr size_t kPage = 4096;
inline constexpr uint32_t kUnknownMask = 1u << 30; // of a comp_mask that no release knows

} // namespace vt

#endif
