// SPDX-License-Identifier: GPL-2.0
// RC responder: the table of READs and atomics changes its size while in use.
#include "rc_resp_fixture.h"

namespace {

class RcRespResize : public RcResp {
protected:
	// The new table holds random bytes.
	bool resize(u8 max)
	{
		std::vector<rc_res> table(max ? max : 1);

		memset(static_cast<void *>(table.data()), 0x55, table.size() * sizeof(rc_res));
		if (!rc_resp_resize(&r, table.data(), max))
			return false;
		res.swap(table); // its memory stays where it is
		return true;
	}
};

TEST_F(RcRespResize, WhatWasTooManyIsTaken)
{
	cfg.max_rd_atomic = 0;
	start();
	EXPECT_TRUE(resize(2));
	EXPECT_EQ(read(0, 8).kind, RC_ACT_READ);
	EXPECT_EQ(read(1, 8).kind, RC_ACT_READ);
	EXPECT_EQ(judge(packet(OP_READ_REQUEST, 2)).kind, RC_ACT_FATAL);
	EXPECT_EQ(answers(), (Words{"read 0 ONLY", "read 1 ONLY", "nak61 2"}));
}

TEST_F(RcRespResize, WhatWasAllowedIsTooMany)
{
	EXPECT_TRUE(resize(1));
	EXPECT_EQ(read(0, 8).kind, RC_ACT_READ);
	EXPECT_EQ(judge(packet(OP_READ_REQUEST, 1)).kind, RC_ACT_FATAL);
	start();
	EXPECT_TRUE(resize(0));
	EXPECT_EQ(judge(packet(OP_READ_REQUEST, 0)).kind, RC_ACT_FATAL);
}

TEST_F(RcRespResize, WhatIsNotAnsweredYetIsAnsweredInOrder)
{
	read(0, 8);
	answers();
	read(1, 2 * kPmtu); // the table of two is full, and begins in its middle
	add(3, 1);
	EXPECT_TRUE(resize(5));
	EXPECT_EQ(read(4, 8).kind, RC_ACT_READ);
	EXPECT_EQ(answers(), (Words{"read 1 FIRST", "read 2 LAST", "atomic 3=100", "read 4 ONLY"}));
	EXPECT_EQ(answers(), Words{});
}

TEST_F(RcRespResize, WhatIsNotAnsweredYetMustFit)
{
	cfg.max_rd_atomic = 4;
	start();
	read(0, 8);
	add(1, 1);
	read(2, 8);
	EXPECT_FALSE(resize(2));
	// Nothing has changed.
	EXPECT_EQ(read(3, 8).kind, RC_ACT_READ);
	EXPECT_EQ(answers(), (Words{"read 0 ONLY", "atomic 1=100", "read 2 ONLY", "read 3 ONLY"}));
	EXPECT_TRUE(resize(2));
}

TEST_F(RcRespResize, DuplicatesFindTheNewest)
{
	cfg.max_rd_atomic = 4;
	start();
	for (u32 i = 0; i < 6; i++) {
		add(i, 1);
		answers();
	}
	EXPECT_TRUE(resize(2));
	add(4, 1);
	add(5, 1);
	EXPECT_EQ(answers(), (Words{"atomic 4=104", "atomic 5=105"}));
	add(3, 1);
	EXPECT_EQ(answers(), Words{}); // forgotten
	EXPECT_EQ(counter, 106u);      // and none of them was executed again
	EXPECT_TRUE(resize(8));
	add(5, 1);
	EXPECT_EQ(answers(), (Words{"atomic 5=105"}));
}

TEST_F(RcRespResize, ReplayThatDoesNotFitIsGivenUp)
{
	cfg.max_rd_atomic = 3;
	start();
	for (u32 i = 0; i < 3; i++)
		read(i, 8);
	answers();
	read(0, 8); // asks again
	read(2, 8);
	EXPECT_TRUE(resize(1));
	EXPECT_EQ(answers(), (Words{"read 2 ONLY"}));
	EXPECT_EQ(r.npending, 0u);
}

} // namespace
