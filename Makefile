# Every target sets itself up in .venv; nothing but Python (3.11 or newer), venv and make is needed.
PYTHON ?= python3
BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
SUM := $(shell cksum < pyproject.toml | cut -d' ' -f1)
APP := .venv/.app-$(SUM)
ALL := .venv/.test-$(SUM)
NUMERICAL := tests/kernels tests/solvers tests/superkernels tests/learners tests/machines
OLDER := NUMBA_CPU_NAME=generic OPENBLAS_CORETYPE=Nehalem OPENBLAS_NUM_THREADS=1

NIGHTLY := https://pypi.anaconda.org/scientific-python-nightly-wheels/simple
FIRST ?= 0

.PHONY: demo test test-portable test-oldest test-tomorrow coverage audit sweep margins lint papers results bench pages docs release clean

demo: $(APP)  ## the main job on a data set that comes along: which kernel it needs, as a model and a page to look at
	$(BIN)/mercer learn --budget 50 --jobs 2 --model demo.mercer --report report.html

test: lint  ## lint, types and tests
	$(BIN)/python -m pytest -n 2

test-portable: $(ALL)  ## the numerical tests, as a processor without newer instructions computes them
	$(OLDER) $(BIN)/python -m pytest -n 2 $(NUMERICAL)

test-oldest: $(ALL)  ## the tests with the oldest scikit-learn that works, and what was there with it
	$(BIN)/python -m pip install --quiet 'scikit-learn==1.6.*' 'scipy<1.16' 'pytest<9'
	$(BIN)/python -m pytest -n 2 --ignore tests/reproduction

test-tomorrow: $(ALL)  ## the tests with the development versions of what mercer is built on
	$(BIN)/python -m pip install --quiet --upgrade --pre --extra-index-url $(NIGHTLY) numpy scipy scikit-learn
	$(BIN)/python -m pytest -n 2 -W default

coverage: $(ALL)  ## which lines the tests do not reach (compiled ones count as not reached)
	$(BIN)/python -m pip install --quiet 'pytest-cov>=6'
	$(BIN)/python -m pytest -n 2 --cov=mercer --cov-report=term-missing:skip-covered

audit: $(APP)  ## known vulnerabilities of what mercer needs
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pip-audit --skip-editable

sweep: $(ALL)  ## 14 000 fits of ugly tables, from table FIRST on; and the laws, on examples not seen before
	$(BIN)/python tests/sweep.py 300 --first $(FIRST)
	HYPOTHESIS=explore $(BIN)/python -m pytest -n 2 tests/machines/test_laws.py

margins: $(ALL)  ## how near the numerical tests come to their bounds, with new and with older instructions
	rm -rf .margins && mkdir .margins
	$(BIN)/python -m pytest $(NUMERICAL) --margins .margins/here.jsonl
	$(OLDER) $(BIN)/python -m pytest $(NUMERICAL) --margins .margins/older.jsonl
	$(BIN)/python tests/margins.py .margins/*.jsonl

lint: $(ALL)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

papers: $(APP)  ## every published table beside ours (hours; it can be interrupted and goes on where it was)
	$(BIN)/python -m reproduction --all --record docs/results.csv

results: $(APP)  ## docs/results.md, whole, from docs/results.csv
	$(BIN)/python -m reproduction --record docs/results.csv --page docs/results.md

bench: $(ALL)  ## speed against peers, as ratios
	$(BIN)/python -m benchmarks

pages: $(ALL)  ## write anew what the code on the pages prints
	MPLBACKEND=agg $(BIN)/python tests/pages.py README.md docs/quick_start.md docs/tutorial.md

docs: .venv/.docs  ## the site, in docs/_build/html: read without a network, and warnings are errors
	$(BIN)/sphinx-build -W -b html docs docs/_build/html

.venv/.docs: $(APP)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

release: $(APP)  ## what would be uploaded, in dist/, and whether it may be
	$(BIN)/python -m pip install --quiet build twine check-jsonschema
	rm -rf dist && $(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

$(APP):
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[app]'
	rm -f .venv/.app-*
	touch $@

$(ALL): $(APP)
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	rm -f .venv/.test-*
	touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache docs/_build docs/auto_examples docs/sg_execution_times.rst
