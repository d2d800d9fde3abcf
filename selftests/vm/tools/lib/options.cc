// SPDX-License-Identifier: GPL-2.0
// See options.h.
#include "options.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <unistd.h>

namespace vt {
namespace {

bool read(const char *, bool *to)
{
	return *to = true;
}

bool read(const char *text, std::string *to)
{
	*to = text;
	return true;
}

bool read(const char *text, std::vector<std::string> *to)
{
	to->emplace_back(text);
	return true;
}

bool read(const char *text, double *to)
{
	const char *end = text + strlen(text);
	auto [at, error] = std::from_chars(text, end, *to);
	return at == end && error == std::errc();
}

// Decimal, or hexadecimal after 0x.
template <class Integer> bool read(const char *text, Integer *to)
{
	bool hex = !strncmp(text, "0x", 2);
	const char *end = text + strlen(text);
	auto [at, error] = std::from_chars(text + (hex ? 2 : 0), end, *to, hex ? 16 : 10);
	return at == end && error == std::errc();
}

} // namespace

bool parse_options(int argc, char **argv, const std::vector<Option> &options, std::string *word)
{
	std::string letters;
	for (const Option &option : options) {
		letters += option.letter;
		if (!std::holds_alternative<bool *>(option.to))
			letters += ':';
	}
	for (int c; (c = getopt(argc, argv, letters.c_str())) != -1;) {
		auto found = std::find_if(options.begin(), options.end(),
					  [c](const Option &option) { return option.letter == c; });
		if (found == options.end() ||
		    !std::visit([](auto *to) { return read(optarg, to); }, found->to))
			return false;
	}
	if (word && optind < argc)
		*word = argv[optind++];
	return optind == argc;
}

} // namespace vt
