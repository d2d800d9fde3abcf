/* SPDX-License-Identifier: GPL-2.0 */
// Command lines: options of one letter, and perhaps a word after them.
#ifndef TERN_VM_OPTIONS_H
#define TERN_VM_OPTIONS_H

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace vt {

struct Option {
	char letter;
	// Where its value goes. A bool takes none; a vector takes those of each time.
	std::variant<bool *, std::string *, std::vector<std::string> *, uint8_t *, uint16_t *,
		     int *, uint32_t *, uint64_t *, double *>
		to;
};

// False: there is something else, or a number that is none or does not fit.
bool parse_options(int argc, char **argv, const std::vector<Option> &options,
		   std::string *word = nullptr);

} // namespace vt

#endif
