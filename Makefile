# Armillary.  `make demo` shows it, `make test` checks it; both make their own virtual environment first.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
SHELL := /bin/sh
MAKEFLAGS += --no-print-directory
# The tests start some hundred interpreters. Where this variable is set, each of them compiles NumPy, SciPy and
# Armillary from their sources again; __pycache__ is in .gitignore and `make clean` removes it.
unexport PYTHONDONTWRITEBYTECODE

VENV ?= .venv
PEERS ?= .venv-peers
RELEASE ?= .venv-release
WORKERS ?= 2
BIN := $(VENV)/bin

# The first of these that runs and is Python 3.11, 3.12 or 3.13; `make PYTHON=... test` names another.
PYTHON ?=
CANDIDATES := $(or $(PYTHON),python3 python3.13 python3.12 python3.11)
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))

# $(python_found): the shell variable python, or an error.
define python_found
for python in $(CANDIDATES); do \
    "$$python" -c '$(SUPPORTED)' >/dev/null 2>&1 && break; python=; \
done; \
if [ -z "$$python" ]; then \
    echo "Armillary needs Python 3.11, 3.12 or 3.13; tried: $(CANDIDATES)." >&2; \
    echo "Install one of them, or name it: make PYTHON=/path/to/python3.12 ..." >&2; exit 1; \
fi
endef

# $(call environment,folder,extras): a virtual environment with Armillary and its extras.  A folder that is
# broken, half made or of an unsupported Python is made anew.  The output of pip is shown only when it fails.
# Python compiles modules when they are imported; pip would compile everything, for twice the time.  Python
# makes its own pip for an environment in five seconds; where it has one already, that one installs another.
# uv, which pip fetches, finds and unpacks the packages in a fifth of pip's time, on all processors; where pip is
# set to an index of its own, or uv fails, pip does it.
define environment
$(python_found); \
if ! "$(1)/bin/python" -c '$(SUPPORTED)' >/dev/null 2>&1; then \
    "$$python" -m pip --python "$$(command -v "$$python")" --version >/dev/null 2>&1 && bare=--without-pip || bare=; \
    "$$python" -m venv --clear $$bare "$(1)" || exit 1; \
fi; \
echo "Installing armillary[$(2)] into $(1) (once)"; \
own="$(1)/bin/python -m pip"; $$own --version >/dev/null 2>&1 || own="$$python -m pip --python $(1)/bin/python"; \
pip="$$own install --no-compile --no-input --disable-pip-version-check"; log="$(1)/install.log"; \
{ ! $$own config list | grep -Eq '[.](index-url|no-index|constraint)=' && $$pip --only-binary uv uv \
    && "$(1)/bin/uv" pip install --python "$(1)/bin/python" pip -e '.[$(2)]'; } >"$$log" 2>&1 </dev/null \
    || $$pip pip -e '.[$(2)]' >"$$log" 2>&1 </dev/null || { cat "$$log" >&2; exit 1; }
endef

help:
	@echo "make demo    a short tour: derive, compile, simulate, plot"
	@echo "make test    ruff, mypy and the tests"
	@echo "make bench   speed and operation counts next to the peers; writes benchmarks/results.json"
	@echo "make mutants faults drawn by seed, planted in a copy one by one: do the tests notice them? (an hour)"
	@echo "make docs    the documentation site, in docs/_build/html"
	@echo "make release sdist and wheel in dist/, checked, and the demonstration from the wheel alone"
	@echo "make clean   remove what make made, the virtual environments too"

# One folder in two stages: the demonstration needs matplotlib alone, a fraction of what the tests need.
$(VENV)/ready-plot: pyproject.toml
	@$(call environment,$(VENV),plot)
	@touch $@

$(VENV)/ready: pyproject.toml
	@$(call environment,$(VENV),test)
	@touch $(VENV)/ready-plot $@

# The peers have an environment of their own: their pins must not decide which NumPy the tests see.
$(PEERS)/ready: pyproject.toml
	@$(call environment,$(PEERS),peers)
	@touch $@

demo: $(VENV)/ready-plot
	@$(BIN)/python examples/demo.py

# mypy takes one processor for three quarters of a minute, so it works beside the tests, where these wait for
# browsers, clusters and each other (a processor with a queue gives it a tenth), and reports after them.  To keep
# what it found for the next time takes a tenth more; it does where `mypy src` did once.  Each worker
# begins with a half of the tests, neighbours together, since they share imports, models and FMUs.  Assertions
# that show their values take 5 s to compile: tests that failed run again with them.
test: $(VENV)/ready
	@echo "ruff"; $(BIN)/ruff check --quiet . && $(BIN)/ruff format --check --quiet .
	@echo "mypy and pytest"; \
	[ -d .mypy_cache ] && kept=.mypy_cache || kept=/dev/null; \
	nice -n 10 $(BIN)/mypy --cache-dir $$kept src >$(VENV)/mypy.log 2>&1 & types=$$!; \
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q --assert=plain; tests=$$?; \
	[ $$tests -ne 1 ] || $(BIN)/python -m pytest -q --last-failed --last-failed-no-failures none; \
	wait $$types; typed=$$?; cat $(VENV)/mypy.log; [ $$tests -eq 0 ] && [ $$typed -eq 0 ]

# A peer that cannot be installed is reported by the run itself as not available, so it does not stop here.
bench: $(VENV)/ready
	@if [ -z "$$ARMILLARY_PEERS_PYTHON" ]; then \
	    $(MAKE) $(PEERS)/ready || echo "The peers could not be installed; Armillary is measured without them."; \
	    if [ -x $(PEERS)/bin/python ]; then export ARMILLARY_PEERS_PYTHON="$(abspath $(PEERS))/bin/python"; fi; \
	fi; \
	$(BIN)/python benchmarks/run.py $(BENCH)

# SEED=7 repeats a draw; COUNT is the number of faults.
mutants: $(VENV)/ready
	@$(BIN)/python -m tests.mutants --jobs $(WORKERS) $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT)) $(MUTANTS)

docs: $(VENV)/ready
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html; the same pages are Markdown in docs/, from docs/index.md on."

# The tools of a release have an environment of their own, without Armillary; they are installed here only.
release:
	@rm -rf dist; $(python_found); \
	[ -x $(RELEASE)/bin/twine ] || { "$$python" -m venv --clear $(RELEASE) && \
	    $(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check build twine; }
	@$(RELEASE)/bin/python -m build --outdir dist . >$(RELEASE)/build.log 2>&1 || { cat $(RELEASE)/build.log >&2; exit 1; }
	@$(RELEASE)/bin/python -m twine check --strict dist/*
	@$(RELEASE)/bin/python tools/check_release.py dist

clean:
	rm -rf $(VENV) $(PEERS) $(RELEASE) build dist out benchmarks/build docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

.PHONY: help demo test bench mutants docs release clean
