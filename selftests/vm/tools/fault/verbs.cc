// SPDX-License-Identifier: GPL-2.0
// The verbs that call the kernel.
#include "call.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>

#include "cq.h"
#include "link.h"
#include "objects.h"
#include "post.h"
#include "xrc.h"

namespace vt {
namespace {

constexpr size_t kBytes = size_t{1} << 20;
constexpr uint32_t kMoved = 16384; // bytes by each WR
constexpr int kAccess = kAllAccess | IBV_ACCESS_MW_BIND;

// The objects that the object under test needs.
struct Ground {
	explicit Ground(const Device &d)
		: device(d), pd(make_pd(d.context())), arena(pd.get(), kBytes, kAccess),
		  cq(d, {.entries = 256}), dm(make_dm(d.context(), 4096))
	{}
	ibv_context *context() const { return device.context(); }

	const Device &device;
	Pd pd;
	Arena arena;
	Cq cq;
	Dm dm;
};
using Base = std::shared_ptr<Ground>;

template <class T> using Make = std::function<T *()>;
template <class T> using Destroy = int (*)(T *);

// The verb creates an object, which is destroyed afterwards.
template <class T> class Making : public Try {
public:
	Making(const Make<T> &make, Destroy<T> destroy) : make_(make), destroy_(destroy) {}
	~Making() override
	{
		int error = object_ ? destroy_(object_) : 0;
		if (error)
			note_teardown_failure("destroying what was made", error);
	}
	int call() override
	{
		errno = 0;
		object_ = make_();
		return object_ ? 0 : errno ? errno : EIO;
	}

private:
	Make<T> make_;
	Destroy<T> destroy_;
	T *object_ = nullptr;
};

// The verb destroys an object. If it fails, a second call succeeds.
template <class T> class Destroying : public Try {
public:
	Destroying(const Make<T> &make, Destroy<T> destroy) : destroy_(destroy), object_(make())
	{
		require(object_ != nullptr, "an object to destroy: %m");
	}
	~Destroying() override
	{
		int error = object_ ? destroy_(object_) : 0;
		if (error)
			note_teardown_failure("destroying what could not be destroyed first",
					      error);
	}
	int call() override
	{
		int error = destroy_(object_);
		if (!error)
			object_ = nullptr;
		return error;
	}

private:
	Destroy<T> destroy_;
	T *object_;
};

// The verb acts on an object that was created for it.
template <class T> class Using : public Try {
public:
	Using(const Make<T> &make, Destroy<T> destroy, std::function<int(T *)> use)
		: destroy_(destroy), use_(std::move(use)), object_(make())
	{
		require(object_ != nullptr, "an object to use: %m");
	}
	~Using() override
	{
		int error = destroy_(object_);
		if (error)
			note_teardown_failure("destroying what was used", error);
	}
	int call() override { return use_(object_); }

private:
	Destroy<T> destroy_;
	std::function<int(T *)> use_;
	T *object_;
};

template <class T>
void add_object(std::vector<Call> *calls, const std::string &name, const Make<T> &make,
		Destroy<T> destroy)
{
	calls->push_back(
		{"make-" + name, [=] { return std::make_unique<Making<T>>(make, destroy); }});
	calls->push_back({"destroy-" + name,
			  [=] { return std::make_unique<Destroying<T>>(make, destroy); }});
}

template <class T>
void add_use(std::vector<Call> *calls, const std::string &name, const Make<T> &make,
	     Destroy<T> destroy, const std::function<int(T *)> &use)
{
	calls->push_back({name, [=] { return std::make_unique<Using<T>>(make, destroy, use); }});
}

void add_memory(std::vector<Call> *calls, const Base &base)
{
	ibv_pd *pd = base->pd.get();
	Make<ibv_mr> whole = [=] { return ibv_reg_mr(pd, base->arena.at(0), kBytes, kAccess); };
	add_object<ibv_pd>(
		calls, "pd", [=] { return ibv_alloc_pd(base->context()); }, ibv_dealloc_pd);
	add_object<ibv_mr>(calls, "mr", whole, ibv_dereg_mr);
	add_object<ibv_mr>(
		calls, "small-mr", [=] { return ibv_reg_mr(pd, base->arena.at(8), 64, kAccess); },
		ibv_dereg_mr);
	add_use<ibv_mr>(calls, "rereg-mr", whole, ibv_dereg_mr, [=](ibv_mr *mr) {
		return ibv_rereg_mr(mr,
				    IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS,
				    pd, base->arena.at(4096), kBytes / 2, kAccess) ?
			       errno :
			       0;
	});
	add_object<ibv_dm>(
		calls, "dm",
		[=] {
			ibv_alloc_dm_attr attr = {65536, 0, 0};
			return ibv_alloc_dm(base->context(), &attr);
		},
		ibv_free_dm);
	add_object<ibv_mr>(
		calls, "dm-mr",
		[=] {
			return ibv_reg_dm_mr(pd, base->dm.get(), 0, 4096,
					     kAccess | IBV_ACCESS_ZERO_BASED);
		},
		ibv_dereg_mr);
	add_object<ibv_mw>(
		calls, "mw1", [=] { return ibv_alloc_mw(pd, IBV_MW_TYPE_1); }, ibv_dealloc_mw);
	add_object<ibv_mw>(
		calls, "mw2", [=] { return ibv_alloc_mw(pd, IBV_MW_TYPE_2); }, ibv_dealloc_mw);
}

void add_cqs(std::vector<Call> *calls, const Base &base)
{
	ibv_context *context = base->context();
	Make<ibv_cq> make = [=] { return ibv_create_cq(context, 16, nullptr, nullptr, 0); };
	add_object<ibv_comp_channel>(
		calls, "channel", [=] { return ibv_create_comp_channel(context); },
		ibv_destroy_comp_channel);
	add_object<ibv_cq>(calls, "cq", make, ibv_destroy_cq);
	add_object<ibv_cq>(
		calls, "large-cq",
		[=] { return ibv_create_cq(context, 4096, nullptr, nullptr, 0); }, ibv_destroy_cq);
	add_object<ibv_cq>(
		calls, "extended-cq",
		[=] {
			ibv_cq_init_attr_ex attr = {};
			attr.cqe = 64;
			attr.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
			ibv_cq_ex *cq = ibv_create_cq_ex(context, &attr);
			return cq ? ibv_cq_ex_to_cq(cq) : nullptr;
		},
		ibv_destroy_cq);
	add_use<ibv_cq>(calls, "resize-cq", make, ibv_destroy_cq,
			[](ibv_cq *cq) { return ibv_resize_cq(cq, 2000); });
	add_use<ibv_cq>(calls, "arm-cq", make, ibv_destroy_cq,
			[](ibv_cq *cq) { return ibv_req_notify_cq(cq, 0); });
}

void add_srqs(std::vector<Call> *calls, const Base &base)
{
	Make<ibv_srq> make = [=] {
		ibv_srq_init_attr attr = {};
		attr.attr = {64, 4, 0};
		return ibv_create_srq(base->pd.get(), &attr);
	};
	add_object<ibv_srq>(calls, "srq", make, ibv_destroy_srq);
	add_use<ibv_srq>(calls, "resize-srq", make, ibv_destroy_srq, [](ibv_srq *srq) {
		ibv_srq_attr attr = {2000, 4, 0};
		return ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
	});
	add_use<ibv_srq>(calls, "arm-srq", make, ibv_destroy_srq, [](ibv_srq *srq) {
		ibv_srq_attr attr = {0, 0, 8};
		return ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT);
	});
	add_use<ibv_srq>(calls, "query-srq", make, ibv_destroy_srq, [](ibv_srq *srq) {
		ibv_srq_attr attr;
		return ibv_query_srq(srq, &attr);
	});
}

Make<ibv_qp> qp_of(const Base &base, ibv_qp_type type)
{
	return [=] {
		ibv_qp_init_attr attr = {};
		attr.send_cq = attr.recv_cq = base->cq.get();
		attr.cap = {64, 64, 4, 4, 128};
		attr.qp_type = type;
		return ibv_create_qp(base->pd.get(), &attr);
	};
}

void add_qps(std::vector<Call> *calls, const Base &base)
{
	Make<ibv_qp> rc = qp_of(base, IBV_QPT_RC);
	add_object<ibv_qp>(calls, "rc-qp", rc, ibv_destroy_qp);
	if (!base->device.is_iwarp()) {
		add_object<ibv_qp>(calls, "uc-qp", qp_of(base, IBV_QPT_UC), ibv_destroy_qp);
		add_object<ibv_qp>(calls, "ud-qp", qp_of(base, IBV_QPT_UD), ibv_destroy_qp);
	}
	add_use<ibv_qp>(calls, "query-qp", rc, ibv_destroy_qp, [](ibv_qp *qp) {
		ibv_qp_attr attr;
		ibv_qp_init_attr init;
		return ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init);
	});
}

struct XrcGround {
	explicit XrcGround(ibv_context *context)
		: domain(open_domain(context)), target(make_target(context, domain.get()))
	{}

	Xrcd domain;
	QpOwner target;
};

void add_xrc(std::vector<Call> *calls, const Base &base)
{
	ibv_context *context = base->context();
	auto xrc = std::make_shared<XrcGround>(context);

	add_object<ibv_xrcd>(
		calls, "xrcd", [=] { return try_open_domain(context, -1, O_CREAT).release(); },
		close_domain);
	add_object<ibv_srq>(
		calls, "xrc-srq",
		[=] {
			return try_make_xrc_srq(base->pd.get(), xrc->domain.get(), base->cq.get())
				.release();
		},
		ibv_destroy_srq);
	add_object<ibv_qp>(calls, "initiator", qp_of(base, IBV_QPT_XRC_SEND), ibv_destroy_qp);
	// Not made: if ib_core finds no memory after the driver did, it counts the target for ever.
	Make<ibv_qp> make = [=] { return make_target(context, xrc->domain.get()).release(); };
	calls->push_back({"destroy-target", [=] {
				  return std::make_unique<Destroying<ibv_qp>>(make, ibv_destroy_qp);
			  }});
	add_object<ibv_qp>(
		calls, "opened-target",
		[=] {
			return try_open_target(context, xrc->domain.get(), xrc->target->qp_num)
				.release();
		},
		ibv_destroy_qp);
}

// ---- RoCE: a QP that is its own peer

LinkOptions few_words(ibv_qp_type type)
{
	LinkOptions options;
	options.type = type;
	return options;
}

// From RESET to RTS, and to ERR. Each step is a case, after the steps before it.
class Step : public Try {
public:
	Step(const Base &base, ibv_qp_type type, ibv_qp_state to)
		: link_(base->device, base->pd.get(), base->cq.get(), base->cq.get(),
			few_words(type)),
		  to_(to)
	{
		for (ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS})
			if (state < to_)
				go(state);
	}
	int call() override
	{
		if (to_ == IBV_QPS_ERR)
			return link_.to_state(to_);
		try {
			go(to_);
		} catch (const Failure &) {
			return errno;
		}
		return 0;
	}
	void judge(int error) override
	{
		require(error || link_.state() == to_, "the QP is in state %d, not %d",
			link_.state(), to_);
	}

private:
	void go(ibv_qp_state state)
	{
		if (state == IBV_QPS_INIT)
			link_.to_init();
		else if (state == IBV_QPS_RTR)
			link_.to_rtr(link_.address());
		else
			link_.to_rts();
	}

	Link link_;
	ibv_qp_state to_;
};

// Messages to itself. They arrive whatever fails: without memory a step is done later.
class Posting : public Try {
public:
	Posting(const Base &base, ibv_qp_type type, ibv_wr_opcode opcode)
		: base_(base), link_(base->device, base->pd.get(), base->cq.get(), base->cq.get(),
				     few_words(type))
	{
		link_.to_init();
		link_.to_rtr(link_.address());
		link_.to_rts();
		for (uint32_t i = 0; i < kWorks; i++) {
			Work w{.opcode = opcode, .id = i};
			w.sges = {base->arena.sge(i * kMoved, bytes(type))};
			w.remote_va = base->arena.va(kBytes / 2 + i * kMoved);
			w.rkey = base->arena.mr()->rkey;
			works_.push_back(w);
			if (opcode != IBV_WR_SEND)
				continue;
			receives_++;
			vt::post_recv(
				link_, kWorks + i,
				{base->arena.sge(static_cast<uint32_t>(kBytes / 2) + i * kMoved,
						 kMoved)});
		}
	}
	int call() override { return try_post_list(link_, works_); }
	void judge(int error) override
	{
		require(!error, "posting: %s", strerror(error));
		// UD only guarantees that they are sent.
		size_t due = works_.size() + (link_.options().type == IBV_QPT_RC ? receives_ : 0);
		for (size_t done = 0; done < due;) {
			Completion completion = base_->cq.next();
			require_success(completion, "a message to itself");
			done += link_.options().type == IBV_QPT_RC || completion.wr_id < kWorks;
		}
	}

private:
	static constexpr uint32_t kWorks = 8;
	uint32_t bytes(ibv_qp_type type) const
	{
		return type == IBV_QPT_RC ? kMoved : mtu_bytes(base_->device.port().active_mtu);
	}

	Base base_;
	Link link_;
	std::vector<Work> works_;
	size_t receives_ = 0;
};

void add_roce(std::vector<Call> *calls, const Base &base)
{
	ibv_ah_attr way = {};
	way.is_global = 1;
	way.port_num = 1;
	way.grh.dgid = base->device.gid();
	way.grh.sgid_index = static_cast<uint8_t>(base->device.gid_index());
	way.grh.hop_limit = 64;
	add_object<ibv_ah>(
		calls, "ah",
		[=] {
			ibv_ah_attr attr = way;
			return ibv_create_ah(base->pd.get(), &attr);
		},
		ibv_destroy_ah);
	add_use<ibv_qp>(calls, "join-group", qp_of(base, IBV_QPT_UD), ibv_destroy_qp,
			[](ibv_qp *qp) {
				const uint8_t group[16] = {0xff, 0x0e, 0,    0,	   0,	0,  0, 0,
							   0,	 0,    0xff, 0xff, 239, 77, 0, 7};
				ibv_gid gid;
				memcpy(gid.raw, group, sizeof(group));
				int error = ibv_attach_mcast(qp, &gid, 0);
				// Else the QP could not be destroyed.
				return error ? error : ibv_detach_mcast(qp, &gid, 0);
			});
	for (ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
		std::string name = type == IBV_QPT_RC ? "rc" : type == IBV_QPT_UC ? "uc" : "ud";
		for (auto [to, text] :
		     {std::pair(IBV_QPS_INIT, "-to-init"), std::pair(IBV_QPS_RTR, "-to-rtr"),
		      std::pair(IBV_QPS_RTS, "-to-rts")})
			calls->push_back({name + text, [base, type, to = to] {
						  return std::make_unique<Step>(base, type, to);
					  }});
	}
	for (auto [opcode, text] :
	     {std::pair(IBV_WR_SEND, "send"), std::pair(IBV_WR_RDMA_WRITE, "write"),
	      std::pair(IBV_WR_RDMA_READ, "read")})
		calls->push_back({std::string("post-") + text, [base, opcode = opcode] {
					  return std::make_unique<Posting>(base, IBV_QPT_RC,
									   opcode);
				  }});
	calls->push_back({"post-datagram", [base] {
				  return std::make_unique<Posting>(base, IBV_QPT_UD, IBV_WR_SEND);
			  }});
}

} // namespace

std::vector<Call> verbs_calls(const Device &device)
{
	Base base = std::make_shared<Ground>(device);
	ibv_device *which = device.context()->device;
	std::vector<Call> calls;

	add_object<ibv_context>(
		&calls, "context", [=] { return ibv_open_device(which); }, ibv_close_device);
	// If the device's file cannot be opened, libibverbs tries another name.
	calls.front().other_error = ENOENT;
	add_memory(&calls, base);
	add_cqs(&calls, base);
	add_srqs(&calls, base);
	add_qps(&calls, base);
	if (device.can(IBV_DEVICE_XRC))
		add_xrc(&calls, base);
	if (!device.is_iwarp())
		add_roce(&calls, base);
	return calls;
}

} // namespace vt
