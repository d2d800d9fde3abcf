// SPDX-License-Identifier: GPL-2.0
/*
 * Parameters, choice of devices, and statistics of the samples. Lines of results
 * begin with "bench,": driver, case, metric, value.
 */
#define pr_fmt(fmt) fmt

#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "bench.h"

static char *subjects[BENCH_SUBJECTS];
static unsigned int num_subjects;
module_param_array(subjects, charp, &num_subjects, 0444);
MODULE_PARM_DESC(subjects,
		 "NAME/DEVICE/DEVICE: requester and responder, or one device twice; iWARP only with iWARP");

static char *path = "net";
module_param(path, charp, 0444);
MODULE_PARM_DESC(path, "which way packets go: begins the names of cases");

unsigned int bench_turns = 20;
module_param_named(turns, bench_turns, uint, 0444);
MODULE_PARM_DESC(turns, "how often each subject has its turn in a case");

static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "measure cases only whose name has this in it; after a '=': is this");

bool bench_wanted(const char *name)
{
	return only[0] == '=' ? !strcmp(name, only + 1) : !!strstr(name, only);
}

static int by_value(const void *x, const void *y)
{
	u64 l = *(const u64 *)x, r = *(const u64 *)y;

	return l < r ? -1 : l > r;
}

void bench_report(const char *driver, const char *name, u64 *cycles, u32 n, u32 ops)
{
	static const u8 percents[] = { 10, 50, 90 };
	u32 i;

	sort(cycles, n, sizeof(*cycles), by_value, NULL);
	for (i = 0; i < ARRAY_SIZE(percents); i++)
		pr_info("bench,%s,%s,p%u,%llu\n", driver, name, percents[i],
			cycles[(u64)n * percents[i] / 100] / ops);
	pr_info("bench,%s,%s,samples,%u\n", driver, name, n);
}

static void report_netdev(const char *driver, const char *which, const struct net_device *ndev)
{
	pr_info("bench,%s,%s.netdev_%s,gro,%d\n", driver, path, which,
		!!(ndev->features & NETIF_F_GRO));
	pr_info("bench,%s,%s.netdev_%s,mtu,%u\n", driver, path, which, ndev->mtu);
}

static u64 tx_packets(struct net_device *ndev)
{
	struct rtnl_link_stats64 stats;

	return dev_get_stats(ndev, &stats)->tx_packets;
}

/* Did packets go over the interface? Both of a veth pair send some; host traffic sends none. */
static void report_sent(const struct bench_subject *s)
{
	pr_info("bench,%s,%s.netdev_a,tx_packets,%llu\n", s->driver, path,
		tx_packets(s->a.ndev) - s->a.sent_before);
	pr_info("bench,%s,%s.netdev_b,tx_packets,%llu\n", s->driver, path,
		tx_packets(s->b.ndev) - s->b.sent_before);
}

static int run_mtu(struct bench_subject *s, u32 n, enum ib_mtu mtu)
{
	int err = 0;
	u32 i;

	for (i = 0; i < n && !err; i++) {
		err = bench_connect(&s[i], mtu);
		if (err)
			pr_err("rdma_bench: cannot connect the QPs of %s: %d\n", s[i].driver, err);
	}
	if (!err)
		err = bench_run_verbs(s, n, path, ib_mtu_enum_to_int(mtu));
	for (i = 0; i < n; i++)
		bench_disconnect(&s[i]);
	return err;
}

static int run_roce(struct bench_subject *s, u32 n)
{
	int err = run_mtu(s, n, IB_MTU_1024);

	if (!err)
		err = run_mtu(s, n, IB_MTU_4096);
	if (!err && s->a.dev != s->b.dev)
		err = bench_run_floor(s, n, path);
	return err;
}

static int run(struct bench_subject *s, u32 n)
{
	u64 cycles = bench_clock(), ns = ktime_get_ns();
	int err;
	u32 i;

	for (i = 0; i < n; i++) {
		report_netdev(s[i].driver, "a", s[i].a.ndev);
		report_netdev(s[i].driver, "b", s[i].b.ndev);
		s[i].a.sent_before = tx_packets(s[i].a.ndev);
		s[i].b.sent_before = tx_packets(s[i].b.ndev);
	}
	err = s->a.sgid ? run_roce(s, n) : bench_run_streams(s, n, path);
	cycles = bench_clock() - cycles;
	ns = ktime_get_ns() - ns;
	for (i = 0; i < n; i++)
		report_sent(&s[i]);
	pr_info("bench,clock,%s,khz,%llu\n", path, div64_u64(cycles * 1000, div_u64(ns, 1000)));
	return err;
}

static int open_end(struct bench_end *e, const char *name)
{
	struct ib_device *dev = name ? ib_device_get_by_name(name, RDMA_DRIVER_UNKNOWN) : NULL;
	int err;

	if (!dev) {
		pr_err("rdma_bench: there is no RDMA device '%s'\n", name ?: "");
		return -ENODEV;
	}
	err = bench_end_open(e, dev);
	if (err)
		pr_err("rdma_bench: %s: no RoCEv2 or IPv4 address, or no memory: %d\n", name, err);
	return err;
}

/* Cuts words into pieces, and keeps some of them. */
static int open_subject(struct bench_subject *s, char *words)
{
	int err;

	s->driver = strsep(&words, "/");
	s->post = kmalloc(sizeof(*s->post), GFP_KERNEL);
	if (!s->post)
		return -ENOMEM;
	err = open_end(&s->a, strsep(&words, "/"));
	return err ?: open_end(&s->b, strsep(&words, "/"));
}

static void close_subject(struct bench_subject *s)
{
	bench_end_close(&s->b);
	bench_end_close(&s->a);
	kfree(s->post);
}

static int __init bench_init(void)
{
	static struct bench_subject s[BENCH_SUBJECTS];
	int err = num_subjects ? 0 : -EINVAL;
	u32 i;

	for (i = 0; i < num_subjects && !err; i++)
		err = open_subject(&s[i], subjects[i]);
	if (!err)
		err = run(s, num_subjects);
	for (i = 0; i < num_subjects; i++)
		close_subject(&s[i]);
	return err;
}

static void __exit bench_exit(void)
{
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("Times operations of RDMA devices of one kernel, in turns");
MODULE_LICENSE("GPL");
