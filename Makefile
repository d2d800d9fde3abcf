# SPDX-License-Identifier: GPL-2.0
# Everything that can be done with the tree; `make help` lists it. All output
# goes to build/. Each part has its own makefile or script: this one only calls.

BUILD	:= $(CURDIR)/build
VERSION	:= $(shell cat VERSION)

# The kernel to build for: the newest whose headers are installed, not the one
# that happens to run here. KVER= picks another, KDIR= any build directory.
KVER	?= $(notdir $(patsubst %/build,%,$(shell ls -d /lib/modules/*/build 2>/dev/null | sort -V | tail -n1)))
KDIR	?= /lib/modules/$(KVER)/build

# Of make fuzz, for each target.
SECONDS	?= 60
# Options of make bench or bench-native: bench/vm/run --help, bench/native/run --help list them.
BENCH	?=
DESTDIR	?=
PREFIX	?= /usr/local
MANDIR	?= $(PREFIX)/share/man

# Suites run one after the other; each builds with all processors.
.NOTPARALLEL:
JOBS	?= $(shell nproc)
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(JOBS)
endif
MAKEFLAGS += --no-print-directory

KBUILD	= $(MAKE) -C $(KDIR) M=$(BUILD)/module

all: module provider	## the module and the provider (default)

# Kbuild before 6.13 has no way to build beside the sources: it sees a tree of links.
module:			## build/module/tern.ko for KVER= or KDIR=
	@test -d "$(KDIR)" || { echo "no kernel headers at KDIR=$(KDIR): run make deps" >&2; exit 1; }
	@mkdir -p $(BUILD)/module
	@find $(BUILD)/module -type l -delete
	@cp -rs $(CURDIR)/Kbuild $(CURDIR)/kernel $(CURDIR)/uapi $(BUILD)/module
	+$(KBUILD) modules

provider:		## the libibverbs provider, in build/provider
	$(MAKE) -C provider O=$(BUILD)/provider

unit:			## GoogleTest: formats, arithmetic, rings, ABI
	$(MAKE) -C selftests/unit O=$(BUILD)/unit check
	$(MAKE) -C provider O=$(BUILD)/provider check

unit-asan:		## the same, but for the plugin's own, under ASan and UBSan
	$(MAKE) -C selftests/unit O=$(BUILD)/unit-asan SAN=1 check

unit-plugin:
	$(MAKE) -C provider O=$(BUILD)/provider check

sim:			## protocol engines over a simulated bad network
	+selftests/sim/run $(BUILD)/sim

sim-net:		## those of RoCE in networks of many hosts: tables, files and plots in build/sim-net
	+selftests/netsim/run $(BUILD)/sim-net

sim-net-quick:		## the same, each for a tenth of the time: what must always hold
	+selftests/netsim/run $(BUILD)/sim-net quick

fuzz:			## libFuzzer targets, SECONDS= each (60)
	$(MAKE) -C selftests/fuzz O=$(BUILD)/fuzz SECONDS=$(SECONDS) check

fuzz-smoke:		## the same, 10 seconds each
	$(MAKE) -C selftests/fuzz O=$(BUILD)/fuzz SECONDS=10 check

lint:			## layering, sparse, W=1, format, clang-tidy, shellcheck, ...
	selftests/lint/run $(BUILD)/lint $(KDIR)

# As a hook: git config core.hooksPath .githooks
quick:			## in seconds, before a commit: layers, owners, lengths, format of what changed, unit tests
	selftests/lint/run $(BUILD)/lint $(KDIR) quick
	$(MAKE) -C selftests/unit O=$(BUILD)/unit check

check-install: all	## what make install puts where, and that make uninstall takes it away
	selftests/install/run $(BUILD)/install $(KVER)

kernels:		## W=1 by gcc and clang of Debian 12, 13 and testing, for the default and newest kernel of each
	selftests/lint/kernels.py $(BUILD)/kernels

cross: deps		## other processors: arm64 builds, and unit tests on s390x (big-endian)
	qemu/install-deps.sh selftests/cross/packages
	selftests/cross/run $(BUILD)/cross

# Of Debian 12's kernel and userland all tests, whatever the host is; of Debian 13's the core.
vmtest: all		## module and provider in virtual machines: Debian 12's, and the core on Debian 13's
	selftests/vm/run --suite bookworm
	selftests/vm/run --suite trixie --core

vmtest-long: all	## Debian 12 alone, and the long tests: lifetimes, attacks, storage, speed
	selftests/vm/run --suite bookworm --long

KERNELS	?=
check-kernels: deps all	## those builds, and the VM tests, for five pairs of Debian release and kernel; KERNELS=--core
	selftests/vm/kernels $(KERNELS)

check-packages:		## make deb's packages in guests of Debian 12 and 13, offline; takes long
	qemu/install-deps.sh
	selftests/packages/run

check-native: deps provider	## as root: the VM tests at native speed on many CPUs, plain and with all checkers
	qemu/install-deps.sh qemu/packages.native
	selftests/vm/run --rig native --kernel native
	selftests/vm/run --rig native-debug --kernel native-debug

MINUTES	?= 15
SEED	?= 1
soak: deps provider	## as root: chaos, hostile users and peers for MINUTES each, by SEED, with all checkers
	qemu/install-deps.sh qemu/packages.native
	selftests/vm/run --rig soak --kernel native-debug --soak $(MINUTES) --seed $(SEED)

check-rig: deps		## the tests of qemu/, which has the virtual machines
	qemu/selftest.py

bench: deps all		## speed beside rxe, siw, TCP: tables and plots in build/bench; BENCH=--quick
	qemu/install-deps.sh bench/vm/packages
	bench/vm/run $(BENCH)

bench-native: deps provider	## as root: speed at native pace beside rxe, siw, TCP (User Mode Linux); BENCH='--parts perftest'
	qemu/install-deps.sh qemu/packages.native bench/packages
	bench/native/run $(BENCH)

check: deps lint unit-asan unit-plugin sim sim-net-quick fuzz-smoke check-install vmtest	## what a commit must pass

demo: deps all		## the main job, shown: two virtual machines, links, stock programs between them
	qemu/demo

shell: deps all		## two virtual machines, and a terminal in each
	qemu/rig shell

deps:			## install what all this takes (Debian packages)
	qemu/install-deps.sh

install: all		## into /lib/modules/KVER, libibverbs' plugin directory, /etc/libibverbs.d, PREFIX
	+$(KBUILD) INSTALL_MOD_PATH=$(DESTDIR) INSTALL_MOD_DIR=updates INSTALL_MOD_STRIP=1 \
		CONFIG_MODULE_SIG_ALL= DEPMOD=true modules_install
	$(if $(DESTDIR),,depmod $(KVER))
	$(MAKE) -C provider O=$(BUILD)/provider DESTDIR=$(DESTDIR) install
	$(MAKE) -C system PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) install
	install -D -m 0644 Documentation/tern.7 $(DESTDIR)$(MANDIR)/man7/tern.7

# The module has a suffix more where the kernel is configured to compress modules.
uninstall:		## the reverse
	rm -f $(addprefix $(DESTDIR)/lib/modules/$(KVER)/updates/,tern.ko tern.ko.gz tern.ko.xz tern.ko.zst)
	$(if $(DESTDIR),,depmod $(KVER))
	$(MAKE) -C provider O=$(BUILD)/provider DESTDIR=$(DESTDIR) uninstall
	$(MAKE) -C system PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) uninstall
	rm -f $(DESTDIR)$(MANDIR)/man7/tern.7

# What DKMS copies and builds: what the module is made of, and nothing else of this folder.
dkms-tree:		## build/dkms/tern-VERSION, a source tree for DKMS
	rm -rf $(BUILD)/dkms
	mkdir -p $(BUILD)/dkms/tern-$(VERSION)
	cp -r Kbuild LICENSES kernel uapi dkms/. $(BUILD)/dkms/tern-$(VERSION)

dkms-add: dkms-tree	## hand the module to DKMS, which builds it for each kernel
	dkms add $(BUILD)/dkms/tern-$(VERSION)

deb:			## Debian packages, in build/deb
	qemu/install-deps.sh debian/packages
	debian/build $(BUILD)/deb
	lintian --fail-on error,warning $(BUILD)/deb/*.changes
	@ls $(BUILD)/deb/*.deb

clean:			## remove build/ but the virtual machines' images
	@mkdir -p $(BUILD)
	find $(BUILD) -mindepth 1 -maxdepth 1 ! -name rig -exec rm -rf {} +

format:			## rewrite the C++ sources as make lint wants them
	$(MAKE) -C selftests/lint O=$(BUILD)/lint format

help:			## this list
	@echo "tern $(VERSION), for kernel $(KVER)"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 18

.PHONY: all module provider unit unit-asan unit-plugin sim sim-net sim-net-quick fuzz fuzz-smoke lint quick check-install kernels cross \
	vmtest vmtest-long check-kernels check-packages check-native soak check-rig bench bench-native check demo shell \
	deps install uninstall dkms-tree dkms-add deb clean format help
