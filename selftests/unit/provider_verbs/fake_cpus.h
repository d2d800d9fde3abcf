/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How many processors this program's machine has, as a test will have it, and how often
 * they were yielded: while a FakeCpus lives, in its thread.
 */
#ifndef FAKE_CPUS_H
#define FAKE_CPUS_H

class FakeCpus {
public:
	explicit FakeCpus(int online);
	~FakeCpus();
	FakeCpus(const FakeCpus &) = delete;
	FakeCpus &operator=(const FakeCpus &) = delete;

	int online;
	unsigned yields = 0;
};

#endif
