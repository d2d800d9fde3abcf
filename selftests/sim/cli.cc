// SPDX-License-Identifier: GPL-2.0
#include "cli.h"

#include <cinttypes>
#include <cstdlib>

namespace sim {
namespace {

struct Set {
	const char *text;

	void operator()(std::string *v) const { *v = text; }
	void operator()(uint64_t *v) const { *v = strtoull(text, nullptr, 0); }
	void operator()(uint32_t *v) const { *v = (uint32_t)strtoul(text, nullptr, 0); }
	void operator()(double *v) const { *v = strtod(text, nullptr); }
	void operator()(std::optional<uint32_t> *v) const
	{
		*v = (uint32_t)strtoul(text, nullptr, 0);
	}
};

struct Print {
	FILE *f;
	const char *name;

	void operator()(const std::string *v) const { fprintf(f, " %s %s", name, v->c_str()); }
	void operator()(const uint64_t *v) const { fprintf(f, " %s %" PRIu64, name, *v); }
	void operator()(const uint32_t *v) const { fprintf(f, " %s %u", name, *v); }
	void operator()(const double *v) const { fprintf(f, " %s %g", name, *v); }
	void operator()(const std::optional<uint32_t> *v) const
	{
		if (*v)
			fprintf(f, " %s %u", name, **v);
	}
};

} /* namespace */

bool Cli::parse(int argc, char **argv)
{
	for (int i = 1; i < argc; i += 2) {
		bool known = false;

		if (i + 1 == argc)
			return false;
		for (const Option &o : options_) {
			if (std::string(argv[i]) != o.name)
				continue;
			std::visit(Set{argv[i + 1]}, o.value);
			known = true;
		}
		if (!known)
			return false;
	}
	return true;
}

void Cli::usage(FILE *f) const
{
	int column = fprintf(f, "usage: %s", program_);

	for (const Option &o : options_) {
		std::string text = std::string(" [") + o.name + " " + o.what + "]";

		if (column + text.size() > 78)
			column = fprintf(f, "\n          ") - 1;
		column += fprintf(f, "%s", text.c_str());
	}
	fprintf(f, "\nscenarios:\n");
}

void Cli::print_replay(FILE *f) const
{
	fprintf(f, "replay: %s", program_);
	for (const Option &o : options_)
		std::visit(Print{f, o.name}, o.value);
	fprintf(f, "\n");
}

void Cli::print_failure(const Failure &why, const Trace &trace, uint64_t now_ns) const
{
	printf("last events:\n");
	trace.print(stdout, 60);
	printf("FAILED at %" PRIu64 " ns: %s\n", now_ns, why.what());
	print_replay(stdout);
}

} /* namespace sim */
