/* SPDX-License-Identifier: GPL-2.0 */
// A QP's connection by rdma_cm, where nothing else connects QPs: iWARP.
#ifndef TERN_VM_CM_H
#define TERN_VM_CM_H

#include <memory>

#include <rdma/rdma_cma.h>

#include "control.h"

namespace vt {

class Cm {
public:
	// Between the two addresses of the control connection; both sides call it, with a QP in
	// INIT each. The side that called the other is the active one here too.
	void connect(Control &control, ibv_qp *qp, uint8_t rd_atomic);

private:
	template <auto Destroy> struct Destroyer {
		template <class T> void operator()(T *object) const { Destroy(object); }
	};
	using Id = std::unique_ptr<rdma_cm_id, Destroyer<rdma_destroy_id>>;

	// Its id, which is ours in case of a request.
	rdma_cm_id *expect(rdma_cm_event_type type);
	Id make_id();
	void accept(Control &control, const rdma_conn_param &param);
	void call(Control &control, const rdma_conn_param &param);

	std::unique_ptr<rdma_event_channel, Destroyer<rdma_destroy_event_channel>> channel_;
	Id id_;
};

} // namespace vt

#endif
