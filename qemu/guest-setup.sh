#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs inside a guest: loads tern from /tern, installs its provider, and gives eth0 an RDMA
# link. The host has pushed tern.ko and libtern-rdmavNN.so to /tern before (`rig shell` and
# the tests do). Safe to run again; every wait has an end.
#
# usage: guest-setup.sh [LINK [TYPE [NETDEV]]]    default: tern0 tern_roce eth0

set -eu
link=${1:-tern0}
type=${2:-tern_roce}
netdev=${3:-eth0}
home=${TERN_HOME:-/tern}

die() {
	echo "guest-setup: $*" >&2
	exit 1
}

load_module() {
	[ -e "$home/tern.ko" ] || die "no $home/tern.ko: push it first"
	modprobe -a ib_core ib_uverbs rdma_ucm udp_tunnel ip6_udp_tunnel ||
		die "cannot load the kernel's own RDMA modules"
	# The other modules that this build needs are listed in the module.
	for need in $(modinfo -F depends "$home/tern.ko" | tr , ' '); do
		modprobe "$need" || die "cannot load $need, which tern.ko depends on"
	done
	[ -d /sys/module/tern ] || insmod "$home/tern.ko" || {
		dmesg | tail -n 5 >&2
		die "insmod tern.ko failed"
	}
}

install_provider() {
	set -- "$home"/libtern-rdmav*.so
	[ -e "$1" ] || {
		echo "guest-setup: no provider in $home: kernel only" >&2
		return 0
	}
	dir=/usr/lib/$(uname -m)-linux-gnu/libibverbs
	mkdir -p "$dir" /etc/libibverbs.d
	cp "$@" "$dir/"
	echo "driver tern" >/etc/libibverbs.d/tern.driver
}

add_link() {
	rdma link show "$link/1" >/dev/null 2>&1 && return 0
	rdma link add "$link" type "$type" netdev "$netdev" ||
		die "rdma link add $link type $type netdev $netdev failed"
}

# GIDs appear a moment after their addresses, RoCEv1's first. Those of the IPv4 address are the ones
# that people use. An interface without IPv4 has only its link-local GIDs.
wait_gid() {
	address=$(ip -4 -o addr show dev "$netdev" | sed -n 's/.* inet \([0-9.]*\).*/\1/p' | head -n 1)
	want=fe80:
	if [ -n "$address" ]; then
		old=$IFS
		IFS=.
		# shellcheck disable=SC2086 # splits into four numbers
		want=$(printf 'ffff:%02x%02x:%02x%02x$' $address)
		IFS=$old
	fi
	tries=0
	until [ "$(cat "/sys/class/infiniband/$link/ports/1/gids/"* 2>/dev/null | grep -c "$want")" -ge 2 ]; do
		tries=$((tries + 1))
		[ $tries -le 100 ] || die "$link got no GID for ${address:-$netdev} within 10 s"
		sleep 0.1
	done
}

load_module
install_provider
add_link
# iWARP has one GID, made of the MAC address, at once.
[ "$type" = tern_iwarp ] || wait_gid
echo "guest-setup: $link ($type) on $netdev is ready"
