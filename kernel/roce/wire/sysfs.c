// SPDX-License-Identifier: GPL-2.0
/*
 * A RoCE device's own files in /sys/class/infiniband/DEV/: local, the switch
 * of traffic within the host without packets. It is read at each batch.
 * The files that every transport's devices have are elsewhere (TERN_DEV_ATTRS).
 */
#include <linux/device.h>
#include <linux/kstrtox.h>
#include <linux/sysfs.h>

#include "core/sysfs.h"
#include "roce/wire/net.h"
#include "roce/wire/sysfs.h"

static struct roce_dev *roce_dev_of(struct device *device)
{
	return to_roce_dev(tern_dev_of(device));
}

static ssize_t local_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%c\n", READ_ONCE(roce_dev_of(device)->local) ? 'Y' : 'N');
}

static ssize_t local_store(struct device *device, struct device_attribute *attr, const char *buf,
			   size_t n)
{
	bool on;
	int err = kstrtobool(buf, &on);

	if (err)
		return err;
	WRITE_ONCE(roce_dev_of(device)->local, on);
	return n;
}
static DEVICE_ATTR_RW(local);

static struct attribute *roce_dev_attrs[] = {
	&dev_attr_local.attr,
	TERN_DEV_ATTRS,
	NULL
};

static const struct attribute_group roce_dev_group = {
	.attrs = roce_dev_attrs,
};

const struct ib_device_ops roce_dev_ops = {
	.device_group = &roce_dev_group,
};
