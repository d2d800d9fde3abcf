// SPDX-License-Identifier: GPL-2.0
// Extended reliable connection: what differs from RC. The opcodes, and the SRQ that a request
// names.
#include "proto/rc_ack.h"

#include "rc_resp_fixture.h"

namespace {

constexpr u32 kSrq = 0x7a0001;

class XrcReq : public testing::Test {
protected:
	rc_req q;
	rc_sqe ring[8] = {};

	XrcReq()
	{
		rc_req_cfg cfg = {};

		cfg.service = BTH_XRC;
		cfg.retry_cnt = 7;
		cfg.max_rd_atomic = 4;
		cfg.pmtu = kPmtu;
		cfg.sq_psn = kPsn;
		cfg.window = 64;
		cfg.ack_timeout.first_ns = 1000;
		rc_req_init(&q, ring, 8, 0, &cfg);
	}

	void post(u8 op, u32 length, u32 srqn, u8 flags = 0)
	{
		struct wr wr = {};

		wr.op = op;
		wr.flags = flags;
		wr.length = length;
		wr.srqn = srqn;
		ASSERT_TRUE(rc_req_post(&q, &wr));
	}

	// The opcodes of all packets that may be sent; each must name the SRQ.
	std::vector<u8> send(u32 srqn)
	{
		std::vector<u8> opcodes;
		run r;

		while (rc_req_next(&q, 1, 64, &r)) {
			for (u32 i = 0; i < r.npkts; i++) {
				u8 hdr[PKT_HDR_MAX_BYTES];
				pkt k, parsed;

				run_pkt(&r, i, &k);
				EXPECT_EQ(k.srqn, srqn);
				opcodes.push_back(k.opcode);
				u32 n = pkt_build(hdr, &k);
				u32 bytes = n + k.payload_bytes + k.pad_bytes + ICRC_BYTES;
				EXPECT_EQ(pkt_parse(hdr, n, bytes, &parsed), PKT_OK);
				EXPECT_EQ(parsed.srqn, srqn);
			}
			rc_req_sent(&q, 1, &r, r.npkts);
		}
		return opcodes;
	}

	void rx(u8 op, u32 psn, u8 syndrome = kAck)
	{
		rc_req_act act;
		pkt k = {};

		k.opcode = BTH_XRC | op;
		k.op_flags = opcode_info(k.opcode)->flags;
		k.psn = psn_add(kPsn, psn);
		k.syndrome = syndrome;
		k.npkts = 1;
		rc_req_rx(&q, 1, &k, &act);
	}
};

TEST_F(XrcReq, EachPacketOfAMessageNamesItsSrq)
{
	post(WR_SEND, 2 * kPmtu + 1, kSrq);
	EXPECT_EQ(send(kSrq), (std::vector<u8>{0xa0, 0xa1, 0xa2}));
	post(WR_SEND, 1, 5, WR_F_INV);
	EXPECT_EQ(send(5), (std::vector<u8>{0xb7}));
	post(WR_WRITE, kPmtu + 1, kSrq, WR_F_IMM);
	EXPECT_EQ(send(kSrq), (std::vector<u8>{0xa6, 0xa9}));
	post(WR_READ, 1, 7);
	EXPECT_EQ(send(7), (std::vector<u8>{0xac}));
	post(WR_CMP_SWAP, 8, kSrq);
	EXPECT_EQ(send(kSrq), (std::vector<u8>{0xb3}));
	post(WR_FETCH_ADD, 8, kSrq);
	EXPECT_EQ(send(kSrq), (std::vector<u8>{0xb4}));
}

TEST_F(XrcReq, IsAsReliableAsRc)
{
	wr_status status;
	u32 slot;

	post(WR_SEND, 2 * kPmtu, kSrq);
	EXPECT_EQ(send(kSrq).size(), 2u);
	EXPECT_FALSE(rc_req_reap(&q, &slot, &status));
	EXPECT_NE(rc_req_deadline(&q), 0u);
	rx(OP_ACK, 0, AETH_NAK_PSN_SEQ);
	EXPECT_EQ(send(kSrq), (std::vector<u8>{0xa0, 0xa2}));
	rx(OP_ACK, 1);
	ASSERT_TRUE(rc_req_reap(&q, &slot, &status));
	EXPECT_EQ(status, WR_ST_SUCCESS);
}

TEST_F(XrcReq, StretchNamesItsSrq)
{
	run r;
	pkt k;

	post(WR_SEND, 10 * kPmtu, kSrq);
	ASSERT_TRUE(rc_req_next(&q, 1, 64, &r));
	run_stretch(&r, &k);
	EXPECT_EQ(k.srqn, kSrq);
	EXPECT_EQ(k.opcode, 0xa0 | OP_SEND_ONLY);
	EXPECT_TRUE(k.op_flags & OPF_XRCETH);
}

class XrcResp : public RcResp {
protected:
	XrcResp()
	{
		cfg.service = BTH_XRC;
		start();
	}

	static pkt request(u8 op, u32 psn, u32 srqn, u16 bytes = 0)
	{
		pkt k = packet(BTH_XRC | op, psn, bytes);

		k.srqn = srqn;
		return k;
	}

	// The opcodes of what is sent back, and the SRQ of READ responses.
	std::vector<std::pair<u8, u32>> owed()
	{
		std::vector<std::pair<u8, u32>> out;
		run run;

		while (rc_resp_next(&r, 64, &run)) {
			for (u32 i = 0; i < run.npkts; i++) {
				pkt k;

				run_pkt(&run, i, &k);
				out.emplace_back(k.opcode, run.srqn);
			}
			rc_resp_sent(&r, &run, run.npkts);
		}
		return out;
	}

	using Owed = std::vector<std::pair<u8, u32>>;
};

TEST_F(XrcResp, AnswersHaveXrcOpcodes)
{
	rx(request(OP_SEND_ONLY, 0, kSrq, 4));
	EXPECT_EQ(act.kind, RC_ACT_RECV);
	EXPECT_EQ(owed(), (Owed{{0xb1, 0}}));

	pkt k = request(OP_FETCH_ADD, 1, kSrq);
	k.swap_add = 1;
	rx(k);
	EXPECT_EQ(owed(), (Owed{{0xb2, 0}}));
}

TEST_F(XrcResp, AckAloneIsAnXrcPacket)
{
	pkt k;

	rx(request(OP_SEND_ONLY, 0, kSrq, 4));
	ASSERT_TRUE(rc_resp_owes_ack_only(&r));
	rc_resp_take_ack(&r, &k);
	EXPECT_EQ(k.opcode, 0xb1);
	EXPECT_EQ(k.op_flags, opcode_info(0xb1)->flags);
}

TEST_F(XrcResp, MessagesMayNameDifferentSrqs)
{
	rx(request(OP_SEND_ONLY, 0, 1, 4));
	EXPECT_EQ(act.kind, RC_ACT_RECV);
	rx(request(OP_SEND_ONLY, 1, 2, 4));
	EXPECT_EQ(act.kind, RC_ACT_RECV);
	EXPECT_FALSE(r.in_error);
}

TEST_F(XrcResp, PacketOfAMessageThatNamesAnotherSrqIsRefused)
{
	rx(request(OP_SEND_FIRST, 0, 1, kPmtu));
	EXPECT_EQ(judge(request(OP_SEND_MIDDLE, 1, 2, kPmtu)).kind, RC_ACT_FATAL);
	EXPECT_TRUE(r.in_error);

	start();
	rx(request(OP_SEND_FIRST, 0, 1, kPmtu));
	rx(request(OP_SEND_LAST, 1, 1, 4));
	EXPECT_EQ(act.kind, RC_ACT_RECV);
	EXPECT_TRUE(act.end);
}

TEST_F(XrcResp, ReadIsAnsweredForTheSrqThatItNamed)
{
	pkt k = request(OP_READ_REQUEST, 0, 3);

	k.dma_bytes = kPmtu + 1;
	rx(k);
	rx(request(OP_SEND_ONLY, 2, 4, 4));
	EXPECT_EQ(owed(), (Owed{{0xad, 3}, {0xaf, 3}, {0xb1, 0}}));
	rx(k);
	EXPECT_EQ(owed(), (Owed{{0xad, 3}, {0xaf, 3}}));
	// A duplicate that would be read through another PD is none.
	k.srqn = 4;
	rx(k);
	EXPECT_EQ(owed(), Owed{});
}

TEST_F(XrcResp, RequestMayWaitForAReceive)
{
	cfg.recv_wait_ns = 1000;
	start();
	judge(request(OP_SEND_ONLY, 0, kSrq, 4));
	EXPECT_TRUE(rc_resp_recv_may_wait(&r, 1));
	EXPECT_NE(rc_resp_recv_look_ns(&r), 0u);
}

// To the caller a request for an SRQ that is not there is a request that fails.
TEST_F(XrcResp, UnknownSrqIsRefusedAsAnAccessError)
{
	pkt k = request(OP_SEND_ONLY, 0, 99, 4);

	judge(k);
	rc_resp_fail(&r, &k, RC_FAIL_ACCESS);
	run a;
	ASSERT_TRUE(rc_resp_next(&r, 1, &a));
	EXPECT_EQ(a.syndrome, AETH_NAK_REM_ACCESS);
	EXPECT_EQ(a.service | a.op, 0xb1);
}

} // namespace
