# SPDX-License-Identifier: MIT
# The one build description. `make`, `make check`, `make install`; `make help` lists the rest.
#
# Yours to set: CC CFLAGS LDFLAGS PKG_CONFIG DESTDIR PREFIX BUILD
#   SAN=address,undefined or SAN=thread   a sanitizer build, in its own build folder
#   WERROR=1                              warnings are errors
#   V=1                                   show the commands

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VERSION := 0.1.0

empty :=
space := $(empty) $(empty)
comma := ,

CFLAGS     ?= -O2 -g
PKG_CONFIG ?= pkg-config
PREFIX     ?= /usr/local
SAN        ?=
BUILD      ?= $(if $(SAN),build-$(subst $(comma),-,$(SAN)),build)
PYTHON     ?= /usr/bin/python3
CLANG_FORMAT ?= clang-format
CLANG_TIDY ?= clang-tidy
CPPCHECK   ?= cppcheck
FUZZ_CC    ?= clang
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?=
UNIT_SECONDS ?= 120
INSTALL    ?= install

BINDIR  = $(PREFIX)/bin
MANDIR  = $(PREFIX)/share/man
DOCDIR  = $(PREFIX)/share/doc/netdyno
BASHDIR = $(PREFIX)/share/bash-completion/completions
ZSHDIR  = $(PREFIX)/share/zsh/site-functions

# Names under which the program answers as another tool: `make install` links each to netdyno.
PERSONA_LINKS ?= ntttcp netperf netserver sockperf

# ---- what there is to build: a new file needs no line here

SRC       := $(wildcard src/*.c src/*/*.c)
HDR       := $(wildcard src/*/*.h)
UNIT_SRC  := $(wildcard tests/unit/*.c)
FUZZ_SRC  := $(wildcard tests/fuzz/*.c)
COST_SRC  := $(wildcard tests/cost/*.c)
OBJ       := $(SRC:%.c=$(BUILD)/%.o)
PARTS     := $(filter-out $(BUILD)/src/main.o,$(OBJ))
UNIT_BIN  := $(UNIT_SRC:%.c=$(BUILD)/%)
FUZZ_PARTS := $(patsubst %.c,$(BUILD)/fuzz/obj/%.o,$(filter-out src/main.c,$(SRC)))
FUZZ_BIN  := $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/fuzz/%)
FORMATTED := $(SRC) $(HDR) $(wildcard tests/*/*.[ch])

# ---- what was found out about this machine, once, by scripts/probe.sh

NO_BUILD := clean help uninstall compile_commands.json
BUILDS   := $(if $(MAKECMDGOALS),$(filter-out $(NO_BUILD),$(MAKECMDGOALS)),all)

ifneq ($(BUILDS),)
include $(BUILD)/config.mk

# A stamp holds the settings of the last build; other settings make its users out of date.
$(shell mkdir -p $(BUILD))
stamp = $(if $(subst $(strip $(2)),,$(strip $(file <$(1))))$(subst $(strip $(file <$(1))),,$(strip $(2))),$(file >$(1),$(2)))
$(call stamp,$(BUILD)/probed-with,$(CC) / $(PKG_CONFIG) / $(VERSION))
$(call stamp,$(BUILD)/compiled-with,$(CC) / $(CFLAGS) / $(CPPFLAGS) / $(SAN) / $(WERROR))
$(call stamp,$(BUILD)/linked-with,$(LDFLAGS) / $(LIBS) / $(sort $(OBJ)))
endif

$(BUILD)/config.mk: scripts/probe.sh $(BUILD)/probed-with
	@scripts/probe.sh "$(CC)" "$(PKG_CONFIG)" $(VERSION) $(BUILD)

$(BUILD)/config.h: $(BUILD)/config.mk ;
$(BUILD)/probed-with $(BUILD)/compiled-with $(BUILD)/linked-with: ;

# ---- how

Q       := $(if $(V),,@)
say      = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2);)
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
INCLUDE := -Isrc -include $(BUILD)/config.h
STD     := -std=gnu11 -pthread -D_GNU_SOURCE
COMPILE  = $(CC) $(STD) $(INCLUDE) $(WARN) $(if $(WERROR),-Werror) $(HARD) $(LIB_CFLAGS) \
           $(SANFLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP
LINK     = $(CC) -pthread $(SANFLAGS) $(CFLAGS) $(LINK_FLAGS) $(LDFLAGS)

.PHONY: all check check-unit check-netns check-cost install uninstall clean lint format tidy cppcheck layers \
        globals sizes fuzz fuzz-build docs docs-check bench soak help compile_commands.json

all: $(BUILD)/netdyno

$(BUILD)/netdyno: $(OBJ) $(BUILD)/linked-with
	$(call say,LINK,$@)$(LINK) -o $@ $(OBJ) $(LIBS)

$(BUILD)/src/%.o: src/%.c $(BUILD)/config.h $(BUILD)/compiled-with
	@mkdir -p $(@D)
	$(call say,CC,$<)$(COMPILE) -c -o $@ $<

# ---- tests

# cmocka.h wants these before it; sorted includes would put them behind.
CMOCKA_FIRST := -include stdarg.h -include stddef.h -include stdint.h -include setjmp.h

$(BUILD)/tests/unit/%: tests/unit/%.c $(PARTS) $(BUILD)/config.h $(BUILD)/compiled-with $(BUILD)/linked-with
	@mkdir -p $(@D)
	$(call say,UNIT,$@)$(COMPILE) $(CMOCKA_FIRST) $(CMOCKA_CFLAGS) -MF $@.d $(LDFLAGS) -o $@ $< $(PARTS) $(LIBS) $(CMOCKA_LIBS)

check: check-unit check-netns

# What fails is run once more by itself, for a machine that other work has stalled; what passes only then is named.
ifeq ($(HAVE_CMOCKA),yes)
check-unit: $(UNIT_BIN)
	@failed=; for t in $(UNIT_BIN); do \
		timeout $(UNIT_SECONDS) $$t; r=$$?; \
		case $$r in \
		0) echo "ok    $${t##*/}" ;; \
		77) echo "skip  $${t##*/}" ;; \
		*) echo "FAIL  $${t##*/} (exit $$r)"; failed="$$failed $${t##*/}" ;; \
		esac; \
	done; \
	lost=; for t in $$failed; do \
		if timeout $(UNIT_SECONDS) $(BUILD)/tests/unit/$$t; then echo "passed when run again: $$t"; \
		else lost="$$lost $$t"; fi; \
	done; \
	if [ -n "$$lost" ]; then echo "check-unit: failed:$$lost"; exit 1; fi
else
check-unit:
	@echo "check-unit: skipped: cmocka was not found (Debian: libcmocka-dev); then run: make clean check-unit"
endif

check-netns: $(BUILD)/netdyno
	@if ! $(PYTHON) -c 'import pytest' 2>/dev/null; then \
		echo "check-netns: skipped: $(PYTHON) has no pytest (Debian: python3-pytest)"; exit 0; fi; \
	set -- $(wildcard tests/netns tests/interop); \
	if [ $$# -eq 0 ]; then echo "check-netns: skipped: there is no test"; exit 0; fi; \
	NETDYNO=$(abspath $(BUILD)/netdyno) PYTHONDONTWRITEBYTECODE=1 \
		$(PYTHON) -m pytest "$$@" -q -p no:cacheprovider $(PYTEST_ARGS); r=$$?; \
	if [ $$r -eq 5 ]; then echo "check-netns: skipped: there is no test"; exit 0; fi; exit $$r

# ---- instructions per operation: the calls that the stubs of tests/cost stand for

COST_CALLS := clock_gettime epoll_ctl epoll_wait getsockopt poll ppoll recv recvmmsg recvmsg send sendfile \
              sendmmsg sendmsg setsockopt splice syscall tee vmsplice \
              io_uring_register_buf_ring io_uring_unregister_buf_ring io_uring_submit \
              io_uring_submit_and_get_events io_uring_submit_and_wait io_uring_submit_and_wait_timeout

COST_PARTS := $(filter $(foreach d,base plan load frame engine net stat,$(BUILD)/src/$(d)/%),$(PARTS))

$(BUILD)/tests/cost/cost: $(COST_SRC) $(wildcard tests/cost/*.h) $(COST_PARTS) $(BUILD)/linked-with
	@mkdir -p $(@D)
	$(call say,COST,$@)$(filter-out -MMD -MP,$(COMPILE)) $(LDFLAGS) $(COST_CALLS:%=-Wl,--wrap=%) \
		-o $@ $(COST_SRC) $(COST_PARTS) $(LIBS)

check-cost: $(BUILD)/tests/cost/cost
	@$(PYTHON) tests/cost/run $<; r=$$?; if [ $$r -eq 77 ]; then exit 0; fi; exit $$r

bench: $(BUILD)/netdyno
	@if [ -x bench/run ]; then NETDYNO=$(abspath $(BUILD)/netdyno) bench/run; \
	else echo "bench: skipped: bench/run is not there"; fi

soak: $(BUILD)/netdyno
	@if [ -x tests/soak/run ]; then NETDYNO=$(abspath $(BUILD)/netdyno) tests/soak/run; \
	else echo "soak: skipped: tests/soak/run is not there"; fi

# ---- fuzzing: own objects, built by clang; the committed corpus is copied, never written

FUZZ_FLAGS := -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all
FUZZ_RUN   := $(if $(FUZZ_TARGETS),$(FUZZ_TARGETS:%=$(BUILD)/fuzz/%),$(FUZZ_BIN))

$(BUILD)/fuzz/obj/%.o: %.c $(BUILD)/config.h
	@mkdir -p $(@D)
	$(call say,FUZZCC,$<)$(FUZZ_CC) $(STD) $(INCLUDE) $(LIB_CFLAGS) $(FUZZ_FLAGS) \
		-fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<

$(FUZZ_BIN): $(BUILD)/fuzz/%: $(BUILD)/fuzz/obj/tests/fuzz/%.o $(FUZZ_PARTS)
	$(call say,FUZZLD,$@)$(FUZZ_CC) -pthread $(FUZZ_FLAGS) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LIBS)

fuzz-build: $(FUZZ_RUN)

fuzz: fuzz-build
	@failed=; for t in $(FUZZ_RUN); do \
		n=$${t##*/}; d=$(BUILD)/fuzz/run/$$n; seed=tests/fuzz/corpus/$$n; dict=tests/fuzz/$$n.dict; \
		mkdir -p $$d/corpus $$d/crashes || exit 1; \
		if [ -d $$seed ]; then cp -r $$seed/. $$d/corpus/; fi; \
		set -- -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 \
			-print_final_stats=1 -artifact_prefix=$$d/crashes/; \
		if [ -f $$dict ]; then set -- "$$@" -dict=$$dict; fi; \
		if $$t "$$@" $$d/corpus >$$d/log 2>&1; then \
			echo "ok    fuzz $$n ($$(sed -n 's/^stat::number_of_executed_units: *//p' $$d/log) runs)"; \
		else \
			echo "FAIL  fuzz $$n: $$d/log"; tail -n 30 $$d/log; ls $$d/crashes; failed="$$failed $$n"; \
		fi; \
	done; \
	if [ -n "$$failed" ]; then echo "fuzz: failed:$$failed"; exit 1; fi

# ---- lint

lint: format tidy cppcheck layers globals sizes docs-check

format:
	$(Q)$(CLANG_FORMAT) --dry-run -Werror $(FORMATTED)

# one file a process: version 14 reports every va_list of a second file as uninitialised
tidy: compile_commands.json $(BUILD)/config.h
	$(Q)printf '%s\n' $(SRC) | xargs -P2 -n1 $(CLANG_TIDY) --quiet -p .

cppcheck: $(BUILD)/config.h
	$(Q)$(CPPCHECK) --std=c11 --enable=warning,performance,portability --error-exitcode=1 --quiet \
		--inline-suppr --suppress=missingInclude --suppress=missingIncludeSystem \
		-j2 -Isrc -D__linux__ --include=$(BUILD)/config.h src

layers:
	$(Q)scripts/layers.py src

globals: $(OBJ)
	$(Q)scripts/globals.sh $(OBJ)

sizes:
	$(Q)scripts/sizes.py src

# Rewritten each time: it costs nothing and follows BUILD.
compile_commands.json:
	@{ echo '['; for f in $(SRC) $(UNIT_SRC) $(FUZZ_SRC) $(COST_SRC); do \
		echo "$$comma{ \"directory\": \"$(CURDIR)\", \"file\": \"$$f\","; \
		echo "  \"command\": \"$(CC) $(STD) $(INCLUDE) -c $$f\" }"; comma=,; \
	done; echo ']'; } >$@.tmp && mv $@.tmp $@

# ---- documents that the program writes itself

docs: $(BUILD)/netdyno
	$(Q)scripts/gen-docs $(BUILD)/netdyno

docs-check: $(BUILD)/netdyno
	$(Q)scripts/gen-docs --check $(BUILD)/netdyno

# ---- install

MAN1 := $(wildcard doc/*.1)
BASHCOMP := $(wildcard contrib/completion/netdyno.bash)
ZSHCOMP  := $(wildcard contrib/completion/_netdyno)
SERVICE  := $(wildcard contrib/netdyno.service)

install: $(BUILD)/netdyno
	$(INSTALL) -d '$(DESTDIR)$(BINDIR)'
	$(INSTALL) -m 755 $(BUILD)/netdyno '$(DESTDIR)$(BINDIR)/netdyno'
	$(foreach l,$(PERSONA_LINKS),ln -sf netdyno '$(DESTDIR)$(BINDIR)/$(l)' && ):
ifneq ($(MAN1),)
	$(INSTALL) -d '$(DESTDIR)$(MANDIR)/man1'
	$(INSTALL) -m 644 $(MAN1) '$(DESTDIR)$(MANDIR)/man1'
endif
ifneq ($(BASHCOMP),)
	$(INSTALL) -d '$(DESTDIR)$(BASHDIR)'
	$(INSTALL) -m 644 $(BASHCOMP) '$(DESTDIR)$(BASHDIR)/netdyno'
	$(foreach l,$(PERSONA_LINKS),ln -sf netdyno '$(DESTDIR)$(BASHDIR)/$(l)' && ):
endif
ifneq ($(ZSHCOMP),)
	$(INSTALL) -d '$(DESTDIR)$(ZSHDIR)'
	$(INSTALL) -m 644 $(ZSHCOMP) '$(DESTDIR)$(ZSHDIR)/_netdyno'
endif
ifneq ($(SERVICE),)
	$(INSTALL) -d '$(DESTDIR)$(DOCDIR)'
	$(INSTALL) -m 644 $(SERVICE) '$(DESTDIR)$(DOCDIR)/netdyno.service'
endif

uninstall:
	rm -f '$(DESTDIR)$(BINDIR)/netdyno'
	$(foreach l,$(PERSONA_LINKS),rm -f '$(DESTDIR)$(BINDIR)/$(l)' && ):
	$(foreach m,$(notdir $(MAN1)),rm -f '$(DESTDIR)$(MANDIR)/man1/$(m)' && ):
	rm -f '$(DESTDIR)$(BASHDIR)/netdyno' '$(DESTDIR)$(ZSHDIR)/_netdyno'
	$(foreach l,$(PERSONA_LINKS),rm -f '$(DESTDIR)$(BASHDIR)/$(l)' && ):
	rm -f '$(DESTDIR)$(DOCDIR)/netdyno.service'
	if [ -d '$(DESTDIR)$(DOCDIR)' ]; then rmdir --ignore-fail-on-non-empty '$(DESTDIR)$(DOCDIR)'; fi

clean:
	rm -rf $(BUILD)

help:
	@echo "make [all]              build $(BUILD)/netdyno"
	@echo "make check              check-unit and check-netns (root for the second, else they skip)"
	@echo "make check-cost         instructions per operation beside their limits (valgrind, else it skips)"
	@echo "make install uninstall  under DESTDIR and PREFIX ($(PREFIX))"
	@echo "make lint               format tidy cppcheck layers globals sizes docs-check"
	@echo "make fuzz               each target for FUZZ_SECONDS ($(FUZZ_SECONDS)); FUZZ_TARGETS picks some"
	@echo "make docs docs-check    write, or compare, the documents that the program generates"
	@echo "make bench soak         comparisons with other tools; long runs"
	@echo "make compile_commands.json clean"
	@echo "SAN=address,undefined SAN=thread WERROR=1 V=1 BUILD=dir CC=clang"
	@echo "scripts/test runs everything, scripts/demo shows it"

-include $(wildcard $(BUILD)/src/*.d $(BUILD)/src/*/*.d $(BUILD)/tests/unit/*.d \
	$(BUILD)/fuzz/obj/src/*/*.d $(BUILD)/fuzz/obj/tests/fuzz/*.d)
