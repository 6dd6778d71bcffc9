# Two commands: `make selfplay` and `make test`. Both set everything up first, into .venv.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: selfplay test test-all docs lint types check setup pages try-pages stockfish chromium clean \
	help

help:
	@echo "make selfplay   set up, then play 64 games with a fresh tiny network on this machine"
	@echo "make test       set up, then run the tests (under 10 minutes on 2 cores)"
	@echo "make test-all   every test, the long ones too"
	@echo "make check      lint and types"
	@echo "make pages      build the pages of vecchess dash"
	@echo "make docs       build the pages of docs/ into docs/_build/html"

selfplay: setup
	$(BIN)/vecchess selfplay

test: setup stockfish chromium
	$(BIN)/python -m pytest -m "not slow" -n auto --maxprocesses 4 --dist loadscope --no-loadscope-reorder

test-all: setup stockfish chromium
	$(BIN)/python -m pytest

docs: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt --group docs
	$(BIN)/sphinx-build -q -W --keep-going -d docs/_build/trees docs docs/_build/html
	@echo "docs/_build/html/index.html"

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

check: lint types

setup: $(READY) try-pages

pages: $(READY)
	@sh scripts/pages.sh $(VENV)

# Only `vecchess dash` needs them: where they cannot be built, everything else goes on.
try-pages: $(READY)
	@sh scripts/pages.sh $(VENV) || true

$(READY): pyproject.toml constraints.txt
	@sh scripts/venv.sh $(PYTHON) $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt --group dev -e .
	@touch $(READY)

# Some tests compare against Stockfish; they skip with a line where it cannot be installed.
stockfish:
	@sh scripts/stockfish.sh

# Some look at the pages with a browser.
chromium:
	@sh scripts/chromium.sh

clean:
	rm -rf $(VENV) build dist docs/_build .pytest_cache .mypy_cache .ruff_cache \
		web/node_modules src/vecchess/dash/static
