// SPDX-License-Identifier: GPL-2.0
// Regions of dma-bufs: data, where they begin and end, what is refused, and the exporter that takes
// its memory back. But for the first two they need the test module tern_exporter.
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "conform.h"
#include "pair.h"

namespace vt {
namespace {

constexpr size_t kBytes = 4 * kPage;
constexpr uint64_t kIova = 0x7700000000;

CONFORM(DmaBuf, descriptor_that_is_not_open_is_refused)
{
	Mr mr(ibv_reg_dmabuf_mr(bed.pd.get(), 0, kPage, 0, -1, kAllAccess));
	if (!mr && means_unsupported(errno))
		refuse("ibv_reg_dmabuf_mr", errno);
	EXPECT_ERR(refusal(mr), EBADF);
}

CONFORM(DmaBuf, descriptor_of_another_file_is_refused)
{
	int fd = open("/dev/null", O_RDWR);
	Mr mr(ibv_reg_dmabuf_mr(bed.pd.get(), 0, kPage, 0, fd, kAllAccess));
	int error = refusal(mr);
	close(fd);
	if (means_unsupported(error))
		refuse("ibv_reg_dmabuf_mr", error);
	EXPECT_ERR(error, EINVAL);
}

// A dma-buf, which nothing may use when it goes. The case is skipped if none can be registered.
class Exported {
public:
	Exported(Bed &bed, uint32_t flags) : dma_buf_(DmaBuf::exported(kBytes, flags))
	{
		DmaBuf plain = DmaBuf::exported(kBytes);
		made(reg_dma_buf(bed.pd.get(), plain, 0, kBytes, 0), "ibv_reg_dmabuf_mr");
	}
	~Exported()
	{
		exporter_state now = dma_buf_.state();
		EXPECT_EQ(now.attached, 0u);
		EXPECT_EQ(now.pinned, 0u);
		EXPECT_EQ(now.mapped, 0u);
		EXPECT_EQ(now.accessed, 0u);
	}
	Exported(const Exported &) = delete;
	Exported &operator=(const Exported &) = delete;

	Mr reg(Bed &bed, uint64_t offset = 0, size_t bytes = kBytes, uint64_t iova = kIova,
	       int access = kAllAccess)
	{
		return reg_dma_buf(bed.pd.get(), dma_buf_, offset, bytes, iova, access);
	}
	const DmaBuf &get() const { return dma_buf_; }

private:
	DmaBuf dma_buf_;
};

// What near gets if it reads there.
ibv_wc_status read_from(Pair &pair, const Mr &mr, uint64_t at, uint64_t id = 1)
{
	Work w = pair.work(IBV_WR_RDMA_READ, id);
	w.remote_va = at;
	w.rkey = mr->rkey;
	post(pair.near, w);
	return pair.near_cq.next().status;
}

void move_data(Bed &bed, uint32_t flags)
{
	Exported exported(bed, flags);
	Pair pair(bed);
	Buffer memory(kBytes, exported.get());
	Mr mr = made(exported.reg(bed), "ibv_reg_dmabuf_mr");
	Work w = pair.work(IBV_WR_RDMA_WRITE);
	w.remote_va = kIova + 5000;
	w.rkey = mr->rkey;
	pair.ends(w, IBV_WC_SUCCESS);
	// iWARP's WRITE is complete when it is sent.
	Work back = pair.work(IBV_WR_RDMA_READ, 2);
	back.remote_va = kIova + 5000;
	back.rkey = mr->rkey;
	back.sges = {pair.near_mem.sge(1024, 64)};
	pair.ends(back, IBV_WC_SUCCESS);
	EXPECT_EQ(memcmp(pair.near_mem.at(0), pair.near_mem.at(1024), 64), 0);
	EXPECT_EQ(memcmp(pair.near_mem.at(0), memory.data() + 5000, 64), 0);
}

CONFORM(DmaBuf, data)
{
	move_data(bed, 0);
}

CONFORM(DmaBuf, data_of_one_that_may_move)
{
	move_data(bed, EXPORTER_MOVES);
}

CONFORM(DmaBuf, receives)
{
	Exported exported(bed, 0);
	Pair pair(bed);
	Buffer memory(kBytes, exported.get());
	Mr mr = made(exported.reg(bed), "ibv_reg_dmabuf_mr");
	pair.receive(7, {{kIova + 100, 64, mr->lkey}});
	pair.ends(pair.work(IBV_WR_SEND), IBV_WC_SUCCESS);
	pair.far_cq.expect(IBV_WC_SUCCESS, 7);
	EXPECT_EQ(memcmp(pair.near_mem.at(0), memory.data() + 100, 64), 0);
}

CONFORM(DmaBuf, region_in_its_middle_ends_there)
{
	Exported exported(bed, 0);
	Pair pair(bed);
	Mr mr = made(exported.reg(bed, kPage + 100, 5000, kIova + 100), "ibv_reg_dmabuf_mr");
	EXPECT_EQ(mr->length, 5000u);
	EXPECT_EQ(read_from(pair, mr, kIova + 100 + 5000 - 64), IBV_WC_SUCCESS);
	EXPECT_EQ(read_from(pair, mr, kIova + 100 + 5000 - 63), IBV_WC_REM_ACCESS_ERR);
}

CONFORM(DmaBuf, revoked_is_REM_ACCESS_ERR)
{
	Exported exported(bed, EXPORTER_MOVES);
	Pair pair(bed);
	Mr mr = made(exported.reg(bed), "ibv_reg_dmabuf_mr");
	EXPECT_EQ(read_from(pair, mr, kIova), IBV_WC_SUCCESS);
	exported.get().revoke();
	EXPECT_EQ(read_from(pair, mr, kIova, 2), IBV_WC_REM_ACCESS_ERR);
	mr.reset();
	EXPECT_EQ(exported.get().state().scribbled, 0u);
}

CONFORM(DmaBuf, is_registered_again_after_it_was_revoked)
{
	Exported exported(bed, EXPORTER_MOVES);
	Mr mr = made(exported.reg(bed), "ibv_reg_dmabuf_mr");
	exported.get().revoke();
	mr.reset();
	Pair pair(bed);
	Mr again = made(exported.reg(bed), "ibv_reg_dmabuf_mr");
	EXPECT_EQ(read_from(pair, again, kIova), IBV_WC_SUCCESS);
}

CONFORM(DmaBuf, read_only_one_for_reading)
{
	Exported exported(bed, EXPORTER_READ_ONLY);
	Pair pair(bed);
	Mr mr = made(exported.reg(bed, 0, kBytes, kIova, IBV_ACCESS_REMOTE_READ),
		     "ibv_reg_dmabuf_mr");
	EXPECT_EQ(read_from(pair, mr, kIova), IBV_WC_SUCCESS);
}

struct Refusal {
	const char *name;
	int error;
	uint32_t flags = 0;
	uint64_t offset = 0;
	size_t bytes = kBytes;
	uint64_t iova = kIova;
	int access = kAllAccess;
};

constexpr uint64_t kLastPage = UINT64_MAX - kPage + 1;

const Refusal kRefusals[] = {
	{"no_bytes", EINVAL, 0, 0, 0},
	{"one_byte_too_many", EINVAL, 0, 0, kBytes + 1},
	{"one_byte_too_far", EINVAL, 0, 1, kBytes, kIova + 1},
	{"offset_at_its_end", EINVAL, 0, kBytes, 1},
	{"offset_that_wraps", EINVAL, 0, kLastPage, 2 * kPage},
	{"addresses_that_wrap", EINVAL, 0, 0, 2 * kPage, kLastPage},
	{"address_of_another_offset_in_its_page", EINVAL, 0, 0, kPage, kIova + 1},
	{"REMOTE_WRITE_without_LOCAL_WRITE", EINVAL, 0, 0, kBytes, kIova, IBV_ACCESS_REMOTE_WRITE},
	{"MW_BIND", EINVAL, 0, 0, kBytes, kIova, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND},
	{"LOCAL_WRITE_to_a_read_only_one", EACCES, EXPORTER_READ_ONLY, 0, kBytes, kIova,
	 IBV_ACCESS_LOCAL_WRITE},
	{"one_without_kernel_addresses", EOPNOTSUPP, EXPORTER_NO_VMAP},
	{"one_of_IO_memory", EOPNOTSUPP, EXPORTER_IO_MEMORY},
	{"one_that_refuses_importers", EBUSY, EXPORTER_NO_ATTACH},
	{"one_that_refuses_access", EBUSY, EXPORTER_NO_ACCESS},
	{"one_that_refuses_to_be_pinned", EBUSY, EXPORTER_NO_PIN | EXPORTER_MOVES},
	{"one_that_is_revoked_meanwhile", ENODEV, EXPORTER_TAKES_BACK | EXPORTER_MOVES},
};

const Added refusals([] {
	for (const Refusal &row : kRefusals)
		add_case("DmaBuf", std::string(row.name) + "_is_refused", [&row](Bed &bed) {
			Exported exported(bed, row.flags);
			EXPECT_ERR(refusal(exported.reg(bed, row.offset, row.bytes, row.iova,
							row.access)),
				   row.error);
		});
});

} // namespace
} // namespace vt
