# Every target sets itself up in .venv; nothing but Python (3.11 or newer), venv and make is needed.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed-$(shell cksum < pyproject.toml | cut -d' ' -f1)

.PHONY: demo test test-portable lint papers bench docs clean

demo: $(STAMP)  ## the main job on a data set that comes along: which kernel it needs, as a model and a page to look at
	$(BIN)/mercer learn --budget 50 --jobs 2 --model demo.mercer --report report.html

test: lint  ## lint, types and tests
	$(BIN)/python -m pytest -n 2

test-portable: $(STAMP)  ## the numerical tests, as a processor without newer instructions computes them
	NUMBA_CPU_NAME=generic OPENBLAS_CORETYPE=Nehalem OPENBLAS_NUM_THREADS=1 \
		$(BIN)/python -m pytest -n 2 tests/solvers tests/learners tests/svm

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

papers: $(STAMP)  ## every published table beside ours (hours; it can be interrupted and goes on where it was)
	$(BIN)/mercer papers --all

bench: $(STAMP)  ## speed against peers, as ratios
	$(BIN)/python -m benchmarks

docs: $(STAMP) .venv/.docs
	$(BIN)/sphinx-build -W -b html docs docs/_build/html

.venv/.docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	rm -f .venv/.installed-*
	touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache docs/_build docs/auto_examples docs/sg_execution_times.rst
