// SPDX-License-Identifier: GPL-2.0
// vpathswitch: the path between two QPs of this host changes from packets to the local path while
// packets are in flight: first requests, then responses. A plug qdisc on `lo` keeps them. Requests
// posted later must not overtake them: the VM test checks the counters for that.
#include <fstream>
#include <string>
#include <unistd.h>

#include "alone.h"
#include "cq.h"
#include "link.h"
#include "plug.h"
#include "post.h"

namespace {

constexpr uint32_t kBytes = 64;

class Pair {
public:
	explicit Pair(const vt::Device &device)
		: switch_(std::string("/sys/class/infiniband/") + device.name() + "/local"),
		  pd_(vt::make_pd(device.context())), cq_(device, {}), from_(pd_.get(), 4096),
		  to_(pd_.get(), 4096), a_(device, pd_.get(), cq_.get(), cq_.get(), options()),
		  b_(device, pd_.get(), cq_.get(), cq_.get(), options())
	{
		a_.to_init();
		b_.to_init();
		a_.to_rtr(b_.address());
		b_.to_rtr(a_.address());
		a_.to_rts();
		b_.to_rts();
	}

	void local(bool on)
	{
		std::ofstream file(switch_);
		file << (on ? "Y" : "N") << std::flush;
		vt::require(file.good(), "writing %s", switch_.c_str());
	}
	// Each WRITE has a place of its own.
	void post(ibv_wr_opcode opcode)
	{
		uint64_t at = next_ * kBytes;
		*from_.at(at) = 1;
		*to_.at(at) = 2;
		vt::post(a_, {.opcode = opcode,
			      .id = next_++,
			      .sges = {from_.sge(at, kBytes)},
			      .remote_va = to_.va(at),
			      .rkey = to_.mr()->rkey});
	}
	// Has that WRITE arrived?
	bool has_come(uint64_t id) const
	{
		return __atomic_load_n(to_.at(id * kBytes), __ATOMIC_ACQUIRE) == 1;
	}
	void await(uint64_t id) const
	{
		double deadline = vt::now_s() + 10 * vt::slow();
		while (!has_come(id)) {
			vt::require(vt::now_s() < deadline, "WRITE %lu does not arrive", id);
			usleep(1000);
		}
	}
	void expect_all()
	{
		for (; done_ < next_; done_++)
			cq_.expect(IBV_WC_SUCCESS, done_);
	}
	bool any_done()
	{
		vt::Completion completion;
		return cq_.poll(&completion);
	}

private:
	// No ACK timer, which would send requests again.
	static vt::LinkOptions options()
	{
		vt::LinkOptions o;
		o.timeout = 0;
		return o;
	}

	std::string switch_;
	vt::Pd pd_;
	vt::Cq cq_;
	vt::Arena from_, to_;
	vt::Link a_, b_;
	uint64_t next_ = 0, done_ = 0;
};

void switch_paths(const vt::Device &device)
{
	Pair pair(device);

	pair.local(false);
	pair.post(IBV_WR_RDMA_WRITE); // 0
	pair.expect_all();
	{
		vt::Plug plug("lo");

		pair.post(IBV_WR_RDMA_READ);
		pair.post(IBV_WR_RDMA_WRITE); // 2
		pair.local(true);
		pair.post(IBV_WR_RDMA_WRITE); // 3
		vt::require(!pair.has_come(2) && !pair.has_come(3) && !pair.any_done(),
			    "a WRITE arrived although packets are kept");
		plug.release_once();
		pair.await(2);
		pair.post(IBV_WR_RDMA_WRITE); // 4
		pair.post(IBV_WR_RDMA_READ);
		vt::require(!pair.any_done(), "a request completed although responses are kept");
		plug.release();
		pair.expect_all();
	}
	pair.post(IBV_WR_RDMA_WRITE);
	pair.expect_all();
}

} // namespace

int main(int argc, char **argv)
{
	return vt::check_alone(argc, argv, "vpathswitch", switch_paths);
}
