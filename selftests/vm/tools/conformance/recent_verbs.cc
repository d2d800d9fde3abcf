// SPDX-License-Identifier: GPL-2.0
// Verbs that rdma-core has since 59: regions by ibv_reg_mr_ex(), and what a device without hardware
// queues, adapters' memory or several links has no use for.
#include <cstring>
#include <unistd.h>

#include "conform.h"
#include "pair.h"

namespace vt {
namespace {

#if RDMA_CORE >= 59
Mr try_reg_ex(Bed &bed, ibv_mr_init_attr attr)
{
	attr.length = kPage;
	attr.access = kAllAccess;
	return Mr(ibv_reg_mr_ex(bed.pd.get(), &attr));
}

CONFORM(RegMrEx, by_address)
{
	Buffer buffer(kPage);
	ibv_mr_init_attr attr = {};
	attr.comp_mask = IBV_REG_MR_MASK_ADDR;
	attr.addr = buffer.data();
	Mr mr = try_reg_ex(bed, attr);
	ASSERT_NE(mr, nullptr) << Errno{errno};
	EXPECT_EQ(mr->addr, buffer.data());
	EXPECT_EQ(mr->length, kPage);
}

CONFORM(RegMrEx, by_address_and_iova)
{
	constexpr uint64_t kIova = 0x123456000;
	bed.need_roce("its regions have no other address");
	Pair pair(bed);
	Buffer buffer(kPage);
	memset(buffer.data(), 0x5a, kPage);
	ibv_mr_init_attr attr = {};
	attr.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_IOVA;
	attr.addr = buffer.data();
	attr.iova = kIova;
	Mr mr = try_reg_ex(bed, attr);
	ASSERT_NE(mr, nullptr) << Errno{errno};
	Work w = pair.work(IBV_WR_RDMA_READ);
	w.remote_va = kIova;
	w.rkey = mr->rkey;
	post(pair.near, w);
	EXPECT_EQ(pair.near_cq.next().status, IBV_WC_SUCCESS);
}

CONFORM(RegMrEx, of_no_memory_is_refused)
{
	EXPECT_NE(refusal(try_reg_ex(bed, {})), 0);
}

CONFORM(RegMrEx, unknown_mask_is_refused)
{
	Buffer buffer(kPage);
	ibv_mr_init_attr attr = {};
	attr.comp_mask = IBV_REG_MR_MASK_ADDR | 1ull << 62;
	attr.addr = buffer.data();
	int error = refusal(try_reg_ex(bed, attr));
	EXPECT_TRUE(error == EINVAL || error == EOPNOTSUPP) << Errno{error};
}

CONFORM(RegMrEx, descriptor_of_another_file_is_refused)
{
	int fds[2];
	require(!pipe(fds), "pipe: %m");
	ibv_mr_init_attr attr = {};
	attr.comp_mask = IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET | IBV_REG_MR_MASK_IOVA;
	attr.fd = fds[0];
	EXPECT_NE(refusal(try_reg_ex(bed, attr)), 0);
	close(fds[0]);
	close(fds[1]);
}

// Hints for an adapter that writes into CPUs' caches.
CONFORM(DmaHandle, is_refused)
{
	ibv_dmah_init_attr attr = {};
	attr.comp_mask = IBV_DMAH_INIT_ATTR_MASK_CPU_ID;
	ibv_dmah *handle = ibv_alloc_dmah(bed.context, &attr);
	int error = handle ? 0 : errno;
	if (handle)
		ibv_dealloc_dmah(handle);
	EXPECT_ERR(error, EOPNOTSUPP);
}
#endif

#if RDMA_CORE >= 62
CONFORM(QueryPort, speed_is_refused)
{
	uint64_t speed = 0;
	EXPECT_ERR(ibv_query_port_speed(bed.context, 1, &speed), EOPNOTSUPP);
}

CONFORM(DeviceMemory, export_is_refused)
{
	ibv_alloc_dm_attr attr = {};
	attr.length = kPage;
	Dm dm(ibv_alloc_dm(bed.context, &attr));
	if (!dm)
		refuse("ibv_alloc_dm", errno);
	int fd = ibv_dm_export_dmabuf_fd(dm.get());
	int error = errno;
	EXPECT_EQ(fd, -1);
	EXPECT_ERR(error, EOPNOTSUPP);
}
#endif

#if RDMA_CORE >= 64
// Memory that libibverbs allocates, if the provider has no other for it.
struct Allocated {
	explicit Allocated(Bed &bed)
		: at(static_cast<char *>(ibv_alloc_buf(bed.pd.get(), 2 * kPage, &buf)))
	{
		require(at, "ibv_alloc_buf: %m");
	}
	~Allocated() { ibv_free_buf(buf); }
	Allocated(const Allocated &) = delete;
	Allocated &operator=(const Allocated &) = delete;

	ibv_buf *buf = nullptr;
	char *at;
};

CONFORM(AllocBuf, is_registered)
{
	Allocated memory(bed);
	EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.at) % kPage, 0u);
	Mr mr(ibv_reg_buf_mr(bed.pd.get(), memory.buf, memory.at + kPage, kPage, kAllAccess));
	ASSERT_NE(mr, nullptr) << Errno{errno};
	EXPECT_EQ(mr->addr, memory.at + kPage);
	EXPECT_EQ(mr->length, kPage);
}
#endif

#if RDMA_CORE >= 65
CONFORM(AllocBuf, is_no_dma_buf)
{
	Allocated memory(bed);
	int fd = ibv_export_buf_dmabuf_fd(memory.buf);
	int error = errno;
	EXPECT_EQ(fd, -1);
	EXPECT_ERR(error, ENODATA);
}

CONFORM(CompCntr, is_refused)
{
	ibv_comp_cntr_init_attr attr = {};
	ibv_comp_cntr *counter = ibv_create_comp_cntr(bed.context, &attr);
	int error = counter ? 0 : errno;
	if (counter)
		ibv_destroy_comp_cntr(counter);
	EXPECT_ERR(error, EOPNOTSUPP);
}

CONFORM(CompCntr, capabilities_are_none)
{
	ibv_comp_cntr_caps caps = {};
	int error = ibv_query_comp_cntr_caps(bed.context, &caps);
	EXPECT_TRUE(error == EOPNOTSUPP || !caps.max_counters) << Errno{error};
}
#endif

} // namespace
} // namespace vt
