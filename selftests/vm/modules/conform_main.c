// SPDX-License-Identifier: GPL-2.0
/*
 * Test module: conformance of what only kernel consumers reach, over a link of
 * tern on netdev=NAME, whose own address is address=IP. The log has KTAP, a case
 * a line. It loads if no case has failed.
 */
#include <linux/err.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "conform.h"

static char *netdev = "eth0";
module_param(netdev, charp, 0444);
static char *address = "";
module_param(address, charp, 0444);
MODULE_PARM_DESC(address, "the netdev's own, of IPv4 or IPv6");
static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "cases whose name begins with it");

static const struct {
	const char *name;
	const struct conform_case *cases;
} groups[] = {
	{ "Mr", conform_mr_cases },
	{ "RegMr", conform_reg_cases },
	{ "Invalidate", conform_inv_cases },
	{ "Cq", conform_cq_cases },
	{ "Qp", conform_qp_cases },
	{ "Post", conform_post_cases },
	{ "Srq", conform_srq_cases },
	{ "Drain", conform_drain_cases },
};

bool conform_expect(struct conform *c, s64 got, s64 want, const char *what, int line)
{
	if (got == want)
		return true;
	if (!c->failed)
		snprintf(c->why, sizeof(c->why), "line %d: %s is %lld, not %lld", line, what, got,
			 want);
	c->failed = true;
	return false;
}

void conform_defer(struct conform *c, void (*undo)(void *object), void *object)
{
	if (WARN_ON(c->num_undos == CONFORM_UNDOS))
		return;
	c->undos[c->num_undos++] = (struct conform_undo){ undo, object };
}

static void undo_all(struct conform *c)
{
	while (c->num_undos) {
		const struct conform_undo *last = &c->undos[--c->num_undos];

		last->undo(last->object);
	}
}

static const char *left_out(const struct conform *c, const struct conform_case *k)
{
	if (k->transport == CONFORM_ROCE && conform_is_iwarp(c))
		return "only RoCE has it";
	if (k->transport == CONFORM_IWARP && !conform_is_iwarp(c))
		return "only iWARP has it";
	return NULL;
}

static bool is_named(const char *group, const struct conform_case *k)
{
	char name[96];

	snprintf(name, sizeof(name), "%s.%s", group, k->name);
	return !strncmp(name, only, strlen(only));
}

/* True unless it failed. */
static bool run_case(struct conform *c, const char *group, const struct conform_case *k,
		     unsigned int number)
{
	c->skip = left_out(c, k);
	c->failed = false;
	if (!c->skip)
		k->run(c);
	undo_all(c);
	if (c->skip && !c->failed)
		pr_info("tern_conform: ok %u %s.%s # SKIP %s\n", number, group, k->name, c->skip);
	else
		pr_info("tern_conform: %sok %u %s.%s\n", c->failed ? "not " : "", number, group,
			k->name);
	if (c->failed)
		pr_info("tern_conform: # %s\n", c->why);
	return !c->failed;
}

static bool run_all(struct conform *c)
{
	const struct conform_case *k;
	unsigned int number = 0, planned = 0;
	bool right = true;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(groups); i++)
		for (k = groups[i].cases; k->name; k++)
			planned += is_named(groups[i].name, k);
	pr_info("tern_conform: 1..%u\n", planned);
	for (i = 0; i < ARRAY_SIZE(groups); i++)
		for (k = groups[i].cases; k->name; k++)
			if (is_named(groups[i].name, k) &&
			    !run_case(c, groups[i].name, k, ++number))
				right = false;
	return right;
}

/* ---- the device ---- */

static int conform_begin(struct conform *c)
{
	int err = inet_pton_with_scope(&init_net, AF_UNSPEC, address, "0", &c->address);
	union ib_gid gid;

	if (err)
		return err;
	c->pd = ib_alloc_pd(c->dev, 0);
	if (IS_ERR(c->pd))
		return PTR_ERR(c->pd);
	if (rdma_protocol_iwarp(c->dev, CONSUMER_PORT))
		return 0;
	rdma_ip2gid((struct sockaddr *)&c->address, &gid);
	c->gid = rdma_find_gid_by_port(c->dev, &gid, IB_GID_TYPE_ROCE_UDP_ENCAP, CONSUMER_PORT,
				       NULL);
	if (!IS_ERR(c->gid))
		return 0;
	err = PTR_ERR(c->gid);
	ib_dealloc_pd(c->pd);
	return err;
}

static void conform_finish(struct conform *c)
{
	if (c->gid)
		rdma_put_gid_attr(c->gid);
	ib_dealloc_pd(c->pd);
}

static int __init conform_init(void)
{
	struct conform *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int err;

	if (!c)
		return -ENOMEM;
	c->dev = consumer_find_device(netdev);
	if (!c->dev) {
		kfree(c);
		return -ENODEV;
	}
	err = conform_begin(c);
	if (err) {
		pr_err("tern_conform: it could not begin: %d\n", err);
	} else {
		err = run_all(c) ? 0 : -EBADMSG;
		conform_finish(c);
	}
	ib_device_put(c->dev);
	kfree(c);
	return err;
}
module_init(conform_init);

static void __exit conform_exit(void)
{
}
module_exit(conform_exit);

MODULE_DESCRIPTION("Conformance of kernel consumers' verbs, for tests of tern");
MODULE_LICENSE("GPL");
