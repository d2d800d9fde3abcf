/* SPDX-License-Identifier: GPL-2.0 */
// The kernel's fault injection for this thread: the n-th point from now on that can fail, fails.
#ifndef TERN_VM_FAULT_FAIL_NTH_H
#define TERN_VM_FAULT_FAIL_NTH_H

namespace vt {

class FailNth {
public:
	// Skips if the kernel has none.
	FailNth();
	~FailNth();
	FailNth(const FailNth &) = delete;
	FailNth &operator=(const FailNth &) = delete;

	void arm(int n);
	// Ends the injection. True: a point has failed.
	bool disarm();

private:
	int fd_;
};

} // namespace vt

#endif
