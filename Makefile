# The two commands a newcomer needs:
#   make replay   build the node and re-execute the bundled chains
#   make test     run every test
# Both install missing system packages first and share one build profile.

SHELL := /bin/bash

# A continuous integration run keeps its build cache outside the clone: RocksDB takes minutes to build.
ifeq ($(CI),true)
export CARGO_TARGET_DIR ?= $(HOME)/.cache/rhizome/target
endif
TARGET := $(or $(CARGO_TARGET_DIR),target)

.PHONY: help setup build replay test check fmt clippy bench fuzz

help: ## list the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: ## install the system packages that the build needs
	@scripts/setup.sh

build: setup ## build the program: target/release/rhizome
	cargo build --release --locked

replay: build ## re-execute the bundled chains and print a summary
	@scripts/replay.sh $(TARGET)/release/rhizome

test: setup ## run every test
	cargo test --release --locked --workspace

check: fmt clippy ## what must hold before the tests are worth running

fmt:
	cargo fmt --all --check

clippy: setup
	cargo clippy --release --locked --workspace --all-targets -- -D warnings

# Seconds for each target of `make fuzz`.
FUZZ_SECONDS ?= 600

fuzz: ## run every fuzz target for FUZZ_SECONDS (needs a nightly toolchain, cargo-fuzz and xxd)
	fuzz/seed.sh
	cd fuzz && for target in $$(cargo +nightly fuzz list); do \
		cargo +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -rss_limit_mb=2048 || exit 1; \
	done
