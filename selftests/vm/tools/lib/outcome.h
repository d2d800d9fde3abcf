/* SPDX-License-Identifier: GPL-2.0 */
// How a case ends early: a failure, a skip, or the loss of the peer. Cases throw;
// session.cc catches and prints TAP.
#ifndef TERN_VM_OUTCOME_H
#define TERN_VM_OUTCOME_H

#include <stdexcept>

namespace vt {

struct Failure : std::runtime_error {
	using std::runtime_error::runtime_error;
};

// The device or its provider says that it cannot do this; never used for wrong behaviour.
struct Skip : std::runtime_error {
	using std::runtime_error::runtime_error;
};

// The control connection broke: nothing more can be tested.
struct PeerLost : std::runtime_error {
	using std::runtime_error::runtime_error;
};

[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char *format, ...);
[[noreturn, gnu::format(printf, 1, 2)]] void skip(const char *format, ...);

// Fails the case unless `ok`. Why a call failed is `%m` here: strerror(errno) among the
// arguments may be evaluated before the call in `ok`.
[[gnu::format(printf, 2, 3)]] void require(bool ok, const char *format, ...);

// Is this errno value how a driver says "I have no such thing"?
bool means_unsupported(int error);

// Skips if `error` means unsupported, fails otherwise.
[[noreturn]] void refuse(const char *what, int error);

// Destroying an object failed (a reference is left): fails the case at its end.
void note_teardown_failure(const char *what, int error);

// The first note since the last call, or nullptr.
const char *take_teardown_failure();

double now_s();

// What time limits are multiplied by: slow guests say so in $RIG_SLOW.
double slow();

} // namespace vt

#endif
