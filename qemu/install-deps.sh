#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# install-deps.sh [--check] [LIST...]: installs the packages for building and testing tern on a
# Debian 12 or 13 host: those of packages.host, or of the given lists.
# It removes no package. If all are installed it ends quickly. It runs apt-get update only if
# apt does not know a package or has no lists. With --check it only prints the missing packages.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
check=
if [[ ${1-} == --check ]]; then
	check=1
	shift
fi
lists=("$@")
((${#lists[@]})) || lists=("$here/packages.host")
packages=$(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' -- "${lists[@]}")
# Each line, without spaces: a package, or alternatives as a|b|c.
mapfile -t wanted <<<"$packages"

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "install-deps: this needs Debian's apt; on another system install by hand:" >&2
	printf '  %s\n' "${wanted[@]//|/ or }" >&2
	exit 1
fi

# The first alternative that apt has; if it has none, the first.
choose() {
	local name names
	IFS='|' read -ra names <<<"$1"
	for name in "${names[@]}"; do
		if apt-cache show --no-all-versions "$name" >/dev/null 2>&1; then
			echo "$name"
			return
		fi
	done
	echo "${names[0]}"
}

find_missing() {
	local -A have=()
	local line name names
	while read -r name; do
		have[$name]=1
	done < <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' |
		sed -n 's/^installed //p')
	missing=()
	for line in "${wanted[@]}"; do
		IFS='|' read -ra names <<<"$line"
		for name in "${names[@]}"; do
			[[ -z ${have[$name]-} ]] || continue 2
		done
		missing+=("$(choose "$line")")
	done
}

find_missing
if ((${#missing[@]} == 0)); then
	echo "install-deps: all ${#wanted[@]} packages are installed"
	exit 0
fi
echo "install-deps: missing: ${missing[*]}"
[[ -z $check ]] || exit 1

as_root=()
if ((EUID != 0)); then
	if ! command -v sudo >/dev/null; then
		echo "install-deps: run this as root (there is no sudo here)" >&2
		exit 1
	fi
	as_root=(sudo)
fi
apt() {
	# Another apt may be running: wait for its lock.
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get -o DPkg::Lock::Timeout=900 "$@"
}

if ! apt-cache show "${missing[@]}" >/dev/null 2>&1; then
	echo "install-deps: fetching apt's package lists"
	apt update -q
	find_missing
fi
if ! apt install -y -q --no-remove --no-install-recommends "${missing[@]}"; then
	# Old lists may have versions that the mirror no longer has: refresh them once.
	apt update -q
	find_missing
	apt install -y -q --no-remove --no-install-recommends "${missing[@]}"
fi

find_missing
if ((${#missing[@]})); then
	echo "install-deps: still missing: ${missing[*]}" >&2
	exit 1
fi
echo "install-deps: done, ${#wanted[@]} packages are installed"
