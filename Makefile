# Two commands do everything on a machine with Python 3.11 and pip: `make demo` and `make test`.
# Each makes the environment it needs in .venv, once, and reuses it until pyproject.toml changes.
PYTHON ?= python3
TORCH ?= torch==2.13.0
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-slow lint bench tables clean

# Runs that are done are kept in runs/: stopped, it goes on where it was.
demo: $(VENV)/.demo
	$(BIN)/upwind compare cbas --shift covariate --methods erm,tar_n,tar --seeds 5 --jobs 2

test: lint
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 -m slow

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# The tables in the pages that follow from the code.
tables: $(VENV)/.dev
	$(BIN)/python docs/tables.py

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "upwind needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip

# torch comes first and pinned: a looser request by another package would pull another build of it.
$(VENV)/.torch: | $(VENV)/bin/python
	$(BIN)/pip install --quiet '$(TORCH)'
	@touch $@

$(VENV)/.demo: pyproject.toml $(VENV)/.torch
	$(BIN)/pip install --quiet --editable '.[bench,report]'
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.torch
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) build dist out .pytest_cache .mypy_cache .ruff_cache
