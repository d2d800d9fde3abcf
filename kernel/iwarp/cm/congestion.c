// SPDX-License-Identifier: GPL-2.0
/*
 * Which of TCP's congestion controls a device's connections have: the name in its file
 * congestion_control (core/sysfs.c). How they work is TCP's.
 */
#include <linux/cred.h>
#include <linux/init_task.h>
#include <linux/net.h>
#include <linux/string.h>
#include <net/tcp.h>

#include "core/transport.h"
#include "iwarp/cm/congestion.h"
#include "iwarp/stream/state.h"

/* The choice is left to TCP: what the route names, else net.ipv4.tcp_congestion_control. */
static const char TCPS_CHOICE[] = "default";

static_assert(TERN_CONGESTION_NAME_BYTES == TCP_CA_NAME_MAX);

void iw_congestion_init(struct iw_dev *iw)
{
	mutex_init(&iw->congestion_lock);
	strscpy(iw->congestion, TCPS_CHOICE, sizeof(iw->congestion));
}

/* With the rights of the calling task. TCP loads the module that has it. */
static int set_by_name(struct socket *sock, const char *name)
{
	return sock->ops->setsockopt(sock, SOL_TCP, TCP_CONGESTION, KERNEL_SOCKPTR((void *)name),
				     strlen(name));
}

void iw_congestion_show(struct tern_dev *dev, char *name)
{
	struct iw_dev *iw = iw_dev(dev);

	mutex_lock(&iw->congestion_lock);
	strscpy(name, iw->congestion, TERN_CONGESTION_NAME_BYTES);
	mutex_unlock(&iw->congestion_lock);
}

int iw_congestion_set(struct tern_dev *dev, const char *name)
{
	struct iw_dev *iw = iw_dev(dev);
	int err = 0;

	if (strcmp(name, TCPS_CHOICE)) {
		struct socket *sock;

		/* TCP tells by a socket only. */
		err = sock_create_kern(dev->net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &sock);
		if (err)
			return err;
		err = set_by_name(sock, name);
		sock_release(sock);
	}
	if (err)
		return err;
	mutex_lock(&iw->congestion_lock);
	strscpy(iw->congestion, name, sizeof(iw->congestion));
	mutex_unlock(&iw->congestion_lock);
	return 0;
}

int iw_congestion_apply(struct tern_dev *dev, struct socket *sock)
{
	char name[TERN_CONGESTION_NAME_BYTES];
	const struct cred *own;
	struct cred *kernel;
	int err;

	iw_congestion_show(dev, name);
	if (!strcmp(name, TCPS_CHOICE))
		return 0;
	/* The administrator has chosen it, so the program that connects need not be allowed to. */
	kernel = prepare_kernel_cred(&init_task);
	if (!kernel)
		return -ENOMEM;
	own = override_creds(kernel);
	err = set_by_name(sock, name);
	revert_creds(own);
	put_cred(kernel);
	return err;
}
