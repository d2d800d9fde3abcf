// SPDX-License-Identifier: GPL-2.0
/*
 * A RoCE device's own files in /sys/class/infiniband/DEV/: local, the switch
 * of traffic within the host without packets, which is read at each batch; the
 * congestion controllers that there are, and DCQCN's parameters. Which of them
 * has the QPs that go to RTR or RTS from now on is said here, too.
 * The files that every transport's devices have are elsewhere (TERN_DEV_ATTRS).
 */
#include <linux/device.h>
#include <linux/kstrtox.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "core/sysfs.h"
#include "core/transport.h"
#include "proto/cc.h"
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

void roce_congestion_show(struct tern_dev *dev, char *name)
{
	strscpy(name, READ_ONCE(to_roce_dev(dev)->cc)->name, TERN_CONGESTION_NAME_BYTES);
}

int roce_congestion_set(struct tern_dev *dev, const char *name)
{
	const struct cc_ops *cc = cc_find(name);

	if (!cc)
		return -ENOENT;
	WRITE_ONCE(to_roce_dev(dev)->cc, cc);
	return 0;
}

static ssize_t available_congestion_control_show(struct device *device,
						 struct device_attribute *attr, char *buf)
{
	int n = 0;
	u32 i;

	for (i = 0; cc_all[i]; i++)
		n += sysfs_emit_at(buf, n, "%s%s", i ? " " : "", cc_all[i]->name);
	return n + sysfs_emit_at(buf, n, "\n");
}
static DEVICE_ATTR_RO(available_congestion_control);

/* ---- parameters of DCQCN, which count for QPs that send already, too ---- */

struct param_attr {
	struct device_attribute attr;
	size_t offset;			/* in struct cc_params */
	u32 min, max;
};

static u32 *param_of(struct device *device, const struct param_attr *param)
{
	return (void *)&roce_dev_of(device)->cc_params + param->offset;
}

static ssize_t param_show(struct device *device, struct device_attribute *attr, char *buf)
{
	const struct param_attr *param = container_of(attr, struct param_attr, attr);

	return sysfs_emit(buf, "%u\n", READ_ONCE(*param_of(device, param)));
}

static ssize_t param_store(struct device *device, struct device_attribute *attr, const char *buf,
			   size_t n)
{
	const struct param_attr *param = container_of(attr, struct param_attr, attr);
	u32 value;

	if (kstrtou32(buf, 10, &value) || value < param->min || value > param->max)
		return -EINVAL;
	WRITE_ONCE(*param_of(device, param), value);
	return n;
}

#define PARAM_ATTR(name, low, high)						\
	static struct param_attr param_##name = {				\
		.attr = __ATTR(name, 0644, param_show, param_store),		\
		.offset = offsetof(struct cc_params, name),			\
		.min = low,							\
		.max = high,							\
	}
PARAM_ATTR(dcqcn_alpha_ns, 1000, 1000000000);
PARAM_ATTR(dcqcn_rate_ns, 1000, 1000000000);
PARAM_ATTR(dcqcn_rate_bytes, 4096, 1000000000);
PARAM_ATTR(dcqcn_ai_kbps, 1, 400000000);
PARAM_ATTR(dcqcn_hai_kbps, 1, 400000000);
PARAM_ATTR(dcqcn_g_shift, 0, 10);

static struct attribute *roce_dev_attrs[] = {
	&param_dcqcn_ai_kbps.attr.attr,
	&param_dcqcn_alpha_ns.attr.attr,
	&param_dcqcn_g_shift.attr.attr,
	&param_dcqcn_hai_kbps.attr.attr,
	&param_dcqcn_rate_bytes.attr.attr,
	&param_dcqcn_rate_ns.attr.attr,
	&dev_attr_available_congestion_control.attr,
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
