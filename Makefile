# Every target creates the environment .venv that it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MARK := $(VENV)/.installed-for

.PHONY: help demo test test-all threads lint docs format bench mutants fuzz faults clean

help:
	@echo "make demo     find the anchors of generated data: a table, a picture and a report"
	@echo "make test     run the tests, but for those that take many seconds"
	@echo "make test-all run all tests, with coverage"
	@echo "make threads  run the tests of the algorithms in four threads at a time"
	@echo "make lint     run ruff and mypy --strict"
	@echo "make docs     build the site and run its gallery: docs/_build/html/index.html"
	@echo "make format   apply the fixes and the formatting of ruff"
	@echo "make bench    measure speed and report regressions (some minutes)"
	@echo "make mutants  mutation tests: each mutated update must fail a test (slow)"
	@echo "make fuzz     hostile matrices and files for SECONDS=600, half of it each, from SEED=0"
	@echo "make faults   interrupt and kill commands, fill disks, damage files (ten minutes at most)"
	@echo "make clean    remove the environment and everything that was built"

# Reinstalled when pyproject.toml changes. A marker file is only written if the installation succeeds.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

$(MARK)-nothing:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sepnmf needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Python compiles the modules that the demo imports; pip would compile all of them.
$(MARK)-demo: pyproject.toml | $(MARK)-nothing
	$(INSTALL) ".[plot]" --no-compile
	@touch $@

$(MARK)-test: pyproject.toml | $(MARK)-nothing
	$(INSTALL) ".[test]"
	@touch $@ $(MARK)-demo

$(MARK)-lint: $(MARK)-test
	$(INSTALL) ".[dev]"
	@touch $@

$(MARK)-threads: $(MARK)-test
	$(INSTALL) ".[threads]"
	@touch $@

$(MARK)-docs: $(MARK)-test
	$(INSTALL) ".[docs]"
	@touch $@

demo: $(MARK)-demo
	$(BIN)/sepnmf demo

test: $(MARK)-test
	$(BIN)/python -m pytest -n 2 -m "not slow" $(ARGS)

test-all: $(MARK)-test
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term $(ARGS)

# A test runs four times at once. Memory is traced for the whole process; Hypothesis is not made for this.
ALGORITHMS := auto_parts exchange fgnsr lanczos low_rank merit metrics nnls omega ppi_nfindr preconditioned snpa_xray spa splitting vca
threads: $(MARK)-threads
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -p no:xdist --parallel-threads 4 -m "not slow" \
		-o thread_unsafe_functions=tracemalloc.start --mark-hypothesis-as-unsafe --skip-thread-unsafe=True \
		$(ALGORITHMS:%=tests/test_%.py) $(ARGS)

lint: $(MARK)-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# One BLAS thread: the matrices of the gallery are small, and idle threads slow down a busy machine.
docs: $(MARK)-docs
	OPENBLAS_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going --quiet docs docs/_build/html

format: $(MARK)-lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(MARK)-test
	$(BIN)/python benchmarks/speed.py $(ARGS)

mutants: $(MARK)-test
	$(BIN)/python tests/mutants.py

# Each runs also if the other has found something; the status is that of both.
SECONDS ?= 600
SEED ?= 0
fuzz: $(MARK)-test
	@status=0; for kind in numeric files; do \
		OPENBLAS_NUM_THREADS=1 $(BIN)/python fuzz/$$kind.py --seconds $$(($(SECONDS) / 2)) --seed $(SEED) || status=1; \
	done; exit $$status

# Each runs also if the other has found something; the status is that of both.
INTERRUPTS ?= 1000
faults: $(MARK)-test
	@status=0; $(BIN)/python fuzz/interrupts.py --times $(INTERRUPTS) || status=1; \
	$(BIN)/python fuzz/faults.py $(ARGS) || status=1; exit $$status

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .coverage build dist demo docs/_build docs/api docs/gallery docs/generated
