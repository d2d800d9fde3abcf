# SPDX-License-Identifier: GPL-2.0
# How simulators are built: each of PROGRAMS natively, and as PROGRAM-san under ASan and UBSan.
# A Makefile sets O, PROGRAMS and INC, includes this, and says which objects of O/native and
# O/san are a program's.

TOP	:= $(abspath $(CURDIR)/../..)
PROTO	:= $(TOP)/kernel/proto
CC	:= gcc
CXX	:= g++
FLAGS	:= -Wall -Wextra -Wno-unused-parameter -MMD -MP
OPT	:= -O2
SAN	:= -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all

# RoCE's engines
ENGINES	:= opcode.o run.o $(patsubst $(PROTO)/%.c,%.o,$(wildcard $(PROTO)/rc_*.c $(PROTO)/cc*.c))

$(O)/san/%.o $(O)/%-san: OPT := $(SAN)

define compile-c
	@echo "  CC  $(<F)"
	@mkdir -p $(@D)
	@$(CC) -std=gnu11 $(OPT) $(FLAGS) -c -o $@ $<
endef

define compile-cxx
	@echo "  CXX $(<F)"
	@mkdir -p $(@D)
	@$(CXX) -std=c++20 $(OPT) $(FLAGS) -I$(PROTO) $(INC) -c -o $@ $<
endef

$(O)/native/%.o: $(PROTO)/%.c
	$(compile-c)

$(O)/san/%.o: $(PROTO)/%.c
	$(compile-c)

$(O)/native/%.o: %.cc
	$(compile-cxx)

$(O)/san/%.o: %.cc
	$(compile-cxx)

$(foreach p,$(PROGRAMS),$(O)/$(p) $(O)/$(p)-san):
	@echo "  LD  $(@F)"
	@$(CXX) $(OPT) -o $@ $^ $(LIBS)

clean:
	rm -rf $(O)/native $(O)/san $(foreach p,$(PROGRAMS),$(O)/$(p) $(O)/$(p)-san)

.PHONY: all check clean

-include $(wildcard $(addprefix $(O)/,native/*.d native/*/*.d san/*.d san/*/*.d))
