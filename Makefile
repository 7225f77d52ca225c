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
