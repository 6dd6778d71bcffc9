# Two commands: `make selfplay` and `make test`. Both set everything up first, into .venv.
VENV ?= .venv
PYTHON ?= python3
INPUTS ?= 20000
SAMPLE ?= 300
SECONDS ?= 20
SEED ?= 0
BLOCKS ?= 1000000
BIN := $(VENV)/bin
PIP_INSTALL := sh scripts/quietly.sh $(BIN)/pip install --disable-pip-version-check -c constraints.txt
READY := $(VENV)/.ready
# Test processes: one more than cores, up to 4, because tests wait for programs that they start.
# Which tests `make test` runs, by their marks (pyproject.toml).
TESTS = not slow and not thorough
TESTERS = $(shell cores=$$(getconf _NPROCESSORS_ONLN); echo $$((cores < 3 ? cores + 1 : 4)))

.PHONY: selfplay test test-all test-long coverage mutants fuzz simulate docs lint types check setup pages try-pages wasm stockfish \
	chromium clean constraints licences sbom reproducible supply help

help:
	@echo "make selfplay   set up, then play 64 games with the default network on this machine"
	@echo "make test       set up, then run the tests (some 5 minutes on 2 cores)"
	@echo "make test-all   every test: thorough ones, as in .ci/run, and slow ones (make test-long, MINUTES=)"
	@echo "make fuzz       hostile input for every reader, some minutes (INPUTS=, SECONDS=, SEED=, TARGETS=)"
	@echo "make simulate   a million blocks of a fleet under faults, in one process (BLOCKS=, SEED=)"
	@echo "make coverage   lines and branches of chess, store and selfplay that the tests reach"
	@echo "make mutants    small faults in chess and store, 300 of each: do the tests notice?"
	@echo "make check      lint and types"
	@echo "make pages      build the pages of vecchess dash"
	@echo "make wasm       compile the kernels of vecchess export web to WebAssembly"
	@echo "make docs       build the pages of docs/ into docs/_build/html"
	@echo "make licences   check the licences of everything that is installed"
	@echo "make sbom       list everything that is installed, as CycloneDX, in dist/"
	@echo "make constraints UPGRADE=--upgrade"
	@echo "                write constraints.txt anew; without UPGRADE only what is missing"
	@echo "make reproducible"
	@echo "                build the wheel twice, and compare"

selfplay: setup
	$(BIN)/vecchess selfplay

test: setup stockfish chromium wasm
	$(BIN)/python -m pytest -m "$(TESTS)" -n $(TESTERS) --dist loadscope --no-loadscope-reorder

test-all: TESTS = not slow
test-all: test test-long

# As many of the slow tests as are begun within MINUTES.
test-long: setup stockfish chromium wasm
	$(BIN)/python -m pytest -m slow -n $(TESTERS) --dist loadscope --no-loadscope-reorder $(if $(MINUTES),--minutes $(MINUTES))

fuzz: $(READY)
	$(BIN)/python -m tests.fuzz $(TARGETS) --inputs $(INPUTS) --seconds $(SECONDS) --seed $(SEED) \
		--save tests/fuzz/found

simulate: $(READY)
	$(BIN)/python -m tests.fleet.simulation --blocks $(BLOCKS) --first $(SEED)

# Fails below 95 % of the lines or 90 % of the branches.
coverage: $(READY)
	@sh scripts/coverage.sh $(VENV)

# Fails where less than 85 % are killed. Stopped, it goes on with the same command; SAMPLE=0 tries all.
mutants: $(READY)
	@$(PIP_INSTALL) --group mutants
	@ended=0; for part in chess store; do \
		$(BIN)/python -m tests.mutants.run $$part --sample $(SAMPLE) --seed $(SEED) || ended=$$?; \
	done; exit $$ended

docs: $(READY)
	@$(PIP_INSTALL) --group docs
	$(BIN)/sphinx-build -q -W --keep-going -d docs/_build/trees docs docs/_build/html
	@echo "docs/_build/html/index.html"

supply: $(READY)
	@$(PIP_INSTALL) --group supply

constraints: supply
	@sh scripts/constraints.sh $(VENV) $(UPGRADE)

licences: supply
	@$(BIN)/python scripts/licences.py

sbom: supply
	@sh scripts/sbom.sh $(VENV)

reproducible: supply
	@sh scripts/reproducible.sh $(VENV)

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

check: lint types

setup: $(READY) try-pages

pages: $(READY)
	@sh scripts/pages.sh $(VENV)

# The kernels of pages without a server; `vecchess export web` needs them.
wasm: $(READY)
	@sh scripts/wasm.sh $(VENV)

# Only `vecchess dash` needs them: where they cannot be built, everything else goes on.
try-pages: $(READY)
	@sh scripts/pages.sh $(VENV) || true

$(READY): pyproject.toml constraints.txt
	@echo "setting up $(VENV): some minutes the first time" >&2
	@sh scripts/venv.sh $(PYTHON) $(VENV)
	@$(PIP_INSTALL) torch
	@$(PIP_INSTALL) --group dev -e .
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
