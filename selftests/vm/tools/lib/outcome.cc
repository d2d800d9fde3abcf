// SPDX-License-Identifier: GPL-2.0
// See outcome.h.
#include "outcome.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace vt {
namespace {

std::string teardown_note;
std::string teardown_taken;

std::string text(const char *format, va_list args)
{
	char line[512];
	vsnprintf(line, sizeof(line), format, args);
	return line;
}

} // namespace

void fail(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	std::string line = text(format, args);
	va_end(args);
	throw Failure(line);
}

void skip(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	std::string line = text(format, args);
	va_end(args);
	throw Skip(line);
}

void require(bool ok, const char *format, ...)
{
	if (ok)
		return;
	va_list args;
	va_start(args, format);
	std::string line = text(format, args);
	va_end(args);
	throw Failure(line);
}

bool means_unsupported(int error)
{
	return error == EOPNOTSUPP || error == ENOSYS || error == EPROTONOSUPPORT;
}

void refuse(const char *what, int error)
{
	if (means_unsupported(error))
		skip("%s: %s", what, strerror(error));
	fail("%s: %s", what, strerror(error));
}

void note_teardown_failure(const char *what, int error)
{
	if (teardown_note.empty())
		teardown_note = std::string(what) + ": " + strerror(error);
}

const char *take_teardown_failure()
{
	teardown_taken.swap(teardown_note);
	teardown_note.clear();
	return teardown_taken.empty() ? nullptr : teardown_taken.c_str();
}

double now_s()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double slow()
{
	const char *text = getenv("RIG_SLOW");
	double factor = text ? atof(text) : 1;
	return factor > 1 ? factor : 1;
}

} // namespace vt
