/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The command line of a simulator: options that each take a value, --help,
 * and the line that replays a failed run.
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
	/* name: with its dashes; what: of the value, for the usage. */
	void add(const char *name, const char *what, Value v)
	{
		options_.push_back({name, what, v});
	}

	bool parse(int argc, char **argv);
	/* All but the list of scenarios. */
	void usage(FILE *f) const;
	/* Optional values only if they were given. */
	void print_replay(FILE *f) const;
	/* The end of a run that failed. */
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
