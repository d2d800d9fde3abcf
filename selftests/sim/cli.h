/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The command line of a simulator: options with one value each, --help, and the line that replays a
 * failed run.
 */
#ifndef TERN_SIM_CLI_H
#define TERN_SIM_CLI_H

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "trace.h"

namespace sim {

class Cli {
public:
	using Value = std::variant<std::string *, uint64_t *, uint32_t *, double *,
				   std::optional<uint32_t> *>;

	explicit Cli(const char *program) : program_(program) {}
	/* name: with its dashes; what: the value's meaning, for the usage. */
	void add(const char *name, const char *what, Value v)
	{
		options_.push_back({name, what, v});
	}

	bool parse(int argc, char **argv);
	/* Everything except the list of scenarios. */
	void usage(FILE *f) const;
	/* Optional values only if they are given. */
	void print_replay(FILE *f) const;
	/* The output at the end of a failed run. */
	void print_failure(const Failure &why, const Trace &trace, uint64_t now_ns) const;

private:
	struct Option {
		const char *name, *what;
		Value value;
	};

	const char *program_;
	std::vector<Option> options_;
};

} /* namespace sim */

#endif
