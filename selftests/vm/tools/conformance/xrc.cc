// SPDX-License-Identifier: GPL-2.0
// XRC (IBTA annex A14): domains, their SRQs, initiators and targets. Its opcodes and errors are
// beside those of RC.
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

#include "conform.h"
#include "pair.h"
#include "xrc.h"

namespace vt {
namespace {

Xrcd make_domain(Bed &bed, int fd = -1, int oflags = O_CREAT)
{
	return made(try_open_domain(bed.context, fd, oflags), "ibv_open_xrcd");
}

// A file without a name, for its inode.
class File {
public:
	File()
	{
		char path[] = "/tmp/xrc-XXXXXX";
		fd_ = mkstemp(path);
		require(fd_ >= 0, "mkstemp: %m");
		unlink(path);
	}
	~File() { close(fd_); }
	File(const File &) = delete;
	File &operator=(const File &) = delete;
	int fd() const { return fd_; }

private:
	int fd_;
};

CONFORM(OpenXrcd, of_ones_own)
{
	make_domain(bed);
}

CONFORM(OpenXrcd, of_ones_own_without_O_CREAT)
{
	make_domain(bed, -1, 0);
}

CONFORM(OpenXrcd, of_a_file)
{
	make_domain(bed);
	File file;
	make_domain(bed, file.fd());
}

CONFORM(OpenXrcd, of_a_file_again_without_O_CREAT)
{
	File file;
	Xrcd domain = make_domain(bed, file.fd());
	EXPECT_ERR(refusal(try_open_domain(bed.context, file.fd(), 0)), 0);
}

CONFORM(OpenXrcd, of_a_file_that_has_none_without_O_CREAT_is_refused)
{
	make_domain(bed);
	File file;
	EXPECT_ERR(refusal(try_open_domain(bed.context, file.fd(), 0)), EAGAIN);
}

CONFORM(OpenXrcd, of_a_file_that_has_one_with_O_EXCL_is_refused)
{
	File file;
	Xrcd domain = make_domain(bed, file.fd());
	EXPECT_ERR(refusal(try_open_domain(bed.context, file.fd(), O_CREAT | O_EXCL)), EINVAL);
}

CONFORM(OpenXrcd, of_a_file_that_is_not_open_is_refused)
{
	make_domain(bed);
	EXPECT_ERR(refusal(try_open_domain(bed.context, 1023, O_CREAT)), EBADF);
}

CONFORM(OpenXrcd, is_busy_with_an_srq)
{
	Cq cq(bed.device, {});
	Xrcd domain = make_domain(bed);
	Srq srq = make_xrc_srq(bed.pd.get(), domain.get(), cq.get());
	EXPECT_ERR(close_domain(domain.get()), EBUSY);
}

CONFORM(OpenXrcd, is_busy_with_a_target)
{
	Xrcd domain = make_domain(bed);
	QpOwner target = make_target(bed.context, domain.get());
	EXPECT_ERR(close_domain(domain.get()), EBUSY);
}

CONFORM(XrcSrq, numbers_differ)
{
	Cq cq(bed.device, {});
	Xrcd domain = make_domain(bed);
	Srq one = make_xrc_srq(bed.pd.get(), domain.get(), cq.get());
	Srq two = make_xrc_srq(bed.pd.get(), domain.get(), cq.get());
	EXPECT_NE(number_of(one.get()), number_of(two.get()));
}

CONFORM(XrcSrq, of_one_more_than_the_limit_is_refused)
{
	Cq cq(bed.device, {});
	Xrcd domain = make_domain(bed);
	auto beyond = static_cast<uint32_t>(bed.device.attr().max_srq_wr) + 1;
	EXPECT_ERR(refusal(try_make_xrc_srq(bed.pd.get(), domain.get(), cq.get(), beyond)), EINVAL);
}

CONFORM(XrcSrq, keeps_its_cq_busy)
{
	Cq cq(bed.device, {});
	Xrcd domain = make_domain(bed);
	Srq srq = make_xrc_srq(bed.pd.get(), domain.get(), cq.get());
	EXPECT_ERR(ibv_destroy_cq(cq.get()), EBUSY);
}

CONFORM(XrcSrq, without_a_cq_is_refused)
{
	Xrcd domain = make_domain(bed);
	EXPECT_NE(refusal(try_make_xrc_srq(bed.pd.get(), domain.get(), nullptr)), 0);
}

CONFORM(XrcSrq, is_not_for_an_RC_qp)
{
	Cq cq(bed.device, {});
	Xrcd domain = make_domain(bed);
	Srq srq = make_xrc_srq(bed.pd.get(), domain.get(), cq.get());
	ibv_qp_init_attr attr = {};
	attr.send_cq = attr.recv_cq = cq.get();
	attr.srq = srq.get();
	attr.cap = {4, 0, 1, 0, 0};
	attr.qp_type = IBV_QPT_RC;
	EXPECT_ERR(refusal(QpOwner(ibv_create_qp(bed.pd.get(), &attr))), EINVAL);
}

CONFORM(XrcQp, target_without_a_domain_is_refused)
{
	make_domain(bed);
	ibv_qp_init_attr_ex attr = {};
	attr.qp_type = IBV_QPT_XRC_RECV;
	EXPECT_ERR(refusal(QpOwner(ibv_create_qp_ex(bed.context, &attr))), EINVAL);
}

CONFORM(XrcQp, initiator_with_a_domain_is_refused)
{
	Cq cq(bed.device, {});
	Xrcd domain = make_domain(bed);
	ibv_qp_init_attr_ex attr = {};
	attr.qp_type = IBV_QPT_XRC_SEND;
	attr.send_cq = cq.get();
	attr.cap = {4, 0, 1, 0, 0};
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD;
	attr.pd = bed.pd.get();
	attr.xrcd = domain.get();
	EXPECT_ERR(refusal(QpOwner(ibv_create_qp_ex(bed.context, &attr))), EINVAL);
}

CONFORM(XrcQp, initiator_takes_no_receive)
{
	Pair pair(bed, impatient_link(IBV_QPT_XRC_SEND));
	ibv_recv_wr wr = {}, *bad = nullptr;
	EXPECT_NE(ibv_post_recv(pair.near.qp(), &wr, &bad), 0);
}

CONFORM(XrcQp, target_sends_nothing)
{
	Pair pair(bed, impatient_link(IBV_QPT_XRC_SEND));
	ibv_send_wr wr = {}, *bad = nullptr;
	wr.opcode = IBV_WR_SEND;
	EXPECT_NE(ibv_post_send(pair.far.qp(), &wr, &bad), 0);
}

CONFORM(OpenQp, is_the_target_of_that_number)
{
	Xrcd domain = make_domain(bed);
	QpOwner target = make_target(bed.context, domain.get());
	QpOwner opened = try_open_target(bed.context, domain.get(), target->qp_num);
	ASSERT_ERR(refusal(opened), 0);
	EXPECT_EQ(opened->qp_num, target->qp_num);
}

CONFORM(OpenQp, unknown_number_is_refused)
{
	Xrcd domain = make_domain(bed);
	EXPECT_ERR(refusal(try_open_target(bed.context, domain.get(), 0xfffffe)), EINVAL);
}

CONFORM(OpenQp, target_of_another_domain_is_refused)
{
	Xrcd domain = make_domain(bed), other = make_domain(bed);
	QpOwner target = make_target(bed.context, domain.get());
	EXPECT_ERR(refusal(try_open_target(bed.context, other.get(), target->qp_num)), EINVAL);
}

CONFORM(OpenQp, target_outlives_its_creator)
{
	Xrcd domain = make_domain(bed);
	QpOwner target = make_target(bed.context, domain.get());
	uint32_t number = target->qp_num;
	QpOwner opened = try_open_target(bed.context, domain.get(), number);
	ASSERT_ERR(refusal(opened), 0);
	target.reset();
	ibv_qp_attr attr = {};
	ibv_qp_init_attr init = {};
	EXPECT_OK(ibv_query_qp(opened.get(), &attr, IBV_QP_STATE, &init));
	EXPECT_EQ(attr.qp_state, IBV_QPS_RESET);
}

} // namespace
} // namespace vt
