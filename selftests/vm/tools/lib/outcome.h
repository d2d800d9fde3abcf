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

// The device or its provider does not support this. Never used for wrong behaviour.
struct Skip : std::runtime_error {
	using std::runtime_error::runtime_error;
};

// The control connection broke: nothing more can be tested.
struct PeerLost : std::runtime_error {
	using std::runtime_error::runtime_error;
};

[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char *format, ...);
[[noreturn, gnu::format(printf, 1, 2)]] void skip(const char *format, ...);

// Fails the case unless `ok`. Use `%m` for the reason of a failed call: strerror(errno) among the
// arguments may be evaluated before the call in `ok`.
[[gnu::format(printf, 2, 3)]] void require(bool ok, const char *format, ...);

// Does this errno value mean "not supported"?
bool means_unsupported(int error);

// Skips if `error` means unsupported, fails otherwise.
[[noreturn]] void refuse(const char *what, int error);

// Notes that destroying an object failed (a reference is left): the case fails at its end.
void note_teardown_failure(const char *what, int error);

// The first note since the last call, or nullptr.
const char *take_teardown_failure();

double now_s();

// The factor of time limits: $RIG_SLOW, which slow guests set.
double slow();

} // namespace vt

#endif
