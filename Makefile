# Two environments in one .venv: what Braid needs to run (make demo), and the tools to work on it (make check test).
# Override on the command line: make venv PYTHON=python3.13, make test PYTEST_ARGS="-k window -x".

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check
CREATED := $(VENV)/.created
RUNTIME := $(VENV)/.runtime-installed
TOOLS := $(VENV)/.tools-installed
CLASSES := $(VENV)/.spark-classes.jsa

PYTHON ?=
PYTEST_ARGS ?=
# How many times the random cases of a test run: tests/budget.py.
FUZZ_CASES ?= 14
# Two processes, each with half of the files in order, so that what a file prepares is shared; who is done first takes
# over tests of the other. A session of Spark is started once in each.
PARALLEL ?= -n 2 --dist worksteal
FUZZ_ARGS ?=
CHAOS_ARGS ?=
BENCH_ARGS ?=

##@ Use
.PHONY: demo
demo: venv java ## Join two generated streams and watch it live
	$(BIN)/braid demo

.PHONY: venv
venv: $(RUNTIME) ## Create .venv with Braid in it

.PHONY: java
java: ## Check for Java 17 or newer; install it where apt-get can
	@scripts/ensure-java.sh

##@ Work on it
.PHONY: check
check: $(TOOLS) ## Style, types and layers: ruff, mypy, import-linter; about 1 min
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

.PHONY: format
format: $(TOOLS) ## Fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: test
test: $(TOOLS) java $(CLASSES) ## Every test: about 15 min (PYTEST_ARGS="-k name" to choose)
	$(BIN)/python -m pytest $(PARALLEL) $(PYTEST_ARGS)

.PHONY: test-fast
test-fast: $(TOOLS) ## Every test that needs no Spark: about 6 min
	$(BIN)/python -m pytest $(PARALLEL) -m "not spark" $(PYTEST_ARGS)

##@ Try to break it, measure it
.PHONY: fuzz
fuzz: $(TOOLS) java ## Fourteen times the random cases, then random queries: about 1.5 h (FUZZ_ARGS, FUZZ_CASES)
	BRAID_CASES=$(FUZZ_CASES) $(BIN)/python -m pytest -q -n 2 -m "not spark" tests/properties tests/recovery
	$(BIN)/python -m tests.fuzz $(FUZZ_ARGS)

.PHONY: chaos
chaos: $(TOOLS) java ## Crash runs at random points, resume, compare (CHAOS_ARGS)
	$(BIN)/python -m tests.chaos $(CHAOS_ARGS)

.PHONY: bench
bench: $(TOOLS) java ## Braid and other systems, the quick set: about 15 min (BENCH_ARGS)
	$(BIN)/braid bench --publish $(BENCH_ARGS)

.PHONY: bench-full
bench-full: $(TOOLS) java ## Every benchmark at full size; continues where it was interrupted (BENCH_ARGS)
	$(BIN)/braid bench --full --publish $(BENCH_ARGS)

.PHONY: bench-spine
bench-spine: $(TOOLS) java ## The equality join: Braid, Spark's own, DuckDB (BENCH_ARGS)
	$(BIN)/braid bench spine --fresh --publish --dir .bench/spine $(BENCH_ARGS)

.PHONY: bench-scale
bench-scale: $(TOOLS) java ## How the work of a step grows with the slots: about 10 min (BENCH_ARGS)
	$(BIN)/braid bench scale --publish $(BENCH_ARGS)

.PHONY: experiments
experiments: $(TOOLS) java ## The papers' claims, measured again, full size: about 80 min
	$(BIN)/braid experiments run bistream --full --publish
	$(BIN)/braid experiments run dcape --full --publish
	$(BIN)/braid experiments run in_order --full --publish
	$(BIN)/braid experiments run psp --full --publish
	$(BIN)/braid experiments run semijoin --full --publish

##@ Housekeeping
.PHONY: clean
clean: ## Remove caches, build products and files of Spark; keep .venv
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .grimp_cache
	rm -rf spark-warehouse metastore_db derby.log
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: clean-all
clean-all: clean ## The same, and .venv too
	rm -rf $(VENV)

.PHONY: help
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## "; print "Usage: make <target>" } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# The first of the candidates that runs (a version manager may leave names that do not), is 3.11 or newer and can
# make environments. 3.13 stands behind 3.11 because Braid is developed on 3.11 and 3.12.
$(CREATED):
	@chosen=""; bare=""; \
	for candidate in $(or $(PYTHON),python3.12 python3.11 python3.13 python3); do \
	  "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue; \
	  if "$$candidate" -c 'import venv, ensurepip' >/dev/null 2>&1; then chosen="$$candidate"; break; fi; \
	  bare="$${bare:-$$candidate}"; \
	done; \
	if [ -n "$$chosen" ]; then \
	  echo "Python: creating $(VENV) with $$("$$chosen" --version)"; \
	  "$$chosen" -m venv --clear $(VENV); \
	elif [ -n "$$bare" ]; then \
	  version="$$("$$bare" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"; \
	  echo "$$bare is Python $$version, but it cannot create environments: its venv module is a package of its own. Do:" >&2; \
	  echo "  sudo apt-get update && sudo apt-get install -y python$$version-venv" >&2; \
	  exit 1; \
	else \
	  echo "Braid needs Python 3.11 or newer; looked for: $(or $(PYTHON),python3.12 python3.11 python3.13 python3)." >&2; \
	  echo "  Debian 12, Ubuntu 24.04   sudo apt-get update && sudo apt-get install -y python3 python3-venv" >&2; \
	  echo "  macOS                     brew install python@3.12" >&2; \
	  echo "  elsewhere                 install it, then: make venv PYTHON=<path of that python>" >&2; \
	  exit 1; \
	fi
	@touch $@

$(RUNTIME): pyproject.toml | $(CREATED)
	@echo "Python: installing Braid and what it runs on (PySpark is about 450 MB: a minute or two the first time)"
	@$(PIP) --editable .
	@touch $@

# Mapped by the JVMs that tests start; they run without it too, only slower.
$(CLASSES): $(TOOLS) | java
	@echo "Java: archiving the classes that tests load"
	@$(BIN)/python -m tests.class_archive $@ 2>/dev/null || echo "This Java made no archive: the tests take a minute more."

$(TOOLS): $(RUNTIME)
	@echo "Python: installing the tools for tests, checks and benchmarks"
	@$(PIP) --editable '.[test,lint,bench]'
	@touch $@
