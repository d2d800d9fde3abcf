// SPDX-License-Identifier: GPL-2.0
/*
 * Lower bounds to compare operations with: a copy of the bytes, and one UDP
 * datagram over the same interfaces, from a kernel socket to a socket's
 * encap_rcv. The UDP case also shows what it costs to cross namespaces, if one
 * subject has its ends in two of them.
 */
#include <linux/jiffies.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <net/sock.h>
#include <net/udp_tunnel.h>

#include "bench.h"

#define UDP_PORT	9999

int bench_copy_sample(struct bench_subject *s, const struct bench_case *c, u64 *cycles)
{
	u64 began = bench_clock();

	memcpy(s->b.buf, s->a.buf, c->bytes);
	barrier_data(s->b.buf);
	*cycles = bench_clock() - began;
	return 0;
}

/* ---- UDP ---- */

static int take(struct sock *sk, struct sk_buff *skb)
{
	u64 *arrived = rcu_dereference_sk_user_data(sk);

	++*arrived;
	consume_skb(skb);
	return 0;
}

static int udp_open(const struct bench_end *e, u64 *arrived, struct socket **sock)
{
	struct udp_port_cfg port = {
		.family = AF_INET,
		.local_ip.s_addr = e->ip,
		.local_udp_port = htons(UDP_PORT),
		.bind_ifindex = e->ndev->ifindex,	/* not by lo, in one namespace */
	};
	struct udp_tunnel_sock_cfg tunnel = {
		.sk_user_data = arrived,
		.encap_type = 1,
		.encap_rcv = take,
	};
	int err = udp_sock_create(dev_net(e->ndev), &port, sock);

	if (!err)
		setup_udp_tunnel_sock(dev_net(e->ndev), *sock, &tunnel);
	return err;
}

int bench_udp_begin(struct bench_subject *s, const struct bench_case *c)
{
	u64 cycles;

	return udp_open(&s->a, &s->arrived, &s->from) ?: udp_open(&s->b, &s->arrived, &s->to) ?:
	       bench_udp_sample(s, c, &cycles);
}

void bench_udp_end(struct bench_subject *s)
{
	if (s->to)
		udp_tunnel_sock_release(s->to);
	if (s->from)
		udp_tunnel_sock_release(s->from);
	s->to = NULL;
	s->from = NULL;
}

int bench_udp_sample(struct bench_subject *s, const struct bench_case *c, u64 *cycles)
{
	unsigned long limit = jiffies + BENCH_LIMIT_S * HZ;
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(UDP_PORT),
		.sin_addr.s_addr = s->b.ip,
	};
	struct kvec vec = { s->a.buf, c->bytes };
	struct msghdr msg = { .msg_name = &to, .msg_namelen = sizeof(to) };
	u64 before = s->arrived, began = bench_clock();
	int ret;

	local_bh_disable();
	ret = kernel_sendmsg(s->from, &msg, &vec, 1, c->bytes);
	local_bh_enable();
	if (ret < 0)
		return ret;
	while (READ_ONCE(s->arrived) == before) {
		if (time_after(jiffies, limit))
			return -ETIMEDOUT;
		yield();
	}
	*cycles = bench_clock() - began;
	return 0;
}
