# The two commands of the README are `make demo` and `make test`; each sets up .venv if needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
LOWEST := .venv-lowest

.PHONY: help setup demo test test-quick test-coverage test-processors kernels test-lowest lint bench faults docs wheel-check clean

help:  ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(INSTALLED)  ## Create .venv with the package, its extras and the development tools

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sclcs needs Python 3.11 or newer; set PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all]' --group dev --group docs
	touch $@

demo: setup  ## Run the whole flow on a simulated cohort; results in demo/
	rm -rf demo
	$(BIN)/sclcs demo --out demo

# A file of tests stays on one process, so that what its tests share is made once; the longest files begin
# (tests/conftest.py).
PARALLEL := -n auto --dist loadfile --no-loadscope-reorder

test: kernels  ## Run every test
	$(BIN)/python -m pytest $(PARALLEL)

test-quick: setup  ## Run the tests that are not marked slow
	$(BIN)/python -m pytest $(PARALLEL) -m 'not slow'

test-coverage: kernels  ## Run every test and measure coverage, which may not fall below the floor in pyproject.toml
	$(BIN)/python -m pytest $(PARALLEL) --cov --cov-report= --durations=20 --durations-min=5

kernels: setup  ## Compile the operators once for all processes
	$(BIN)/python tools/compile_kernels.py

test-processors: kernels  ## Run the tests of the operators as other processors would
	$(BIN)/python tools/try_processors.py

# Warnings of old versions about their own future are no fault of ours. Two files need oracles that ask for newer versions.
test-lowest:  ## Run the demo and quick tests with the lowest versions that pyproject.toml allows, in .venv-lowest
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(PYTHON) tools/lowest_versions.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(LOWEST)/bin/python -m pip install --quiet --constraint $(LOWEST)/lowest.txt '.[nifti,dask,mne]' pytest pytest-timeout pytest-xdist hypothesis
	rm -rf $(LOWEST)/demo
	$(LOWEST)/bin/sclcs demo --out $(LOWEST)/demo
	$(LOWEST)/bin/python -m pytest $(PARALLEL) -W default::DeprecationWarning -m 'not slow' tests/core tests/store tests/cohort tests/stats \
	  --ignore tests/stats/test_harmonise.py --ignore tests/stats/test_share.py

lint: setup  ## Style, types and import layers
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup  ## Measure speed and memory (never asserted in tests)
	$(BIN)/python benchmarks/run.py

faults: setup  ## Try to break it: kills, damage, mutated inputs, hostile surroundings (up to an hour)
	$(BIN)/python tools/faults/run.py --seeds 1 2 3 --out results/faults

docs: setup  ## Build the documentation into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

wheel-check: setup  ## Build wheel and sdist, and try the wheel in a new environment without extras
	tools/check_wheel.sh

clean:  ## Remove what the targets made
	rm -rf $(VENV) $(LOWEST) demo dist docs/_build .pytest_cache .mypy_cache .ruff_cache
