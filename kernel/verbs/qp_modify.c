// SPDX-License-Identifier: GPL-2.0
/*
 * modify_qp: the checks that all transports share. The transition must be in
 * ib_core's table, and the attributes within the device's limits. Then the
 * transport acts.
 */
#include "core/qp.h"
#include "core/transport.h"
#include "tern-abi.h"
#include "verbs/cq.h"
#include "verbs/qp_modify.h"
#include "verbs/udata.h"

#define QP_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |	\
		   IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND | IB_ACCESS_OPTIONAL)
#define QP_FLUSH_ACCESS (IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT)

/* Does the QP send what can be limited? */
static bool has_rate(const struct ib_qp *ibqp)
{
	return to_tern_dev(ibqp->device)->transport->limits->rate_limits &&
	       ibqp->qp_type != IB_QPT_XRC_TGT && ibqp->qp_type != IB_QPT_GSI;
}

/* Refuses attributes that no QP can have here. */
static int check_supported(const struct ib_qp *ibqp, const struct ib_qp_attr *attr, int mask)
{
	if (mask & ~(IB_QP_ATTR_STANDARD_BITS | IB_QP_RATE_LIMIT) || mask & IB_QP_CAP)
		return -EOPNOTSUPP;
	if (mask & IB_QP_RATE_LIMIT && !has_rate(ibqp))
		return -EOPNOTSUPP;
	if (mask & IB_QP_ALT_PATH)
		return -EINVAL;
	if (mask & IB_QP_PATH_MIG_STATE && attr->path_mig_state != IB_MIG_MIGRATED)
		return -EINVAL;
	return 0;
}

static bool path_ok(const struct tern_dev *dev, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_PORT && attr->port_num != 1)
		return false;
	/* Programs that do not ask give index 0. iWARP has no P_Keys, and accepts that one. */
	if (mask & IB_QP_PKEY_INDEX &&
	    attr->pkey_index >= max(dev->transport->limits->pkey_tbl_len, 1u))
		return false;
	if (mask & IB_QP_PATH_MTU &&
	    (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096))
		return false;
	if (mask & IB_QP_DEST_QPN && attr->dest_qp_num > 0xffffff)
		return false;
	if (mask & IB_QP_AV) {
		const struct rdma_ah_attr *ah = &attr->ah_attr;

		if (rdma_ah_get_port_num(ah) != 1 || !(rdma_ah_get_ah_flags(ah) & IB_AH_GRH) ||
		    !ah->grh.sgid_attr || rdma_ah_get_sl(ah) > 15)
			return false;
	}
	return true;
}

/* rdma_cm sets both rights to FLUSH if the device has one of them; regions say which there is. */
static bool rights_ok(const struct tern_dev *dev, int access)
{
	bool flushes = dev->transport->limits->device_cap_flags &
		       (IB_DEVICE_FLUSH_GLOBAL | IB_DEVICE_FLUSH_PERSISTENT);

	return !(access & ~(QP_ACCESS | (flushes ? QP_FLUSH_ACCESS : 0)));
}

static bool limits_ok(const struct tern_dev *dev, const struct ib_qp_attr *attr, int mask)
{
	u32 max_rd = dev->transport->limits->max_rd_atomic;

	return !((mask & IB_QP_ACCESS_FLAGS && !rights_ok(dev, attr->qp_access_flags)) ||
		 (mask & IB_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > max_rd) ||
		 (mask & IB_QP_MAX_DEST_RD_ATOMIC && attr->max_dest_rd_atomic > max_rd) ||
		 (mask & IB_QP_TIMEOUT && attr->timeout > 31) ||
		 (mask & IB_QP_RETRY_CNT && attr->retry_cnt > 7) ||
		 (mask & IB_QP_RNR_RETRY && attr->rnr_retry > 7) ||
		 (mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31));
}

/* A rate is for a QP that sends: on the way to RTS, there, or drained. */
static bool rate_ok(const struct ib_qp_attr *attr, int mask, u32 burst_bytes,
		    enum ib_qp_state cur, enum ib_qp_state next)
{
	if (!(mask & IB_QP_RATE_LIMIT))
		return !burst_bytes;
	if (next != IB_QPS_RTS && (cur != IB_QPS_SQD || next != IB_QPS_SQD))
		return false;
	return attr->rate_limit <= TERN_MAX_RATE_KBPS && (attr->rate_limit || !burst_bytes);
}

static int modify_locked(struct ib_qp *ibqp, const struct ib_qp_attr *attr, int mask,
			 u32 burst_bytes)
{
	struct tern_qp *qp = to_tern_qp(ibqp);
	struct tern_dev *dev = qp->dev;
	enum ib_qp_state cur = READ_ONCE(qp->state);
	enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : cur;
	int err;

	/*
	 * uverbs adds the port to each address vector that changes in SQD, though UC's port may not
	 * change then. There is only one port.
	 */
	if (mask & IB_QP_AV && path_ok(dev, attr, mask))
		mask &= ~IB_QP_PORT;
	if (READ_ONCE(dev->ending) && next != IB_QPS_RESET && next != IB_QPS_ERR)
		return -ENODEV;
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != cur)
		return -EINVAL;
	/* Older tables of ib_core know of rates for raw QPs alone: rate_ok() decides. */
	if (next > IB_QPS_ERR ||
	    !dev->transport->qp_may_modify(cur, next, ibqp->qp_type, mask & ~IB_QP_RATE_LIMIT) ||
	    !path_ok(dev, attr, mask) || !limits_ok(dev, attr, mask) ||
	    !rate_ok(attr, mask, burst_bytes, cur, next))
		return -EINVAL;

	qp->new_burst_bytes = burst_bytes;
	err = dev->transport->qp_modify(qp, attr, mask, cur, next);
	if (err)
		return err;
	if (next == IB_QPS_RESET)
		tern_clean_cqs(qp, ibqp);
	return 0;
}

int tern_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct tern_ibqp *iq = to_tern_ibqp(ibqp);
	struct tern_modify_qp_req req;
	int err;

	err = tern_udata_read(udata, &req, sizeof(req), 0);
	if (err)
		return err;
	if (req.reserved)
		return -EINVAL;
	err = check_supported(ibqp, attr, mask);
	if (err)
		return err;
	mutex_lock(&iq->modify_lock);
	err = modify_locked(ibqp, attr, mask, req.max_burst_bytes);
	mutex_unlock(&iq->modify_lock);
	return err;
}
