// SPDX-License-Identifier: GPL-2.0
// Memory regions of user memory: each combination of rights, what cannot be registered, and
// re-registration.
#include <cstdint>
#include <sys/mman.h>

#include "conform.h"
#include "pair.h"

namespace vt {
namespace {

Mr try_reg(Bed &bed, void *at, size_t bytes, int access)
{
	return Mr(ibv_reg_mr(bed.pd.get(), at, bytes, access));
}

// A page with those rights, and nothing behind it.
class Mapping {
public:
	explicit Mapping(int rights)
		: at_(static_cast<char *>(
			  mmap(nullptr, 2 * kPage, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
	{
		require(at_ != MAP_FAILED, "mmap: %m");
		munmap(at_ + kPage, kPage);
	}
	~Mapping() { munmap(at_, kPage); }
	Mapping(const Mapping &) = delete;
	Mapping &operator=(const Mapping &) = delete;
	char *at() const { return at_; }

private:
	char *at_;
};

struct Rights {
	const char *name;
	int access;
	int error; // 0: they are granted
};

constexpr Rights kRights[] = {
	{"none", 0, 0},
	{"LOCAL_WRITE", IBV_ACCESS_LOCAL_WRITE, 0},
	{"REMOTE_READ", IBV_ACCESS_REMOTE_READ, 0},
	{"REMOTE_WRITE_without_LOCAL_WRITE", IBV_ACCESS_REMOTE_WRITE, EINVAL},
	{"REMOTE_ATOMIC_without_LOCAL_WRITE", IBV_ACCESS_REMOTE_ATOMIC, EINVAL},
	{"LOCAL_WRITE_REMOTE_WRITE", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, 0},
	{"LOCAL_WRITE_REMOTE_READ", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ, 0},
	{"LOCAL_WRITE_REMOTE_ATOMIC", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC, 0},
	{"all_remote", kAllAccess, 0},
	{"MW_BIND", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND, 0},
	{"ZERO_BASED", kAllAccess | IBV_ACCESS_ZERO_BASED, 0},
	{"RELAXED_ORDERING", kAllAccess | IBV_ACCESS_RELAXED_ORDERING, 0},
};

const Added rights([] {
	for (const Rights &row : kRights)
		add_case("RegMr", std::string(row.name) + (row.error ? "_is_refused" : ""),
			 [row](Bed &bed) {
				 Buffer buffer(kPage);
				 Mr mr = try_reg(bed, buffer.data(), kPage, row.access);
				 if (!mr && means_unsupported(errno) && !row.error)
					 refuse("ibv_reg_mr", errno);
				 EXPECT_ERR(refusal(mr), row.error);
				 if (!mr)
					 return;
				 EXPECT_EQ(mr->addr, buffer.data());
				 EXPECT_EQ(mr->length, kPage);
				 EXPECT_EQ(mr->pd, bed.pd.get());
			 });
});

CONFORM(RegMr, unknown_right_is_refused)
{
	Buffer buffer(kPage);
	EXPECT_NE(refusal(try_reg(bed, buffer.data(), kPage, 1 << 18)), 0);
}

CONFORM(RegMr, keys_differ)
{
	Arena one(bed.pd.get(), kPage), two(bed.pd.get(), kPage);
	EXPECT_NE(one.lkey(), two.lkey());
	EXPECT_NE(one.mr()->rkey, two.mr()->rkey);
}

CONFORM(RegMr, any_alignment)
{
	Buffer buffer(3 * kPage);
	for (size_t offset : {1u, 7u, 4095u})
		for (size_t bytes : {1u, 4097u, 8000u})
			EXPECT_ERR(refusal(try_reg(bed, buffer.data() + offset, bytes, kAllAccess)),
				   0)
				<< bytes << " bytes at " << offset;
}

CONFORM(RegMr, same_memory_twice)
{
	Buffer buffer(kPage);
	Mr one = try_reg(bed, buffer.data(), kPage, kAllAccess);
	Mr two = try_reg(bed, buffer.data(), kPage, kAllAccess);
	EXPECT_NE(one, nullptr);
	EXPECT_NE(two, nullptr);
}

CONFORM(RegMr, huge_length_is_refused)
{
	Buffer buffer(kPage);
	EXPECT_NE(refusal(try_reg(bed, buffer.data(), SIZE_MAX / 2, kAllAccess)), 0);
}

CONFORM(RegMr, range_that_wraps_is_refused)
{
	Buffer buffer(kPage);
	EXPECT_NE(refusal(try_reg(bed, buffer.data(), SIZE_MAX - 100, kAllAccess)), 0);
}

CONFORM(RegMr, null_address_is_refused)
{
	EXPECT_ERR(refusal(try_reg(bed, nullptr, kPage, kAllAccess)), EFAULT);
}

CONFORM(RegMr, memory_with_a_hole_is_refused)
{
	Mapping page(PROT_READ | PROT_WRITE);
	EXPECT_ERR(refusal(try_reg(bed, page.at(), 2 * kPage, kAllAccess)), EFAULT);
}

CONFORM(RegMr, unmapped_memory_is_refused)
{
	Mapping page(PROT_READ | PROT_WRITE);
	EXPECT_ERR(refusal(try_reg(bed, page.at() + kPage, kPage, kAllAccess)), EFAULT);
}

CONFORM(RegMr, read_only_memory_for_writing_is_refused)
{
	Mapping page(PROT_READ);
	EXPECT_ERR(refusal(try_reg(bed, page.at(), kPage, IBV_ACCESS_LOCAL_WRITE)), EFAULT);
}

CONFORM(RegMr, read_only_memory_for_reading)
{
	Mapping page(PROT_READ);
	EXPECT_ERR(refusal(try_reg(bed, page.at(), kPage, IBV_ACCESS_REMOTE_READ)), 0);
}

CONFORM(RegMr, iova_of_choice)
{
	Buffer buffer(kPage);
	Mr mr = made(
		Mr(ibv_reg_mr_iova(bed.pd.get(), buffer.data(), kPage, 0x700000000000, kAllAccess)),
		"ibv_reg_mr_iova");
	EXPECT_EQ(mr->length, kPage);
}

CONFORM(RegMr, iova_with_another_offset_in_the_page_is_refused)
{
	Buffer buffer(kPage);
	Mr mr(ibv_reg_mr_iova(bed.pd.get(), buffer.data(), 64, 0x700000000001, kAllAccess));
	EXPECT_ERR(refusal(mr), EINVAL);
}

CONFORM(RegMr, deregistered_key_is_dead)
{
	Pair pair(bed);
	Work w = pair.work(IBV_WR_RDMA_READ);
	pair.far_mem.deregister();
	pair.ends(w, IBV_WC_REM_ACCESS_ERR);
}

CONFORM(RegMr, import_has_its_keys)
{
	Arena arena(bed.pd.get(), kPage);
	ibv_mr *mr = ibv_import_mr(bed.pd.get(), arena.mr()->handle);
	if (!mr)
		refuse("ibv_import_mr", errno);
	EXPECT_EQ(mr->lkey, arena.lkey());
	EXPECT_EQ(mr->rkey, arena.mr()->rkey);
	EXPECT_EQ(mr->length, kPage);
	ibv_unimport_mr(mr);
}

CONFORM(RegMr, import_of_an_unknown_handle_is_refused)
{
	Arena arena(bed.pd.get(), kPage);
	ibv_mr *mr = ibv_import_mr(bed.pd.get(), arena.mr()->handle + 1000);
	if (!mr && means_unsupported(errno))
		refuse("ibv_import_mr", errno);
	EXPECT_EQ(mr, nullptr);
	if (mr)
		ibv_unimport_mr(mr);
}

// ---- ibv_rereg_mr: 0 or the error's enum ----

struct Rereg {
	explicit Rereg(Bed &b) : bed(b), old(2 * kPage), other(2 * kPage), pd(make_pd(b.context))
	{
		mr = made(try_reg(bed, old.data(), kPage, kAllAccess), "ibv_reg_mr");
	}
	// Skips the case if the verb is not supported.
	int call(int flags, void *at, size_t bytes, int access)
	{
		errno = 0;
		int result = ibv_rereg_mr(mr.get(), flags, pd.get(), at, bytes, access);
		if (result && means_unsupported(errno))
			refuse("ibv_rereg_mr", errno);
		return result;
	}

	Bed &bed;
	Buffer old, other;
	Pd pd;
	Mr mr;
};

CONFORM(ReregMr, translation)
{
	Rereg r(bed);
	EXPECT_EQ(r.call(IBV_REREG_MR_CHANGE_TRANSLATION, r.other.data(), 2 * kPage, 0), 0);
	EXPECT_EQ(r.mr->addr, r.other.data());
	EXPECT_EQ(r.mr->length, 2 * kPage);
}

CONFORM(ReregMr, rights)
{
	Rereg r(bed);
	EXPECT_EQ(r.call(IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, IBV_ACCESS_LOCAL_WRITE), 0);
}

CONFORM(ReregMr, pd)
{
	Rereg r(bed);
	EXPECT_EQ(r.call(IBV_REREG_MR_CHANGE_PD, nullptr, 0, 0), 0);
	EXPECT_EQ(r.mr->pd, r.pd.get());
	EXPECT_ERR(ibv_dealloc_pd(r.pd.get()), EBUSY);
	r.mr.reset();
}

CONFORM(ReregMr, all_at_once)
{
	Rereg r(bed);
	EXPECT_EQ(r.call(IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD |
				 IBV_REREG_MR_CHANGE_ACCESS,
			 r.other.data(), kPage, IBV_ACCESS_REMOTE_READ),
		  0);
	r.mr.reset();
}

CONFORM(ReregMr, nothing_is_refused)
{
	Rereg r(bed);
	EXPECT_NE(r.call(0, nullptr, 0, 0), 0);
}

CONFORM(ReregMr, unknown_flag_is_refused)
{
	Rereg r(bed);
	EXPECT_EQ(r.call(1 << 10, r.other.data(), kPage, kAllAccess), IBV_REREG_MR_ERR_INPUT);
}

CONFORM(ReregMr, translation_to_nothing_is_refused)
{
	Rereg r(bed);
	EXPECT_EQ(r.call(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, kPage, 0),
		  IBV_REREG_MR_ERR_INPUT);
	EXPECT_EQ(r.call(IBV_REREG_MR_CHANGE_TRANSLATION, r.other.data(), 0, 0),
		  IBV_REREG_MR_ERR_INPUT);
}

CONFORM(ReregMr, failure_leaves_the_region_as_it_was)
{
	Rereg r(bed);
	Mapping page(PROT_READ | PROT_WRITE);
	uint32_t key = r.mr->lkey;
	EXPECT_NE(r.call(IBV_REREG_MR_CHANGE_TRANSLATION, page.at(), 2 * kPage, 0), 0);
	EXPECT_EQ(r.mr->lkey, key);
	EXPECT_EQ(r.mr->addr, r.old.data());
}

CONFORM(ReregMr, rights_that_are_lost_are_lost_at_the_peer)
{
	Pair pair(bed);
	errno = 0;
	int result = ibv_rereg_mr(pair.far_mem.mr(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr,
				  0, IBV_ACCESS_LOCAL_WRITE);
	if (result && means_unsupported(errno))
		refuse("ibv_rereg_mr", errno);
	ASSERT_EQ(result, 0);
	pair.ends(pair.work(IBV_WR_RDMA_READ), IBV_WC_REM_ACCESS_ERR);
}

} // namespace
} // namespace vt
