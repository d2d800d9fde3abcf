// SPDX-License-Identifier: GPL-2.0
/*
 * The invariant CRC's pseudo header: network, UDP and base transport header
 * with every field that a switch or router may change replaced by ones.
 */
#include "icrc.h"
#include "pkt.h"

enum {
	IPV4_BYTES	= 20,
	IPV6_BYTES	= 40,
	UDP_BYTES	= 8,
	MASKED_MAX_BYTES = IPV6_BYTES + UDP_BYTES + BTH_BYTES,
};

/* CRC-32 is linear, so the eight entries for single bits give all the others. */
#define BIT_ENTRY(i, bit, entry)	((i) & (bit) ? (entry) : 0u)
#define ENTRY(i)							\
	(BIT_ENTRY(i, 0x01, 0x77073096u) ^ BIT_ENTRY(i, 0x02, 0xee0e612cu) ^ \
	 BIT_ENTRY(i, 0x04, 0x076dc419u) ^ BIT_ENTRY(i, 0x08, 0x0edb8832u) ^ \
	 BIT_ENTRY(i, 0x10, 0x1db71064u) ^ BIT_ENTRY(i, 0x20, 0x3b6e20c8u) ^ \
	 BIT_ENTRY(i, 0x40, 0x76dc4190u) ^ BIT_ENTRY(i, 0x80, 0xedb88320u))
#define ENTRIES4(i)	ENTRY(i), ENTRY((i) + 1), ENTRY((i) + 2), ENTRY((i) + 3)
#define ENTRIES16(i)	ENTRIES4(i), ENTRIES4((i) + 4), ENTRIES4((i) + 8), ENTRIES4((i) + 12)
#define ENTRIES64(i)	ENTRIES16(i), ENTRIES16((i) + 16), ENTRIES16((i) + 32), ENTRIES16((i) + 48)

static const u32 crc32_entries[256] = {
	ENTRIES64(0), ENTRIES64(64), ENTRIES64(128), ENTRIES64(192),
};

u32 crc32_table(u32 crc, const u8 *p, size_t n)
{
	while (n--)
		crc = (crc >> 8) ^ crc32_entries[(crc ^ *p++) & 0xff];
	return crc;
}

/* The register after the masked LRH, eight bytes of ones. */
#define AFTER_LRH	0xdebb20e3u

/* Appenders: write one masked header at m, return where the next one goes. */
static u8 *mask_ipv4(u8 *m, const u8 *ip)
{
	memcpy(m, ip, IPV4_BYTES);
	m[1] = 0xff;		/* TOS */
	m[8] = 0xff;		/* TTL */
	m[10] = 0xff;		/* header checksum */
	m[11] = 0xff;
	return m + IPV4_BYTES;
}

/* A GRH has the layout of an IPv6 header. */
static u8 *mask_ipv6(u8 *m, const u8 *ip)
{
	memcpy(m, ip, IPV6_BYTES);
	m[0] |= 0x0f;		/* traffic class, flow label */
	m[1] = 0xff;
	m[2] = 0xff;
	m[3] = 0xff;
	m[7] = 0xff;		/* hop limit */
	return m + IPV6_BYTES;
}

static u8 *mask_udp(u8 *m, const u8 *udp)
{
	memcpy(m, udp, UDP_BYTES);
	m[6] = 0xff;		/* checksum */
	m[7] = 0xff;
	return m + UDP_BYTES;
}

static u8 *mask_bth(u8 *m, const u8 *bth)
{
	memcpy(m, bth, BTH_BYTES);
	m[4] = 0xff;		/* FECN, BECN, reserved */
	return m + BTH_BYTES;
}

u32 icrc_start_ipv4(crc_fn crc, const u8 *ip, const u8 *udp, const u8 *bth)
{
	u8 m[MASKED_MAX_BYTES];
	u8 *end = mask_bth(mask_udp(mask_ipv4(m, ip), udp), bth);

	return crc(AFTER_LRH, m, (size_t)(end - m));
}

u32 icrc_start_ipv6(crc_fn crc, const u8 *ip, const u8 *udp, const u8 *bth)
{
	u8 m[MASKED_MAX_BYTES];
	u8 *end = mask_bth(mask_udp(mask_ipv6(m, ip), udp), bth);

	return crc(AFTER_LRH, m, (size_t)(end - m));
}

u32 icrc_start_grh(crc_fn crc, const u8 *grh, const u8 *bth)
{
	u8 m[MASKED_MAX_BYTES];
	u8 *end = mask_bth(mask_ipv6(m, grh), bth);

	return crc(AFTER_LRH, m, (size_t)(end - m));
}
