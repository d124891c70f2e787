# make demo | test | check | bench: each installs what it needs into .venv on a machine with Python and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_DEMO := $(BIN)/resit run --model llamacpp --model-args pretrained=smollm2-135m --tasks gsm_fresh --limit 16 \
	--output-path runs/demo

.PHONY: demo test check format bench clean
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
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
