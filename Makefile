# The two commands of the README are `make demo` and `make test`; each sets up .venv if needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: help setup demo test test-quick test-processors lint bench faults docs wheel-check clean

help:  ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

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

test: setup  ## Run every test
	$(BIN)/python -m pytest -n auto

test-quick: setup  ## Run the tests that are not marked slow
	$(BIN)/python -m pytest -n auto -m 'not slow'

test-processors: setup  ## Run the tests of the operators as other processors would
	$(BIN)/python tools/try_processors.py

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
	rm -rf $(VENV) demo dist docs/_build .pytest_cache .mypy_cache .ruff_cache
