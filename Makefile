# Every target sets up what it needs in .venv, from the hashed locks, and does so once.
# Needs Python 3.11 or newer; another one than python3 is named by `make demo PYTHON=python3.12`.

PYTHON ?= python3
ROWS ?= 200000
TRIALS ?= 66
CASES ?= 5000
FLIPS ?= 1000
KILLS ?= 300
INTERRUPTS ?= 50
SEED ?= 1
PYTEST_ARGS ?=
DATABASE ?= postgres
HOLD ?=

VENV := .venv
INTRUDER := .venv-intruder
BIN := $(VENV)/bin
# One process more than processors: now and then one waits for a disk or a server.
PYTEST = $(BIN)/python -m pytest --dist worksteal --numprocesses \
	$$($(BIN)/python -c 'import os; print(min(len(os.sched_getaffinity(0)), 4) + 1)')
LOCK_OPTIONS := --generate-hashes --universal --python-version 3.11 \
	--no-strip-extras --no-emit-index-url --no-annotate --no-header --quiet

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo stack test docs pictures faults nightly bounds golden check bench bench-full bench-intruder reproduce attacks \
	intruder lock clean

help:
	@echo "make demo        release $(ROWS) invented hospital discharges (ROWS=...), and audit them"
	@echo "make stack       a scheduled release on PostgreSQL, Prefect and Dask with TLS, all on loopback"
	@echo "                 (DATABASE=sqlite where PostgreSQL is not to be had; HOLD=1 to look at it until Ctrl-C)"
	@echo "make test        run the tests (PYTEST_ARGS=...)"
	@echo "make docs        docs/ as a site in site/, links checked, warnings as errors"
	@echo "make pictures    the pictures of README and docs/ again, from releases of generated data"
	@echo "make faults      disturb $(TRIALS) runs at drawn moments (TRIALS=..., SEED=...)"
	@echo "make nightly     every test at length: all cases, fresh random examples, the faults, $(CASES) drawn"
	@echo "                 policies and tables, $(FLIPS) flipped bits, $(KILLS) kills, $(INTERRUPTS) interrupts, canaries (CASES=..., SEED=...)"
	@echo "make bounds      tests of kernels with every access to an array checked; a part of make nightly"
	@echo "make golden      write the digests of released bytes anew, after a version was raised"
	@echo "make check       format, lint, docstrings, types, import contracts"
	@echo "make bench       benchmark, a few minutes: a million records, the main loss tables"
	@echo "make bench-full  benchmark at full size: ten million records, all loss tables"
	@echo "make reproduce   the papers' tables and figures again, beside theirs, in some minutes"
	@echo "make attacks     what an intruder who knows the algorithm gains, method by method"
	@echo "make intruder    an environment with Anonymeter, for tclose intrude --python"
	@echo "make bench-intruder  make it, and attack releases of Adult with it"
	@echo "make lock        resolve the locks anew from pyproject.toml (needs uv)"
	@echo "make clean       remove the environment, caches, and the demonstration's files"

# The kernels are compiled beside the making of the data, once for this environment.
# Prefect's database stays beside the demonstration's files instead of in the home folder.
demo: $(VENV)/.run
	@mkdir -p demo
	@[ -e $(VENV)/.warm ] || { $(BIN)/tclose warm-up && touch $(VENV)/.warm; } & \
	status=0; \
	if [ -d demo/discharges ] && [ "$$(cat demo/.rows 2>/dev/null || echo $(ROWS))" = "$(ROWS)" ]; \
	then echo "demo/discharges is there already"; \
	else \
	    rm -rf demo/discharges; \
	    echo "tclose generate --rows $(ROWS) --out demo/discharges"; \
	    $(BIN)/tclose generate --rows $(ROWS) --out demo/discharges && echo $(ROWS) > demo/.rows || status=$$?; \
	fi; \
	wait; exit $$status
	@echo "tclose flow config/demo.yaml"
	@PREFECT_HOME="$${PREFECT_HOME:-$(CURDIR)/demo/.prefect}" $(BIN)/tclose flow config/demo.yaml > demo/.table
	@echo "tclose audit demo/releases/demo"
	@$(BIN)/tclose audit --quiet demo/releases/demo
	@cat demo/.table

# The parts that deploy/ describes as containers, as plain processes that end with the command.
stack: $(VENV)/.run
	@$(BIN)/python -m deploy.stack --database $(DATABASE) $(if $(HOLD),--hold)

test: $(VENV)/.dev
	$(PYTEST) $(PYTEST_ARGS)

# NO_MKDOCS_2_WARNING: what the theme says of a later version of mkdocs is no warning about pages.
# Not --quiet: mkdocs counts the warnings that it shows.
docs: $(VENV)/.dev
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict && echo "site/index.html"

# Three minutes or so; the same pictures again unless what is released has changed.
pictures: $(VENV)/.dev
	$(BIN)/python -m benchmarks.pictures --out docs/pictures

# More of what the tests do a part of: where faults strike, and which cases, is drawn.
faults: $(VENV)/.dev
	TCLOSE_FAULTS=$(TRIALS) TCLOSE_FAULTS_SEED=$(SEED) $(PYTEST) tests/faults $(PYTEST_ARGS)

# Every test, with all of its cases; properties with fresh random examples, so not the same twice.
nightly: $(VENV)/.dev
	TCLOSE_FULL=1 TCLOSE_FAULTS=$(TRIALS) TCLOSE_FAULTS_SEED=$(SEED) \
	    TCLOSE_CASES=$(CASES) TCLOSE_FLIPS=$(FLIPS) TCLOSE_KILLS=$(KILLS) TCLOSE_INTERRUPTS=$(INTERRUPTS) \
	    TCLOSE_SEED=$(SEED) $(PYTEST) --timeout 7200 $(PYTEST_ARGS)
	$(MAKE) bounds

# A kernel that reads or writes beside an array ends with an error here; compiled for use it does not.
bounds: $(VENV)/.dev
	@folder=$$(mktemp -d); \
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$$folder $(PYTEST) --timeout 3600 tests/kernels tests/methods \
	    tests/passes/microaggregate --ignore tests/kernels/test_compiler.py \
	    --ignore tests/kernels/test_planted_code.py $(PYTEST_ARGS); \
	status=$$?; rm -rf $$folder; exit $$status

# Refused where bytes changed and no version of a method, model, pass or library did.
golden: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m support.golden

# All of them run, so that one call shows everything; ruff checks docstrings too.
check: $(VENV)/.dev
	@status=0; \
	for command in "ruff format --check --quiet ." "ruff check ." "mypy" "lint-imports"; do \
	    echo "$$command"; \
	    $(BIN)/$$command || status=1; \
	done; \
	exit $$status

# Both rewrite the sections of benchmarks/RESULTS.md that they measure, and no others.
bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.performance.run --out benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks.loss.quality --out benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks.loss.microaggregation --out benchmarks/RESULTS.md

bench-full: $(VENV)/.dev
	$(BIN)/python -m benchmarks.performance.run --full --out benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks.performance.scale --out benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks.performance.wide --out benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks.performance.fixed_costs --out benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks.performance.predictions --out benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks.loss.quality --full --out benchmarks/RESULTS.md

# The page and the figures beside it are written anew.
reproduce: $(VENV)/.dev
	$(BIN)/python -m benchmarks.reproduction --out benchmarks/REPRODUCTION.md

# Some minutes on two cores that nobody else uses; the page is written anew.
attacks: $(VENV)/.dev
	$(BIN)/python -m benchmarks.attacks --processes 2 --out benchmarks/ATTACKS.md

# Anonymeter cannot be installed beside tclose.
intruder: $(INTRUDER)/.done
	@echo "$(INTRUDER)/bin/python"

bench-intruder: $(VENV)/.dev $(INTRUDER)/.done
	$(BIN)/python -m benchmarks.attacks.intruder --python $(INTRUDER)/bin/python --out benchmarks/RESULTS.md

lock:
	uv pip compile $(LOCK_OPTIONS) --group build --group install pyproject.toml -o requirements.lock
	uv pip compile $(LOCK_OPTIONS) --group build --group install --group dev -c requirements.lock \
	    pyproject.toml -o requirements-dev.lock
	uv pip compile $(LOCK_OPTIONS) --group build --extra dp --extra kubernetes --extra s3 -c requirements-dev.lock \
	    pyproject.toml -o deploy/requirements-image.lock
	uv pip compile $(LOCK_OPTIONS) --group pyproject.toml:intruder -o deploy/requirements-intruder.lock

clean:
	rm -rf $(VENV) $(INTRUDER) demo stack site dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find benchmarks deploy flows pipeline tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment. A stamp is newer than what it was made from, or is made again.

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "tclose needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1);" \
	        "name another one, as in: make $(or $(firstword $(MAKECMDGOALS)),demo) PYTHON=python3.12"; \
	    exit 1; }
	@echo "making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.run: requirements.lock | $(BIN)/python
	@$(BIN)/python deploy/install.py $<
	@touch $@

$(VENV)/.dev: requirements-dev.lock | $(BIN)/python
	@$(BIN)/python deploy/install.py $<
	@touch $(VENV)/.run $@

$(VENV)/.run $(VENV)/.dev: pyproject.toml

$(INTRUDER)/.done: deploy/requirements-intruder.lock
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || { \
	    echo "Anonymeter needs Python 3.11 to 3.13, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1);" \
	        "name another one, as in: make intruder PYTHON=python3.12"; \
	    exit 1; }
	@echo "making $(INTRUDER) with $$($(PYTHON) --version)"
	@rm -rf $(INTRUDER) && $(PYTHON) -m venv $(INTRUDER)
	@$(INTRUDER)/bin/python -m pip --disable-pip-version-check --no-input install -qq \
	    --require-hashes --no-deps --only-binary :all: -r $<
	@touch $@
