// SPDX-License-Identifier: GPL-2.0
/*
 * TCP, to compare iWARP with: kernel sockets copy the same bytes from one buffer
 * to TCP and from TCP to the other. Nothing sleeps or is woken, and there are no
 * system calls: TCP is not faster than this.
 */
#include <linux/err.h>
#include <linux/in.h>
#include <linux/jiffies.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "bench.h"

struct conn {
	struct socket *a;
	struct socket *b;
	u32 sent;
	u32 received;
};

struct conns {
	struct socket *listener;
	u32 num;
	struct conn conn[];
};

static int make_bound(const struct bench_end *e, struct socket **made)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = e->ip };
	int err = sock_create_kern(dev_net(e->ndev), PF_INET, SOCK_STREAM, IPPROTO_TCP, made);

	return err ?: kernel_bind(*made, (struct sockaddr *)&at, sizeof(at));
}

static int connect_one(struct bench_subject *s, struct conns *conns)
{
	struct conn *conn = &conns->conn[conns->num++];
	struct sockaddr_in to;
	int err = kernel_getsockname(conns->listener, (struct sockaddr *)&to);

	if (err < 0)
		return err;
	err = make_bound(&s->a, &conn->a);
	err = err ?: kernel_connect(conn->a, (struct sockaddr *)&to, sizeof(to), 0);
	return err ?: kernel_accept(conns->listener, &conn->b, 0);
}

static void release(struct socket *sock)
{
	if (sock)
		sock_release(sock);
}

void bench_tcp_end(struct bench_subject *s)
{
	struct conns *conns = s->streams;
	u32 i;

	if (!conns)
		return;
	for (i = 0; i < conns->num; i++) {
		release(conns->conn[i].a);
		release(conns->conn[i].b);
	}
	release(conns->listener);
	kvfree(conns);
	s->streams = NULL;
}

/* Send as much of an operation as TCP takes. Bytes, which may be 0, or an error. */
static int send_some(struct bench_subject *s, const struct bench_case *c, u32 q, struct conn *conn)
{
	u32 place = bench_stream_place(c, q, conn->sent / c->bytes) + conn->sent % c->bytes;
	struct kvec vec = { s->a.buf + place, c->bytes - conn->sent % c->bytes };
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT };
	int ret;

	if (conn->sent == c->bytes * c->list)
		return 0;
	ret = kernel_sendmsg(conn->a, &msg, &vec, 1, vec.iov_len);
	if (ret > 0)
		conn->sent += ret;
	return ret == -EAGAIN ? 0 : ret;
}

static int receive_some(struct bench_subject *s, const struct bench_case *c, u32 q,
			struct conn *conn)
{
	u32 place = bench_stream_place(c, q, conn->received / c->bytes) +
		    conn->received % c->bytes;
	struct kvec vec = { s->b.buf + place, c->bytes - conn->received % c->bytes };
	struct msghdr msg = {};
	int ret;

	if (conn->received == c->bytes * c->list)
		return 0;
	ret = kernel_recvmsg(conn->b, &msg, &vec, 1, vec.iov_len, MSG_DONTWAIT);
	if (ret > 0)
		conn->received += ret;
	return ret == -EAGAIN ? 0 : ret ?: -ECONNRESET;
}

int bench_tcp_sample(struct bench_subject *s, const struct bench_case *c, u64 *cycles)
{
	unsigned long limit = jiffies + BENCH_LIMIT_S * HZ;
	u64 left = (u64)c->bytes * c->list * c->qps;
	struct conns *conns = s->streams;
	u64 began = bench_clock();
	int out, in;
	u32 q;

	for (q = 0; q < c->qps; q++)
		conns->conn[q].sent = conns->conn[q].received = 0;
	while (left) {
		bool any = false;

		for (q = 0; q < c->qps; q++) {
			out = send_some(s, c, q, &conns->conn[q]);
			in = receive_some(s, c, q, &conns->conn[q]);
			if (out < 0 || in < 0)
				return min(out, in);
			left -= in;
			any |= out || in;
		}
		if (any)
			continue;
		if (time_after(jiffies, limit))
			return -ETIMEDOUT;
		bench_run_softirqs();
		yield();
	}
	*cycles = bench_clock() - began;
	return 0;
}

int bench_tcp_begin(struct bench_subject *s, const struct bench_case *c)
{
	struct conns *conns = kvzalloc(struct_size(conns, conn, c->qps), GFP_KERNEL);
	int err;

	if (!conns)
		return -ENOMEM;
	s->streams = conns;
	err = make_bound(&s->b, &conns->listener) ?: kernel_listen(conns->listener, 1);
	while (!err && conns->num < c->qps)
		err = connect_one(s, conns);
	return err ?: bench_verify(s, c, false);
}
