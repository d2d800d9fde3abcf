// SPDX-License-Identifier: GPL-2.0
// See conform.h.
#include "conform.h"

#include <cstring>
#include <sstream>
#include <utility>

#include "options.h"

namespace vt {
namespace {

DeviceChoice choice;

class CaseTest : public testing::Test {
public:
	explicit CaseTest(const CaseRun &run) : run_(run) {}

	void TestBody() override
	{
		try {
			Bed bed(choice);
			run_(bed);
		} catch (const Skip &why) {
			GTEST_SKIP() << why.what();
		} catch (const std::exception &why) {
			FAIL() << why.what();
		}
	}

	void TearDown() override
	{
		const char *left = take_teardown_failure();
		if (left)
			ADD_FAILURE() << left;
	}

private:
	const CaseRun &run_;
};

std::string on_one_line(std::string text)
{
	for (char &c : text)
		if (c == '\n')
			c = ' ';
	return text;
}

constexpr int kSlowMs = 500;

// TAP on stdout, as from the other tools.
class TapPrinter : public testing::EmptyTestEventListener {
	void OnTestProgramStart(const testing::UnitTest &all) override
	{
		printf("1..%d\n", all.test_to_run_count());
		fflush(stdout);
	}

	void OnTestEnd(const testing::TestInfo &test) override
	{
		const testing::TestResult &result = *test.result();
		printf("%sok %d %s.%s", result.Failed() ? "not " : "", ++number_,
		       test.test_suite_name(), test.name());
		if (result.Skipped())
			printf(" # SKIP %s", reason(result).c_str());
		printf("\n");
		if (result.Failed())
			comment(result);
		if (result.elapsed_time() > kSlowMs)
			printf("# %lld ms\n", static_cast<long long>(result.elapsed_time()));
		fflush(stdout);
	}

	void OnTestProgramEnd(const testing::UnitTest &all) override
	{
		printf("# %d passed, %d failed, %d skipped, %lld ms\n", all.successful_test_count(),
		       all.failed_test_count(), all.skipped_test_count(),
		       static_cast<long long>(all.elapsed_time()));
	}

	static std::string reason(const testing::TestResult &result)
	{
		for (int i = 0; i < result.total_part_count(); i++)
			if (result.GetTestPartResult(i).skipped())
				return on_one_line(result.GetTestPartResult(i).message());
		return "?";
	}

	static void comment(const testing::TestResult &result)
	{
		for (int i = 0; i < result.total_part_count(); i++) {
			const testing::TestPartResult &part = result.GetTestPartResult(i);
			if (!part.failed())
				continue;
			const char *file = part.file_name() ? part.file_name() : "?";
			printf("# %s:%d: %s\n", file, part.line_number(),
			       on_one_line(part.message()).c_str());
		}
	}

	int number_ = 0;
};

} // namespace

void add_case(const char *group, const std::string &name, CaseRun run)
{
	// GoogleTest makes the test from it, once for each repetition.
	auto kept = std::make_shared<CaseRun>(std::move(run));
	testing::RegisterTest(group, name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
			      [kept]() -> testing::Test * { return new CaseTest(*kept); });
}

std::ostream &operator<<(std::ostream &out, Errno error)
{
	if (!error.value)
		return out << "0";
	const char *name = strerrorname_np(error.value);
	return out << (name ? name : "?") << " (" << error.value << ")";
}

static int run_all(int argc, char **argv)
{
	testing::InitGoogleTest(&argc, argv);
	if (!parse_options(argc, argv,
			   {{'n', &choice.netdev},
			    {'d', &choice.device},
			    {'f', &choice.family},
			    {'g', &choice.gid_index},
			    {'r', &choice.roce}})) {
		fprintf(stderr,
			"usage: %s -n NETDEV | -d DEVICE [-f 4|6] [-r 1|2] [-g GID_INDEX] "
			"[--gtest_filter=PATTERN] [--gtest_list_tests]\n",
			argv[0]);
		return 2;
	}
	testing::TestEventListeners &listeners = testing::UnitTest::GetInstance()->listeners();
	delete listeners.Release(listeners.default_result_printer());
	listeners.Append(new TapPrinter);
	return RUN_ALL_TESTS();
}

} // namespace vt

// vconform: both ends of everything are in this process, on one device.
int main(int argc, char **argv)
{
	return vt::run_all(argc, argv);
}
