// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Creating, querying and destroying everything but queues' contents, and its failures.
#include "verbs_test.h"

#include <fcntl.h>

#include <thread>
#include <utility>

#include "abi/library.h"

namespace {

/* Of a libibverbs that tern does not know. */
void ignore_ops(verbs_context * /*context*/, const void * /*ops*/) {}

class Objects : public VerbsTest {};

TEST_F(Objects, ContextKnowsTheKernelsCompletionVectors)
{
	EXPECT_EQ(ctx->num_comp_vectors, 3);
	EXPECT_EQ(device.core_support, 1u);
}

TEST_F(Objects, OpenFailsWhenTheKernelRefusesAContext)
{
	ibv_close_device(ctx);
	kernel.context_errno = EPERM;
	errno = 0;
	ctx = static_cast<ibv_context *>(verbs_open_device(&device.device, nullptr));
	EXPECT_EQ(ctx, nullptr);
	EXPECT_EQ(errno, EPERM);
}

/* What the library does for ibv_import_device(), once it has found the device. */
TEST_F(Objects, ContextOfAnotherProcessIsTakenOver)
{
	auto *imported = static_cast<ibv_context *>(nullptr);
	verbs_context *vctx;

	ibv_close_device(ctx);
	ctx = nullptr;
	vctx = tern::device_ops.import_context(&device.device, kCommandFd);
	ASSERT_NE(vctx, nullptr);
	imported = reinterpret_cast<ibv_context *>(reinterpret_cast<char *>(vctx) +
						   tern::abi::library.release->context_offset);
	EXPECT_EQ(imported->num_comp_vectors, 3);
	/* Its events are its own: its pointers are nothing to the other process. */
	kernel.async_fd = 77;
	imported->async_fd = 77;

	ibv_pd *pd = ibv_import_pd(imported, 1);
	ASSERT_NE(pd, nullptr);
	EXPECT_EQ(pd->handle, 1u);
	ibv_unimport_pd(pd);

	ibv_cq *cq = ibv_create_cq(imported, 4, nullptr, nullptr, 0);
	ASSERT_NE(cq, nullptr);
	EXPECT_EQ(ibv_destroy_cq(cq), 0);
	imported->async_fd = -1;
	EXPECT_GE(kernel.doorbell_fd, 0);
	tern::free_context(imported);
	EXPECT_EQ(kernel.closes, 1);

	kernel.context_errno = EIO;
	errno = 0;
	EXPECT_EQ(tern::device_ops.import_context(&device.device, kCommandFd), nullptr);
	EXPECT_EQ(errno, EIO);
}

TEST_F(Objects, EventsOfQueuesGoWhereTheirContextLooks)
{
	const int real = std::exchange(ctx->async_fd, 55);
	ibv_srq_init_attr srq_attr = {nullptr, {4, 1, 0}};

	kernel.async_fd = 55;
	{
		Queues q;

		make(&q);
		ibv_srq *srq = ibv_create_srq(q.pd, &srq_attr);
		ASSERT_NE(srq, nullptr);
		EXPECT_EQ(ibv_destroy_srq(srq), 0);
	}
	ctx->async_fd = real;
}

TEST_F(Objects, DoorbellFileIsClosedOnceWithItsContext)
{
	const int fd = kernel.doorbell_fd;

	ASSERT_GE(fd, 0);
	EXPECT_EQ(kernel.closes, 0);
	ibv_close_device(ctx);
	ctx = nullptr;
	EXPECT_EQ(kernel.closes, 1);
	EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

TEST_F(Objects, KernelIsNotAskedForAContextWhereTheLibraryDiffers)
{
	ibv_close_device(ctx);
	kernel.doorbell_fd = -1;
	const auto set_ops = std::exchange(tern::abi::library.set_ops, ignore_ops);
	testing::internal::CaptureStderr();
	ctx = static_cast<ibv_context *>(verbs_open_device(&device.device, nullptr));
	EXPECT_NE(testing::internal::GetCapturedStderr().find(
			  "has its operations in another order; install a tern that knows it"),
		  std::string::npos);
	tern::abi::library.set_ops = set_ops;
	EXPECT_EQ(ctx, nullptr);
	EXPECT_EQ(errno, ENOSYS);
	EXPECT_EQ(kernel.doorbell_fd, -1);
}

TEST_F(Objects, WithoutADoorbellFileNothingIsClosed)
{
	kernel.features &= ~uint64_t{TERN_FEATURE_DOORBELL_FILE};
	reopen();
	kernel.doorbell_fd = 0; /* as an older module's answer reads */
	kernel.closes = 0;
	ibv_close_device(ctx);
	ctx = nullptr;
	EXPECT_EQ(kernel.closes, 0);
}

TEST_F(Objects, DeviceAttributesOfEverySize)
{
	ibv_device_attr plain;
	ibv_device_attr_ex ex;
	ibv_query_device_ex_input input = {1};

	memset(&plain, 0xff, sizeof(plain));
	ASSERT_EQ(ibv_query_device(ctx, &plain), 0);
	EXPECT_EQ(plain.max_qp, 1000);
	EXPECT_STREQ(plain.fw_ver, "1.2.3");
	ASSERT_EQ(ibv_query_device_ex(ctx, nullptr, &ex), 0);
	EXPECT_EQ(ex.completion_timestamp_mask, UINT64_MAX);
	EXPECT_EQ(ex.hca_core_clock, 1000000u);
	EXPECT_EQ(ex.tso_caps.max_tso, 0u);
	EXPECT_EQ(ex.max_dm_size, 1u << 20);
	EXPECT_EQ(ibv_query_device_ex(ctx, &input, &ex), EINVAL);
}

/* Programs have older and newer structures than the headers that tern was built with. */
TEST_F(Objects, DeviceAttributesEndWhereTheProgramsEnd)
{
	for (const size_t bytes : {sizeof(ibv_device_attr), sizeof(ibv_device_attr) + 8,
				   sizeof(ibv_device_attr_ex), sizeof(ibv_device_attr_ex) + 8}) {
		alignas(ibv_device_attr_ex) unsigned char room[sizeof(ibv_device_attr_ex) + 16];
		auto *attr = reinterpret_cast<ibv_device_attr_ex *>(room);

		memset(room, 0xa5, sizeof(room));
		ASSERT_EQ(verbs_get_ctx(ctx)->query_device_ex(ctx, nullptr, attr, bytes), 0);
		EXPECT_EQ(attr->orig_attr.max_qp, 1000);
		for (size_t i = sizeof(ibv_device_attr_ex); i < bytes; i++)
			EXPECT_EQ(room[i], 0) << i;
		for (size_t i = bytes; i < sizeof(room); i++)
			ASSERT_EQ(room[i], 0xa5) << i << " of " << bytes;
	}
}

TEST_F(Objects, PortAttributes)
{
	ibv_port_attr attr;

	ASSERT_EQ(ibv_query_port(ctx, 1, &attr), 0);
	EXPECT_EQ(attr.state, IBV_PORT_ACTIVE);
	EXPECT_EQ(attr.gid_tbl_len, 32);
	EXPECT_EQ(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
}

TEST_F(Objects, RawClockIsMonotonicRawInNanoseconds)
{
	ibv_values_ex values = {IBV_VALUES_MASK_RAW_CLOCK, {}};
	timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	ASSERT_EQ(ibv_query_rt_values_ex(ctx, &values), 0);
	EXPECT_EQ(values.comp_mask, uint32_t{IBV_VALUES_MASK_RAW_CLOCK});
	EXPECT_EQ(values.raw_clock.tv_sec, 0);
	EXPECT_GE(values.raw_clock.tv_nsec, now.tv_sec * 1000000000 + now.tv_nsec);
	values.comp_mask = IBV_VALUES_MASK_RESERVED;
	EXPECT_EQ(ibv_query_rt_values_ex(ctx, &values), EINVAL);
}

TEST_F(Objects, ParentDomainHoldsItsPdAndThreadDomain)
{
	ibv_td_init_attr td_attr = {};
	ibv_pd *pd = ibv_alloc_pd(ctx);
	ibv_td *td = ibv_alloc_td(ctx, &td_attr);
	ibv_parent_domain_init_attr attr = {};

	attr.pd = pd;
	attr.td = td;
	ibv_pd *parent = ibv_alloc_parent_domain(ctx, &attr);
	ASSERT_NE(parent, nullptr);
	EXPECT_EQ(parent->handle, pd->handle);
	EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
	EXPECT_EQ(ibv_dealloc_td(td), EBUSY);
	attr.comp_mask = 1 << 2;
	errno = 0;
	EXPECT_EQ(ibv_alloc_parent_domain(ctx, &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	attr.comp_mask = 0;
	attr.pd = parent;
	EXPECT_EQ(ibv_alloc_parent_domain(ctx, &attr), nullptr);
	EXPECT_EQ(ibv_dealloc_pd(parent), 0);
	EXPECT_EQ(ibv_dealloc_td(td), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

void *no_memory(ibv_pd * /*pd*/, void * /*pd_context*/, size_t /*size*/, size_t /*alignment*/,
		uint64_t /*resource*/)
{
	ADD_FAILURE() << "there is nothing to allocate";
	return nullptr;
}

void no_free(ibv_pd * /*pd*/, void * /*pd_context*/, void * /*memory*/, uint64_t /*resource*/)
{
	ADD_FAILURE() << "there is nothing to free";
}

/* They would be for the queues' memory, which the kernel allocates. */
TEST_F(Objects, AllocatorsOfAParentDomainAreTakenAndNotAsked)
{
	Queues q;
	ibv_parent_domain_init_attr attr = {};

	make(&q);
	attr.pd = q.pd;
	attr.comp_mask =
		IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	attr.alloc = no_memory;
	attr.free = no_free;
	attr.pd_context = &q;
	ibv_pd *parent = ibv_alloc_parent_domain(ctx, &attr);
	ASSERT_NE(parent, nullptr);
	ibv_qp_init_attr_ex qp = qp_attr(q, IBV_QPT_RC);
	qp.pd = parent;
	ibv_qp *of_it = ibv_create_qp_ex(ctx, &qp);
	ASSERT_NE(of_it, nullptr);
	EXPECT_EQ(ibv_destroy_qp(of_it), 0);
	EXPECT_EQ(ibv_dealloc_pd(parent), 0);
}

TEST_F(Objects, RegionIsRegisteredReregisteredAndGone)
{
	static char buf[8192];
	ibv_pd *pd = ibv_alloc_pd(ctx);
	ibv_mr *mr = ibv_reg_mr(pd, buf, 100, IBV_ACCESS_LOCAL_WRITE);

	ASSERT_NE(mr, nullptr);
	EXPECT_EQ(mr->lkey, 0x100u);
	EXPECT_EQ(mr->rkey, 0x101u);
	EXPECT_EQ(mr->addr, buf);
	EXPECT_EQ(mr->length, 100u);
	ASSERT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, buf + 4096, 200, 0),
		  0);
	EXPECT_EQ(mr->lkey, 0x200u);
	EXPECT_EQ(mr->addr, buf + 4096);
	EXPECT_EQ(ibv_dereg_mr(mr), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(Objects, RegionOfADmaBufNamesItsFileAndPlace)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	ibv_pd *pd = ibv_alloc_pd(ctx);
	ibv_mr *mr = ibv_reg_dmabuf_mr(pd, 4096, 100, 0x123000, 0, access);

	ASSERT_NE(mr, nullptr);
	EXPECT_EQ(mr->lkey, 0x300u);
	EXPECT_EQ(mr->rkey, 0x301u);
	EXPECT_EQ(mr->length, 100u);
	EXPECT_EQ(kernel.dmabuf.pd, pd->handle);
	EXPECT_EQ(kernel.dmabuf.offset, 4096u);
	EXPECT_EQ(kernel.dmabuf.length, 100u);
	EXPECT_EQ(kernel.dmabuf.iova, 0x123000u);
	EXPECT_EQ(kernel.dmabuf.fd, 0u);
	EXPECT_EQ(kernel.dmabuf.access, uint32_t{access});
	EXPECT_EQ(ibv_dereg_mr(mr), 0);

	const int before = kernel.ioctls;
	errno = 0;
	EXPECT_EQ(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, 0), nullptr);
	EXPECT_EQ(errno, EBADF);
	EXPECT_EQ(kernel.ioctls, before);
	/* As an older module answers, and one whose exporter cannot be mapped. */
	kernel.dmabuf_errno = EOPNOTSUPP;
	EXPECT_EQ(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, 0, 0), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(Objects, NullRegionIsAKeyThatTheModuleKnows)
{
	static char buf[64];
	ibv_pd *pd = ibv_alloc_pd(ctx);
	const int before = kernel.ioctls;
	ibv_mr *mr = ibv_alloc_null_mr(pd);

	ASSERT_NE(mr, nullptr);
	EXPECT_EQ(mr->lkey, uint32_t{TERN_NULL_LKEY});
	EXPECT_EQ(mr->length, SIZE_MAX);
	EXPECT_EQ(mr->pd, pd);
	EXPECT_NE(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, buf, 64, 0), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
	EXPECT_EQ(ibv_dereg_mr(mr), 0);
	EXPECT_EQ(kernel.ioctls, before);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(Objects, OlderModuleHasNoNullRegion)
{
	kernel.features &= ~uint64_t{TERN_FEATURE_NULL_MR};
	reopen();
	ibv_pd *pd = ibv_alloc_pd(ctx);

	errno = 0;
	EXPECT_EQ(ibv_alloc_null_mr(pd), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(Objects, DeviceMemoryIsMappedAndCopiedWithinItsBounds)
{
	ibv_alloc_dm_attr attr = {5000, 3, 0};
	ibv_dm *dm = ibv_alloc_dm(ctx, &attr);
	char bytes[100], back[100];

	ASSERT_NE(dm, nullptr);
	EXPECT_EQ(dm->comp_mask, uint32_t{IBV_DM_MASK_HANDLE});
	memset(bytes, 7, sizeof(bytes));
	EXPECT_EQ(ibv_memcpy_to_dm(dm, 4900, bytes, 100), 0);
	EXPECT_EQ(memcmp(reinterpret_cast<char *>(kernel.object(dm->handle).ring->hdr) + 4900,
			 bytes, 100),
		  0);
	EXPECT_EQ(ibv_memcpy_from_dm(back, dm, 4900, 100), 0);
	EXPECT_EQ(memcmp(back, bytes, 100), 0);
	for (uint64_t offset : {uint64_t{4901}, uint64_t{5001}, UINT64_MAX - 50}) {
		EXPECT_EQ(ibv_memcpy_to_dm(dm, offset, bytes, 100), EFAULT);
		EXPECT_EQ(ibv_memcpy_from_dm(back, dm, offset, 100), EFAULT);
	}
	EXPECT_EQ(ibv_memcpy_from_dm(back, dm, 0, SIZE_MAX), EFAULT);

	/* Imported, it is the same memory. Here it is longer, as the kernel says. */
	ibv_dm *other = ibv_import_dm(ctx, dm->handle);
	ASSERT_NE(other, nullptr);
	EXPECT_EQ(other->handle, dm->handle);
	memset(back, 0, sizeof(back));
	EXPECT_EQ(ibv_memcpy_from_dm(back, other, 4900, 100), 0);
	EXPECT_EQ(memcmp(back, bytes, 100), 0);
	EXPECT_EQ(ibv_memcpy_from_dm(back, other, 5001, 100), 0);
	ibv_unimport_dm(other);
	errno = 0;
	EXPECT_EQ(ibv_import_dm(ctx, 0x7777), nullptr);
	EXPECT_EQ(errno, ENOENT);

	/* In use, it stays as it is. */
	kernel.dm_errno = EBUSY;
	EXPECT_EQ(ibv_free_dm(dm), EBUSY);
	EXPECT_EQ(ibv_memcpy_from_dm(back, dm, 0, 100), 0);
	kernel.dm_errno = 0;
	EXPECT_EQ(ibv_free_dm(dm), 0);
}

TEST_F(Objects, DeviceMemoryThatCannotBeMadeLeavesNothing)
{
	ibv_alloc_dm_attr attr = {5000, 0, 0};

	kernel.fail_mmap = true;
	errno = 0;
	EXPECT_EQ(ibv_alloc_dm(ctx, &attr), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	kernel.fail_mmap = false;
	kernel.dm_errno = EINVAL;
	EXPECT_EQ(ibv_alloc_dm(ctx, &attr), nullptr);
	EXPECT_EQ(errno, EINVAL);
	kernel.dm_errno = 0;
	attr.comp_mask = 1;
	errno = 0;
	EXPECT_EQ(ibv_alloc_dm(ctx, &attr), nullptr);
	EXPECT_EQ(errno, EINVAL);
	attr.comp_mask = 0;
	kernel.features &= ~uint64_t{TERN_FEATURE_DEVICE_MEMORY};
	reopen();
	EXPECT_EQ(ibv_alloc_dm(ctx, &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(Objects, RegionOfDeviceMemoryNamesItAndItsPlace)
{
	const unsigned int access = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE;
	ibv_alloc_dm_attr attr = {5000, 0, 0};
	ibv_pd *pd = ibv_alloc_pd(ctx);
	ibv_dm *dm = ibv_alloc_dm(ctx, &attr);

	ASSERT_NE(dm, nullptr);
	ibv_mr *mr = ibv_reg_dm_mr(pd, dm, 64, 100, access);
	ASSERT_NE(mr, nullptr);
	EXPECT_EQ(mr->lkey, 0x400u);
	EXPECT_EQ(mr->rkey, 0x401u);
	EXPECT_EQ(mr->addr, nullptr);
	EXPECT_EQ(mr->length, 100u);
	EXPECT_EQ(kernel.dm.pd, pd->handle);
	EXPECT_EQ(kernel.dm.dm, dm->handle);
	EXPECT_EQ(kernel.dm.offset, 64u);
	EXPECT_EQ(kernel.dm.length, 100u);
	EXPECT_EQ(kernel.dm.access, access);
	EXPECT_EQ(ibv_dereg_mr(mr), 0);
	kernel.dm_errno = EINVAL;
	errno = 0;
	EXPECT_EQ(ibv_reg_dm_mr(pd, dm, 64, 100, access), nullptr);
	EXPECT_EQ(errno, EINVAL);
	kernel.dm_errno = 0;
	EXPECT_EQ(ibv_free_dm(dm), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(Objects, AddressHandleTellsTheKernelTheAttributes)
{
	ibv_pd *pd = ibv_alloc_pd(ctx);
	ibv_ah_attr attr = {};

	attr.is_global = 1;
	attr.port_num = 1;
	attr.grh.dgid.raw[15] = 9;
	attr.grh.hop_limit = 64;
	attr.grh.sgid_index = 3;
	ibv_ah *ah = ibv_create_ah(pd, &attr);
	ASSERT_NE(ah, nullptr);
	EXPECT_EQ(tern::to_ah(ah)->index, ah->handle + 1000);
	ib_uverbs_ah_attr seen;
	memcpy(&seen, kernel.object(ah->handle).request.data() + 24, sizeof(seen));
	EXPECT_EQ(seen.grh.dgid[15], 9);
	EXPECT_EQ(seen.grh.hop_limit, 64);
	EXPECT_EQ(seen.grh.sgid_index, 3);
	EXPECT_EQ(seen.port_num, 1);
	EXPECT_EQ(ibv_destroy_ah(ah), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(Objects, ModifyTellsTheKernelWhatTheMaskNames)
{
	Queues q;
	ibv_qp_attr attr;
	ibv_qp_init_attr init;
	ib_uverbs_modify_qp seen;

	make(&q);
	memset(&attr, 0xff, sizeof(attr));
	attr.ah_attr.grh.dgid.raw[0] = 7;
	attr.ah_attr.port_num = 1;
	attr.dest_qp_num = 0x77;
	attr.timeout = 14;
	ASSERT_EQ(ibv_modify_qp(q.qp, &attr, IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_TIMEOUT), 0);
	memcpy(static_cast<void *>(&seen), kernel.object(q.qp->handle).request.data(),
	       sizeof(seen));
	EXPECT_EQ(seen.dest.dgid[0], 7);
	EXPECT_EQ(seen.dest.port_num, 1);
	EXPECT_EQ(seen.dest_qp_num, 0x77u);
	EXPECT_EQ(seen.timeout, 14);
	EXPECT_EQ(seen.qkey, 0u);
	EXPECT_EQ(seen.alt_dest.port_num, 0);
	ASSERT_EQ(ibv_query_qp(q.qp, &attr, IBV_QP_STATE, &init), 0);
	EXPECT_EQ(attr.qp_state, IBV_QPS_RTS);
	EXPECT_EQ(attr.dest_qp_num, 0x4242u);
	EXPECT_EQ(init.send_cq, q.scq);
}

TEST_F(Objects, RateLimits)
{
	Queues q;
	ib_uverbs_ex_modify_qp seen;
	ibv_qp_attr attr;
	ibv_qp_rate_limit_attr limit = {};
	ibv_device_attr_ex device_attr;

	make(&q);
	limit.rate_limit = 12345;
	limit.max_burst_sz = 6789;
	limit.typical_pkt_sz = 1000;
	ASSERT_EQ(ibv_modify_qp_rate_limit(q.qp, &limit), 0);
	auto request = [&] {
		memcpy(static_cast<void *>(&seen), kernel.object(q.qp->handle).request.data(),
		       sizeof(seen));
		return seen.base.attr_mask;
	};
	EXPECT_EQ(request(), static_cast<uint32_t>(IBV_QP_RATE_LIMIT));
	EXPECT_EQ(seen.rate_limit, 12345u);
	EXPECT_EQ(kernel.object(q.qp->handle).max_burst_bytes, 6789u);

	memset(&attr, 0xff, sizeof(attr));
	attr.rate_limit = 99;
	attr.timeout = 3;
	ASSERT_EQ(ibv_modify_qp(q.qp, &attr, IBV_QP_RATE_LIMIT | IBV_QP_TIMEOUT), 0);
	EXPECT_EQ(request(), static_cast<uint32_t>(IBV_QP_RATE_LIMIT | IBV_QP_TIMEOUT));
	EXPECT_EQ(seen.rate_limit, 99u);
	EXPECT_EQ(seen.base.timeout, 3);
	EXPECT_EQ(kernel.object(q.qp->handle).max_burst_bytes, 0u);

	limit = {};
	EXPECT_EQ(ibv_modify_qp_rate_limit(q.qp, &limit), 0);
	limit.max_burst_sz = 1;
	EXPECT_EQ(ibv_modify_qp_rate_limit(q.qp, &limit), EINVAL);
	limit = {};
	limit.rate_limit = 5;
	limit.comp_mask = 1;
	EXPECT_EQ(ibv_modify_qp_rate_limit(q.qp, &limit), EINVAL);
	ASSERT_EQ(ibv_query_device_ex(ctx, nullptr, &device_attr), 0);
	EXPECT_EQ(device_attr.packet_pacing_caps.qp_rate_limit_min, 1u);
	EXPECT_EQ(device_attr.packet_pacing_caps.qp_rate_limit_max, 100000000u);
	EXPECT_EQ(device_attr.packet_pacing_caps.supported_qpts,
		  1u << IBV_QPT_RC | 1u << IBV_QPT_UC | 1u << IBV_QPT_UD | 1u << IBV_QPT_XRC_SEND);
}

/* An older module, and iWARP. */
TEST_F(Objects, NoRateLimits)
{
	for (const bool iwarp : {false, true}) {
		Queues q;
		ibv_qp_attr attr = {};
		ibv_qp_rate_limit_attr limit = {};
		ibv_device_attr_ex device_attr;

		kernel.features = FakeKernel::kAllFeatures;
		if (iwarp)
			device.device.transport_type = IBV_TRANSPORT_IWARP;
		else
			kernel.features &= ~uint64_t{TERN_FEATURE_RATE_LIMIT};
		reopen();
		make(&q);
		limit.rate_limit = 1000;
		EXPECT_EQ(ibv_modify_qp_rate_limit(q.qp, &limit), EOPNOTSUPP);
		EXPECT_EQ(ibv_modify_qp(q.qp, &attr, IBV_QP_RATE_LIMIT), EOPNOTSUPP);
		ASSERT_EQ(ibv_query_device_ex(ctx, nullptr, &device_attr), 0);
		EXPECT_EQ(device_attr.packet_pacing_caps.qp_rate_limit_max, 0u);
	}
}

TEST_F(Objects, ThereAreNoEceOptions)
{
	Queues q;
	ibv_ece ece;

	make(&q);
	memset(&ece, 0xff, sizeof(ece));
	EXPECT_EQ(ibv_query_ece(q.qp, &ece), 0);
	EXPECT_EQ(ece.vendor_id, 0u);
	EXPECT_EQ(ece.options, 0u);
	EXPECT_EQ(ece.comp_mask, 0u);
	for (const uint32_t mask : {0, 1}) {
		ece = {0x2c9, 1, mask};
		errno = ECONNREFUSED;
		EXPECT_EQ(ibv_set_ece(q.qp, &ece), mask ? EINVAL : EOPNOTSUPP);
		EXPECT_EQ(errno, mask ? EINVAL : EOPNOTSUPP);
	}
}

TEST_F(Objects, DataIsInOrderIfTheModuleSaysSo)
{
	for (const int in_order : {0, 1}) {
		kernel.features = FakeKernel::kAllFeatures;
		if (in_order)
			kernel.features |= TERN_FEATURE_IN_ORDER;
		reopen();
		Queues q;

		make(&q);
		for (ibv_wr_opcode op : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND,
					 IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_READ})
			EXPECT_EQ(ibv_query_qp_data_in_order(q.qp, op, 0), in_order) << op;
		EXPECT_EQ(ibv_query_qp_data_in_order(q.qp, IBV_WR_BIND_MW, 0), 0);
	}
}

TEST_F(Objects, FailedCommandsLeaveNothingBehind)
{
	ibv_pd *pd = ibv_alloc_pd(ctx);
	ibv_srq_init_attr srq_attr = {nullptr, {4, 1, 0}};
	ibv_ah_attr ah_attr = {};

	kernel.fail_errno = ENOSPC;
	auto refused = [&](int command, auto create) {
		kernel.fail_command = command;
		errno = 0;
		EXPECT_EQ(create(), nullptr) << command;
		EXPECT_EQ(errno, ENOSPC) << command;
	};
	refused(IB_USER_VERBS_CMD_ALLOC_PD, [&] { return ibv_alloc_pd(ctx); });
	refused(IB_USER_VERBS_CMD_CREATE_CQ,
		[&] { return ibv_create_cq(ctx, 4, nullptr, nullptr, 0); });
	refused(IB_USER_VERBS_CMD_CREATE_SRQ, [&] { return ibv_create_srq(pd, &srq_attr); });
	refused(IB_USER_VERBS_CMD_CREATE_AH, [&] { return ibv_create_ah(pd, &ah_attr); });
	refused(IB_USER_VERBS_CMD_ALLOC_MW, [&] { return ibv_alloc_mw(pd, IBV_MW_TYPE_1); });
	refused(IB_USER_VERBS_CMD_REG_MR, [&] { return ibv_reg_mr(pd, &pd, 1, 0); });
	kernel.fail_command = IB_USER_VERBS_CMD_DEALLOC_PD;
	EXPECT_EQ(ibv_dealloc_pd(pd), ENOSPC);
	kernel.fail_command = -1;
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(Objects, FailedMappingsDestroyWhatTheKernelMade)
{
	Queues q;
	ibv_srq_init_attr srq_attr = {nullptr, {4, 1, 0}};

	make(&q);
	ibv_qp_init_attr_ex attr = qp_attr(q, IBV_QPT_RC);
	kernel.fail_mmap = true;
	EXPECT_EQ(ibv_create_cq(ctx, 4, nullptr, nullptr, 0), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_EQ(ibv_create_srq(q.pd, &srq_attr), nullptr);
	EXPECT_EQ(ibv_create_qp_ex(ctx, &attr), nullptr);
	kernel.fail_mmap = false;
	EXPECT_EQ(kernel.count("cq"), 2u);
	EXPECT_EQ(kernel.count("srq"), 0u);
	EXPECT_EQ(kernel.count("qp"), 1u);
}

TEST_F(Objects, QpsThatCannotBeAreRefused)
{
	Queues q;

	make(&q);
	auto refused = [&](int err, auto change) {
		ibv_qp_init_attr_ex attr = qp_attr(q, IBV_QPT_RC);

		change(&attr);
		errno = 0;
		EXPECT_EQ(ibv_create_qp_ex(ctx, &attr), nullptr);
		EXPECT_EQ(errno, err);
	};
	refused(EOPNOTSUPP, [](auto *a) { a->qp_type = IBV_QPT_RAW_PACKET; });
	refused(EOPNOTSUPP, [](auto *a) { a->send_ops_flags |= IBV_QP_EX_WITH_TSO; });
	refused(EOPNOTSUPP, [](auto *a) { a->send_ops_flags |= 1 << 13; }); /* nothing yet */
	refused(EOPNOTSUPP, [](auto *a) { a->qp_type = IBV_QPT_UC; });
	refused(EOPNOTSUPP, [](auto *a) { a->comp_mask |= IBV_QP_INIT_ATTR_IND_TABLE; });
	refused(EINVAL, [](auto *a) { a->comp_mask |= IBV_QP_INIT_ATTR_XRCD; });
	for (const uint32_t flag : {IBV_QP_CREATE_SCATTER_FCS, IBV_QP_CREATE_CVLAN_STRIPPING,
				    IBV_QP_CREATE_SOURCE_QPN, IBV_QP_CREATE_PCI_WRITE_END_PADDING})
		refused(EOPNOTSUPP, [flag](auto *a) {
			a->comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
			a->create_flags = flag;
		});
	refused(EINVAL, [](auto *a) { a->send_cq = nullptr; });
}

TEST_F(Objects, TheKernelIsToldOfCreateFlags)
{
	Queues q;

	make(&q);
	for (const int sig_all : {0, 1})
		for (const uint32_t flags : {0, int{IBV_QP_CREATE_BLOCK_SELF_MCAST_LB}}) {
			ibv_qp_init_attr_ex attr = qp_attr(q, IBV_QPT_UD);

			attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
			attr.sq_sig_all = sig_all;
			attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
			attr.create_flags = flags;
			ibv_qp *qp = ibv_create_qp_ex(ctx, &attr);
			ASSERT_NE(qp, nullptr);
			EXPECT_EQ(kernel.object(qp->handle).flags,
				  flags | (sig_all ? IB_UVERBS_QP_CREATE_SQ_SIG_ALL : 0));
			EXPECT_EQ(ibv_destroy_qp(qp), 0);
		}
}

TEST_F(Objects, SendsWithImmediateDataAreRefusedToAQpOfIwarp)
{
	Queues q;

	make(&q);
	device.device.transport_type = IBV_TRANSPORT_IWARP;
	ibv_qp_init_attr_ex attr = qp_attr(q, IBV_QPT_RC);
	attr.send_ops_flags |= IBV_QP_EX_WITH_SEND_WITH_IMM;
	errno = 0;
	EXPECT_EQ(ibv_create_qp_ex(ctx, &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	attr.send_ops_flags &= ~uint64_t{IBV_QP_EX_WITH_SEND_WITH_IMM};
	ibv_qp *qp = ibv_create_qp_ex(ctx, &attr);
	ASSERT_NE(qp, nullptr);
	EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

TEST_F(Objects, DestroyWaitsUntilEventsAreAcknowledged)
{
	Queues q;

	make(&q);
	kernel.events_reported = 2;
	ibv_cq *cq = ibv_create_cq(ctx, 4, nullptr, nullptr, 0);
	bool destroyed = false;
	std::thread destroyer([&] {
		EXPECT_EQ(ibv_destroy_cq(cq), 0);
		__atomic_store_n(&destroyed, true, __ATOMIC_SEQ_CST);
	});
	std::this_thread::sleep_for(std::chrono::milliseconds(20));
	EXPECT_FALSE(__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST));
	ibv_ack_cq_events(cq, 2);
	destroyer.join();
	kernel.events_reported = 0;
}

TEST_F(Objects, VanishedDeviceKeepsItsObjectsUnlessAllowed)
{
	ibv_pd *pd = ibv_alloc_pd(ctx);

	kernel.fail_command = IB_USER_VERBS_CMD_DEALLOC_PD;
	kernel.fail_errno = EIO;
	EXPECT_EQ(ibv_dealloc_pd(pd), EIO);
	setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1);
	reopen();
	unsetenv("RDMAV_ALLOW_DISASSOC_DESTROY");
	pd->context = ctx;
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
	kernel.objects.clear();
}

/* How many events it had is not known: only the device's answer says so. */
TEST_F(Objects, QpOfAVanishedDeviceDoesNotWaitForEvents)
{
	setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1);
	reopen();
	unsetenv("RDMAV_ALLOW_DISASSOC_DESTROY");
	Queues q;

	make(&q);
	const uint32_t handle = q.qp->handle;
	q.qp->events_completed = 1;
	kernel.fail_command = IB_USER_VERBS_CMD_DESTROY_QP;
	kernel.fail_errno = EIO;
	EXPECT_EQ(ibv_destroy_qp(q.qp), 0);
	q.qp = nullptr;
	kernel.fail_command = -1;
	kernel.objects.erase(handle);
}

} // namespace
