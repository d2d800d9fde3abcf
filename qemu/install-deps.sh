#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# install-deps.sh [--check] [LIST...]: installs what building and testing tern takes on a
# Debian 12 host: packages.host, or the lists of packages that are named instead.
# Does nothing, quickly, when all of it is there; runs apt-get update only when apt does
# not know a package or has no lists. With --check it only says what is missing.

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
mapfile -t wanted <<<"$packages"

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "install-deps: this needs Debian's apt; on another system install by hand:" >&2
	printf '  %s\n' "${wanted[@]}" >&2
	exit 1
fi

find_missing() {
	local -A have=()
	local name
	while read -r name; do
		have[$name]=1
	done < <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null |
		sed -n 's/^installed //p')
	missing=()
	for name in "${wanted[@]}"; do
		[[ -n ${have[$name]-} ]] || missing+=("$name")
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
	# Another apt may be at work: wait for its lock rather than fail.
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get -o DPkg::Lock::Timeout=900 "$@"
}

if ! apt-cache show "${missing[@]}" >/dev/null 2>&1; then
	echo "install-deps: fetching apt's package lists"
	apt update -q
fi
if ! apt install -y -q --no-install-recommends "${missing[@]}"; then
	# Stale lists name versions that the mirror has dropped: refresh them once.
	apt update -q
	apt install -y -q --no-install-recommends "${missing[@]}"
fi

find_missing
if ((${#missing[@]})); then
	echo "install-deps: still missing: ${missing[*]}" >&2
	exit 1
fi
echo "install-deps: done, ${#wanted[@]} packages are installed"
