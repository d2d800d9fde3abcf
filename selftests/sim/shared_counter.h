/* SPDX-License-Identifier: GPL-2.0 */
/* The one counter to which all connections add 1: each of its values is returned once. */
#ifndef TERN_SIM_SHARED_COUNTER_H
#define TERN_SIM_SHARED_COUNTER_H

#include <cstdint>
#include <vector>

namespace sim {

class SharedCounter {
public:
	/* An addition returned this value. */
	void result(int endpoint, uint64_t result);
	/* No addition is lost. */
	void check_end() const;

	uint64_t value = 0;

private:
	std::vector<bool> seen_;
	uint64_t results_ = 0;
};

} /* namespace sim */

#endif
