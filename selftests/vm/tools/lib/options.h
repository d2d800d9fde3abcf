/* SPDX-License-Identifier: GPL-2.0 */
// Command lines: options of one letter, with or without a value.
#ifndef TERN_VM_OPTIONS_H
#define TERN_VM_OPTIONS_H

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace vt {

struct Option {
	char letter;
	// Where the value goes. A bool has no value; a vector collects all values.
	std::variant<bool *, std::string *, std::vector<std::string> *, uint8_t *, uint16_t *,
		     int *, uint32_t *, uint64_t *, double *>
		to;
};

// False: there is another word, or a number that is malformed or out of range.
bool parse_options(int argc, char **argv, const std::vector<Option> &options,
		   std::string *word = nullptr);

} // namespace vt

#endif
