# SPDX-License-Identifier: GPL-2.0
#
# Thin: each target calls the script that does the work, all of which have
# --help. Nothing of ours is compiled here; the kernel's own make does that,
# in the tree that `make tree` makes.

BUILD ?= build
override BUILD := $(abspath $(BUILD))
KERNEL ?= series
MINUTES ?= 60
STORM_KERNEL := $(if $(filter kcsan,$(KERNEL)),kcsan,debug)
export BUILD KERNEL FORCE PATCH REVISION JOBS

# Variables given to this make must not reach the kernel's.
MAKEOVERRIDES :=

series := tools/series
llclab := tools/testing/llclab

.NOTPARALLEL:
.PHONY: help deps base tree kernel guest selftests model run picture bench test test-full storms refresh series clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  BUILD=dir  where things are made, now $(BUILD)"

deps: ## install the Debian packages that are missing
	@$(series)/deps

base: deps ## unpack the kernel source of Debian's linux-source-6.12, once
	@$(series)/base

tree: deps ## make build/6.12/linux: Debian's source, our files, the hooks (FORCE=1: put edits aside)
	@$(series)/tree

kernel: deps ## build a kernel: KERNEL=series (ours), vanilla, mainline, ...
	@$(series)/kernel $(KERNEL)

selftests: deps ## build the kselftests, benchmarks and tools of the tree, for the guest
	@$(series)/kselftest

model: deps ## build the cache model for QEMU (llclab run --model)
	@$(MAKE) --no-print-directory -s -C $(llclab)/model

guest: deps selftests model ## build the guest image and the cache model: Debian programs, kselftests, llctop, perf
	@$(llclab)/guest/build-perf $(BUILD)/base/6.12/linux $(BUILD)/perf
	@$(llclab)/guest/mkimage

run: ## the main job: build all, boot, run hackbench with the knob off and on, print the table
	@$(MAKE) --no-print-directory kernel KERNEL=series
	@$(MAKE) --no-print-directory guest
	@$(llclab)/compare

picture: ## draw where two processes run, off and on: build/picture/timeline.svg and .png
	@$(MAKE) --no-print-directory kernel KERNEL=series
	@$(MAKE) --no-print-directory guest
	@$(llclab)/picture

test: deps ## run everything that checks the project; the last line says how many passed
	@tools/testing/run-tests

test-full: deps ## that, and what takes hours: machines, mutations, storms, build matrix; goes on after a break
	@tools/testing/run-tests --full --resume

bench: ## workloads on modelled caches: vanilla, series, pinned, mainline (hours; options: tools/testing/llclab/bench)
	@$(MAKE) --no-print-directory kernel KERNEL=vanilla
	@$(MAKE) --no-print-directory kernel KERNEL=mainline
	@$(MAKE) --no-print-directory kernel KERNEL=series
	@$(MAKE) --no-print-directory guest
	@$(llclab)/bench

storms: deps ## everything that may happen at once, on a debug kernel (KERNEL=debug or kcsan) for MINUTES=60; goes on after a break
	@$(MAKE) --no-print-directory kernel KERNEL=$(STORM_KERNEL)
	@$(MAKE) --no-print-directory guest
	@tools/testing/storms --kernel $(STORM_KERNEL) --minutes $(MINUTES)

refresh: ## write edits made in build/6.12/linux back to our files and hooks (PATCH=NNNN: into this hook)
	@$(series)/refresh

series: deps ## write the mails of the series to build/series and check them with git am
	@$(series)/series

clean: ## remove build/ (FORCE=1: even with edits in the tree that are not in the repository)
	@$(series)/clean
