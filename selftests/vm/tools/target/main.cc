// SPDX-License-Identifier: GPL-2.0
// vtarget: an rdma_cm server for a hostile peer. Its reply to a connection request
// has its regions and their keys. The request's private data say how many receives to
// post, and which requests to send to the peer. On a second, plain TCP port it reports its state:
// each line gets one back with the number of connections and what was written where.
//
// It does not decide whether that is right: the peer knows what should have happened.
#include <arpa/inet.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <memory>
#include <poll.h>
#include <span>
#include <string>
#include <unistd.h>

#include "cm.h"
#include "region.h"

namespace {

using vt::require;

constexpr uint16_t kPort = 7300;
constexpr uint16_t kControlPort = 7301;
constexpr uint8_t kDepth = 4;
constexpr int kCqEntries = 4096;

// The request's private data. Without them: all receives, and no requests.
struct Wish {
	uint8_t receives;
	uint8_t job;   // Job
	uint8_t depth; // outstanding READs and atomics, either way
};

enum Job : uint8_t { kNothing, kReadFromPeer, kAtomicAtPeer, kSendToPeer, kFailASend };

class Target {
public:
	Target(const char *address, uint16_t port);
	~Target();
	Target(const Target &) = delete;
	Target &operator=(const Target &) = delete;

	int cm_fd() const { return cm_.fd(); }
	int cq_fd() const { return completions_->fd; }
	void cm_event();
	void cq_event();
	std::string answer(const std::string &question);

private:
	struct ConnectionEnd {
		void operator()(rdma_cm_id *id) const
		{
			if (id->qp)
				rdma_destroy_qp(id);
			rdma_destroy_id(id);
		}
	};
	using Connection = std::unique_ptr<rdma_cm_id, ConnectionEnd>;
	struct Live {
		Connection id;
		uint8_t job;
	};

	void request(vt::CmEvent *event);
	bool accept(rdma_cm_id *id, const Wish &wish);
	void begin_job(rdma_cm_id *id, uint8_t job);
	void poll_cq();
	void destroy(uint32_t qp_num);

	vt::CmChannel cm_;
	vt::CmId listener_;
	std::unique_ptr<vt::Memory> memory_;
	ibv_comp_channel *completions_ = nullptr;
	ibv_cq *cq_ = nullptr;
	std::map<rdma_cm_id *, Live> live_;
	unsigned requests_ = 0, refused_ = 0;
	std::array<unsigned, IBV_WC_TM_RNDV_INCOMPLETE + 1> statuses_ = {};
};

Target::Target(const char *address, uint16_t port)
	: listener_(cm_.listen(address, std::to_string(port), 512))
{
	require(listener_->verbs, "%s is not the address of one device", address);
	memory_ = std::make_unique<vt::Memory>(listener_->verbs);
	completions_ = ibv_create_comp_channel(listener_->verbs);
	require(completions_, "ibv_create_comp_channel: %m");
	cq_ = ibv_create_cq(listener_->verbs, kCqEntries, nullptr, completions_, 0);
	require(cq_, "ibv_create_cq: %m");
	require(!ibv_req_notify_cq(cq_, 0), "ibv_req_notify_cq");
	fcntl(cq_fd(), F_SETFL, fcntl(cq_fd(), F_GETFL) | O_NONBLOCK);
}

Target::~Target()
{
	live_.clear();
	ibv_destroy_cq(cq_);
	ibv_destroy_comp_channel(completions_);
}

void Target::cm_event()
{
	std::optional<vt::CmEvent> event = cm_.next(0);
	if (!event)
		return;
	switch (event->type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		request(&*event);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (auto found = live_.find(event->id); found != live_.end())
			begin_job(event->id, found->second.job);
		break;
	default:
		live_.erase(event->id);
		break;
	}
}

void Target::request(vt::CmEvent *event)
{
	Wish wish = {vt::kReceives, kNothing, kDepth};
	event->read(&wish, std::min(event->data.size(), sizeof(wish)));
	requests_++;
	Connection owner(event->request.release());
	if (!accept(event->id, wish)) {
		refused_++;
		return;
	}
	live_[event->id] = {std::move(owner), wish.job};
}

bool Target::accept(rdma_cm_id *id, const Wish &wish)
{
	ibv_qp_init_attr init = {};
	init.qp_type = IBV_QPT_RC;
	init.send_cq = init.recv_cq = cq_;
	init.cap = {4, vt::kReceives, 1, 1, 0};
	init.sq_sig_all = 1;
	if (rdma_create_qp(id, memory_->pd(), &init))
		return false;
	for (uint32_t i = 0; i < std::min<uint32_t>(wish.receives, vt::kReceives); i++) {
		ibv_sge sge = memory_->receive(i);
		ibv_recv_wr wr = {.wr_id = i, .next = nullptr, .sg_list = &sge, .num_sge = 1};
		ibv_recv_wr *bad = nullptr;
		if (ibv_post_recv(id->qp, &wr, &bad))
			return false;
	}
	std::array<vt::Remote, vt::kRegions> regions = {};
	for (int i = 0; i < vt::kRegions; i++)
		regions[static_cast<size_t>(i)] = memory_->remote(static_cast<vt::Region>(i));
	rdma_conn_param param =
		vt::CmOffer{.depth = wish.depth, .data = regions.data(), .bytes = sizeof(regions)}
			.param();
	return !rdma_accept(id, &param);
}

void Target::begin_job(rdma_cm_id *id, uint8_t job)
{
	ibv_sge sge = memory_->sink();
	ibv_send_wr wr = {}, *bad = nullptr;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	switch (job) {
	case kReadFromPeer:
		wr.opcode = IBV_WR_RDMA_READ;
		break;
	case kAtomicAtPeer:
		wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		sge.length = 8;
		break;
	case kFailASend:
		sge.lkey = ~sge.lkey;
		[[fallthrough]];
	case kSendToPeer:
		wr.opcode = IBV_WR_SEND;
		break;
	default:
		return;
	}
	ibv_post_send(id->qp, &wr, &bad);
}

void Target::poll_cq()
{
	std::array<ibv_wc, 32> wcs = {};
	int n;
	while ((n = ibv_poll_cq(cq_, wcs.size(), wcs.data())) > 0)
		for (const ibv_wc &wc : std::span(wcs).first(static_cast<size_t>(n))) {
			if (wc.status < statuses_.size())
				statuses_[wc.status]++;
			if (wc.status == IBV_WC_LOC_PROT_ERR)
				destroy(wc.qp_num);
		}
}

// As programs do when a request fails.
void Target::destroy(uint32_t qp_num)
{
	for (auto &[id, live] : live_)
		if (live.job == kFailASend && id->qp && id->qp->qp_num == qp_num)
			rdma_destroy_qp(id);
}

void Target::cq_event()
{
	ibv_cq *cq = nullptr;
	void *context = nullptr;
	while (!ibv_get_cq_event(completions_, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	ibv_req_notify_cq(cq_, 0);
	poll_cq();
}

std::string Target::answer(const std::string &question)
{
	if (question == "drop")
		for (auto &[id, live] : live_)
			rdma_disconnect(id);
	if (question == "destroy")
		live_.clear();
	poll_cq();
	vt::Changes changes = {};
	if (question == "check")
		changes = memory_->check();
	std::string text = "live=" + std::to_string(live_.size()) +
			   " requests=" + std::to_string(requests_) +
			   " refused=" + std::to_string(refused_) +
			   " inside=" + std::to_string(changes.inside) +
			   " outside=" + std::to_string(changes.outside) +
			   " first=" + std::to_string(changes.first);
	for (size_t i = 0; i < statuses_.size(); i++)
		if (statuses_[i])
			text += " wc" + std::to_string(i) + "=" + std::to_string(statuses_[i]);
	if (question == "check")
		statuses_.fill(0);
	return text + "\n";
}

// The control connection: one at a time, one question per line.
class Control {
public:
	Control(const char *address, uint16_t port);
	~Control();
	Control(const Control &) = delete;
	Control &operator=(const Control &) = delete;

	int fd() const { return peer_ >= 0 ? peer_ : listener_; }
	// False: the peer said "end".
	bool serve(Target *target);

private:
	int listener_, peer_ = -1;
	std::string got_;
};

Control::Control(const char *address, uint16_t port)
	: listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
{
	int one = 1;
	sockaddr_in in = {};
	in.sin_family = AF_INET;
	in.sin_port = htons(port);
	inet_pton(AF_INET, address, &in.sin_addr);
	setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	require(!bind(listener_, reinterpret_cast<sockaddr *>(&in), sizeof(in)) &&
			!listen(listener_, 4),
		"control port: %m");
}

Control::~Control()
{
	if (peer_ >= 0)
		close(peer_);
	close(listener_);
}

bool Control::serve(Target *target)
{
	if (peer_ < 0) {
		peer_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
		return true;
	}
	std::array<char, 256> part = {};
	ssize_t n = read(peer_, part.data(), part.size());
	if (n <= 0) {
		close(peer_);
		peer_ = -1;
		got_.clear();
		return true;
	}
	got_.append(part.data(), static_cast<size_t>(n));
	for (size_t end; (end = got_.find('\n')) != std::string::npos; got_.erase(0, end + 1)) {
		std::string question = got_.substr(0, end);
		if (question == "end")
			return false;
		std::string text = target->answer(question);
		if (write(peer_, text.data(), text.size()) < 0)
			return true;
	}
	return true;
}

int serve(const char *address)
{
	Target target(address, kPort);
	Control control(address, kControlPort);
	for (;;) {
		std::array<pollfd, 3> fds = {{{target.cm_fd(), POLLIN, 0},
					      {target.cq_fd(), POLLIN, 0},
					      {control.fd(), POLLIN, 0}}};
		if (poll(fds.data(), fds.size(), -1) < 0)
			return 1;
		// Handle all events that are there before a question about them.
		if (fds[0].revents)
			target.cm_event();
		if (fds[1].revents)
			target.cq_event();
		if (!fds[0].revents && fds[2].revents && !control.serve(&target))
			return 0;
	}
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s ADDRESS\n", argv[0]);
		return 2;
	}
	try {
		return serve(argv[1]);
	} catch (const std::exception &why) {
		fprintf(stderr, "vtarget: %s\n", why.what());
		return 1;
	}
}
