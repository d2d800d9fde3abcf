// SPDX-License-Identifier: GPL-2.0
/*
 * The doorbell file. Each user context has one. Its one ioctl runs a QP of that
 * context, for a fraction of the cost of the equivalent uverbs command. The
 * file may outlive context and device; then it finds no QP.
 */
#include <linux/anon_inodes.h>
#include <linux/fs.h>

#include "core/qp.h"
#include "verbs/doorbell.h"

/*
 * The caller holds only a reference to the QP. destroy does not wait for it; the transport then
 * finds the QP dead.
 */
static long doorbell_ioctl(struct file *file, unsigned int cmd, unsigned long qpn)
{
	struct tern_dev *dev = file->private_data;
	struct tern_qp *qp;

	if (cmd != TERN_IOCTL_DOORBELL)
		return -ENOTTY;
	rcu_read_lock();
	qp = qpn > U32_MAX ? NULL : tern_qp_lookup(dev, qpn);
	if (!qp || qp->doorbell != file || !refcount_inc_not_zero(&qp->ref)) {
		rcu_read_unlock();
		return -ENOENT;
	}
	rcu_read_unlock();

	tern_qp_ring(qp);
	tern_qp_put(qp);
	return 0;
}

static int doorbell_release(struct inode *inode, struct file *file)
{
	struct tern_dev *dev = file->private_data;

	put_device(&dev->ibdev.dev);
	return 0;
}

/* The argument is a number, so it is the same for 32-bit programs. */
static const struct file_operations doorbell_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = doorbell_ioctl,
	.compat_ioctl = doorbell_ioctl,
	.release = doorbell_release,
};

struct file *tern_doorbell_file(struct tern_dev *dev)
{
	struct file *file;

	/* Holds only the device's memory. The QPs that a file finds end with its context. */
	get_device(&dev->ibdev.dev);
	file = anon_inode_getfile("[tern-doorbell]", &doorbell_fops, dev, O_RDWR);
	if (IS_ERR(file))
		put_device(&dev->ibdev.dev);
	return file;
}
