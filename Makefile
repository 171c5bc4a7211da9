# Each target creates what it needs: a virtual environment, the build, the extras.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CORE := $(shell find core src/podium -name '*.cpp' -o -name '*.hpp') CMakeLists.txt pyproject.toml
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check

.PHONY: demo test lint docs sanitize fuzz bench stubs format clean

demo: $(VENV)/.installed
	$(BIN)/python examples/demo.py

test: lint
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/.dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $$(find core -name '*.cpp' -o -name '*.hpp')
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .
	$(BIN)/clang-format -i $$(find core -name '*.cpp' -o -name '*.hpp')

docs: $(VENV)/.dev
	$(BIN)/mkdocs build --strict

stubs: $(VENV)/.dev
	$(BIN)/python -m nanobind.stubgen -m podium._core -o src/podium/_core.pyi

# The build's own tools live in the environment, so that a rebuild compiles only what changed.
$(VENV)/.tools:
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) 'scikit-build-core>=0.11' 'nanobind>=2.4' 'cmake>=3.25' ninja
	touch $@

$(VENV)/.installed: $(VENV)/.tools $(CORE)
	$(PIP) --no-build-isolation -e .
	touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(PIP) --no-build-isolation -e '.[dev]'
	touch $@

clean:
	rm -rf build site dist demo-output $(VENV)
