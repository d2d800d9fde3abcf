// SPDX-License-Identifier: GPL-2.0
// vfault: calls each verb again and again. Of all points in the kernel where it can fail, first
// the first fails, then the second, and so on to the last. Each time the verb succeeds, or
// returns ENOMEM and leaves nothing behind. Prints TAP.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>

#include "call.h"
#include "fail_nth.h"
#include "heap.h"
#include "options.h"
#include "outcome.h"

namespace vt {
namespace {

// More points than any call has.
constexpr int kMost = 20000;

// Errors that mean a lack of resources. The kernel returns ENFILE without memory for a socket.
bool is_clean(const Call &call, int error)
{
	return error == ENOMEM || error == ENOBUFS || error == EAGAIN || error == ENFILE ||
	       error == call.other_error;
}

// About how many points could fail.
int try_all(const Call &call, FailNth *faults, std::set<int> *errors)
{
	for (int n = 1; n < kMost; n += call.stride) {
		std::unique_ptr<Try> attempt = call.prepare();
		faults->arm(n);
		int error = attempt->call();
		bool hit = faults->disarm();
		if (error)
			errors->insert(error);
		require(!error || hit, "without a fault: %s", strerror(error));
		require(!error || is_clean(call, error), "with fault %d: %s", n, strerror(error));
		attempt->judge(error);
		attempt.reset();
		const char *left = take_teardown_failure();
		require(!left, "after fault %d: %s", n, left);
		if (!hit)
			return n - call.stride;
	}
	fail("there is no end after %d faults", kMost);
}

int run(const std::vector<Call> &calls)
{
	FailNth faults;
	int number = 0, failed = 0;
	printf("1..%zu\n", calls.size());
	for (const Call &call : calls) {
		std::set<int> errors;
		std::string why;
		int n = 0;
		try {
			n = try_all(call, &faults, &errors);
		} catch (const Failure &failure) {
			why = failure.what();
			faults.disarm();
			take_teardown_failure();
		}
		failed += !why.empty();
		printf("%sok %d %s\n", why.empty() ? "" : "not ", ++number, call.name.c_str());
		if (!why.empty())
			printf("# %s\n", why.c_str());
		std::string words;
		for (int error : errors)
			words += std::string(" ") + strerrorname_np(error);
		printf("# %s: %d faults%s\n", call.name.c_str(), n, words.c_str());
		fflush(stdout);
	}
	return failed != 0;
}

} // namespace
} // namespace vt

int main(int argc, char **argv)
{
	vt::DeviceChoice choice;
	std::string address, type, dummy;

	if (!vt::parse_options(
		    argc, argv,
		    {{'n', &choice.netdev}, {'a', &address}, {'t', &type}, {'l', &dummy}})) {
		fprintf(stderr,
			"usage: vfault -n NETDEV [-a ADDRESS] [-t TYPE -l NETDEV]\n"
			"-a: also rdma_cm's calls, at this address of NETDEV\n"
			"-t, -l: also adding and deleting a link of this type on this netdev\n");
		return 2;
	}
	try {
		vt::grow_heap();
		vt::Device device(choice);
		std::vector<vt::Call> calls = vt::verbs_calls(device);
		if (!address.empty())
			for (vt::Call &call : vt::cm_calls(address))
				calls.push_back(std::move(call));
		if (!dummy.empty())
			for (vt::Call &call : vt::link_calls(type, dummy))
				calls.push_back(std::move(call));
		return vt::run(calls);
	} catch (const vt::Skip &why) {
		printf("1..0 # SKIP %s\n", why.what());
		return 0;
	} catch (const std::exception &why) {
		printf("# %s\n", why.what());
		return 1;
	}
}
