# `make run` and `make test` need Python 3.11 or newer and make; uv is used when it is there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
UV := $(shell command -v uv 2>/dev/null)
SEEDS ?= 0-500
RUN := $(BIN)/python -m
COMPILE := $(RUN) piptools compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-header --no-annotate \
  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host

.PHONY: run demo test lint types bench conformance simulate crashes mixing real-clients real-claude lock wheel clean

run: $(STAMP)  ## set up with defaults and keep memories in step, with a live view (Ctrl-C ends it)
	$(BIN)/claude-memory up

demo: $(STAMP)  ## two devices, one folder: remember on one, recall on the other
	$(BIN)/claude-memory demo

test: $(STAMP) lint types  ## everything that must hold
	$(RUN) pytest -n 2

lint: $(STAMP)
	$(RUN) ruff check .
	$(RUN) ruff format --check .

types: $(STAMP)
	$(RUN) mypy

bench: $(STAMP)  ## figures for speed and scale
	$(RUN) benchmarks

conformance: $(STAMP)  ## MCP inspector and conformance suite (installs both from npm; Node 22 comes along)
	$(RUN) tests.conformance

simulate: $(STAMP)  ## many devices, faults and crashes, from seeds: make simulate SEEDS=0-2000
	$(RUN) tests.simulation --seeds $(SEEDS) --profile all

crashes: $(STAMP)  ## hundreds of SIGKILLs of real processes
	$(RUN) tests.crashes 500

mixing: $(STAMP)  ## eight sessions use all tools at once for a minute; then again while the daemon is killed
	$(RUN) tests.mcp_server.mixing 60
	$(RUN) tests.mcp_server.mixing 60 --kills 20

fuzz: $(STAMP)  ## a thousand examples of everything that parses, and a megabyte in under a second
	FUZZ_EXAMPLES=1000 $(RUN) pytest -n 2 tests/fuzz
	$(RUN) tests.fuzz

real-clients: $(STAMP)  ## rclone and onedrive against the Graph emulator (see docs/onedrive.md)
	tests/graph_emulator/real_clients.sh

real-claude: $(STAMP)  ## the real Claude Code client, 50 sessions started and killed (see tests/claude_code/conftest.py)
	CLAUDE_CODE_SESSIONS=50 $(RUN) pytest tests/claude_code
	$(RUN) tests.claude_code.session_start

wheel: $(STAMP)
	$(RUN) build --wheel

lock: $(STAMP)  ## write locks/*.txt anew from pyproject.toml and locks/development.in
	$(RUN) pip install --quiet pip-tools
	$(COMPILE) -o locks/runtime.txt pyproject.toml
	$(COMPILE) -o locks/development.txt locks/development.in

$(STAMP): pyproject.toml locks/runtime.txt locks/development.txt
ifdef UV
	uv venv --quiet --allow-existing --python "$(PYTHON)" $(VENV)
	uv pip install --quiet --python $(BIN)/python --require-hashes -r locks/runtime.txt -r locks/development.txt
	uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
else
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --disable-pip-version-check --require-hashes -r locks/runtime.txt -r locks/development.txt
	$(RUN) pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
endif
	touch $@

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
