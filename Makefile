# Each target creates what it needs: a virtual environment, the build, the extras.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CORE := $(shell find core src/podium -name '*.cpp' -o -name '*.hpp') CMakeLists.txt pyproject.toml
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check

.PHONY: demo test test-browser test-peers test-torch test-cluster screenshots lint docs wheel release-check sanitize fuzz bench papers papers-quick format clean

demo: $(VENV)/.installed
	$(BIN)/python examples/demo.py

test: lint
	$(BIN)/python -m pytest -n auto

# Exports and imports against the libraries themselves; `make test` runs what needs none of them.
test-peers: $(VENV)/.peers
	$(BIN)/python -m pytest -n auto tests/export tests/cli/test_model_commands.py

test-torch: $(VENV)/.torch
	$(BIN)/python -m pytest -n auto tests/torch

# Work on several processes of this machine with Ray; `make test` skips these tests where Ray is missing.
test-cluster: $(VENV)/.cluster
	timeout 900 $(BIN)/python -m pytest -q --durations=5 tests/cluster

# Pages in a headless Chromium, checked by axe-core; `make test` skips these tests where either is missing.
test-browser: $(VENV)/.browser
	PODIUM_BROWSER=1 $(BIN)/python -m pytest tests/browser

# The pictures of the docs, made by the same tests.
screenshots: $(VENV)/.browser
	PODIUM_BROWSER=1 PODIUM_SCREENSHOTS=docs/images/pages $(BIN)/python -m pytest tests/browser -k picture

lint: $(VENV)/.dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $$(find core scorer -name '*.[ch]*')
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .
	$(BIN)/clang-format -i $$(find core scorer -name '*.[ch]*')

docs: $(VENV)/.dev
	$(BIN)/python docs/reference.py
	$(BIN)/python docs/setting_tables.py
	$(BIN)/python docs/reproduced.py
	$(BIN)/python docs/sources.py
	$(BIN)/python docs/examples.py
	$(BIN)/python docs/gallery.py
	$(BIN)/python docs/report_example.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/mkdocs build --strict

# A manylinux wheel in dist/, tried in an empty environment with no compiler on PATH, and in a second one with the extras of the pages.
TRIAL := build/wheel/venv
wheel: $(VENV)/.release
	rm -rf build/wheel dist
	$(BIN)/python -m build --wheel --no-isolation --outdir build/wheel
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/wheel/*.whl
	$(PYTHON) -m venv $(TRIAL)
	PATH="$(abspath $(TRIAL)/bin)" $(TRIAL)/bin/python -m pip install -q --disable-pip-version-check --only-binary :all: dist/*.whl
	PATH="$(abspath $(TRIAL)/bin)" $(TRIAL)/bin/python tests/wheel/smoke.py
	$(PYTHON) -m venv $(TRIAL)-extras
	PATH="$(abspath $(TRIAL)-extras/bin)" $(TRIAL)-extras/bin/python -m pip install -q --disable-pip-version-check --only-binary :all: "$$(ls dist/*.whl)[serve,plots]"
	PATH="$(abspath $(TRIAL)-extras/bin)" $(TRIAL)-extras/bin/python tests/wheel/extras.py

# Says what a release still needs; `python .ci/release_check.py --quick` leaves out what takes minutes.
release-check: $(VENV)/.release
	$(BIN)/python .ci/release_check.py

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/metrics.py
	$(BIN)/python benchmarks/nets.py
	$(BIN)/python benchmarks/schedules.py
	test -z "$$PODIUM_DATA" || $(BIN)/python benchmarks/letor_ohsumed.py
	$(BIN)/python benchmarks/classics.py
	test -z "$$PODIUM_DATA" || $(BIN)/python benchmarks/classics.py --quality
	$(BIN)/python benchmarks/trees.py
	$(BIN)/python benchmarks/trees.py --scale
	test -z "$$PODIUM_DATA" || $(BIN)/python benchmarks/trees.py --small
	test -z "$$PODIUM_DATA" || $(BIN)/python benchmarks/quality.py
	$(BIN)/python benchmarks/tree_force.py
	$(BIN)/python benchmarks/structrank_force.py
	test -z "$$PODIUM_DATA" || $(BIN)/python benchmarks/structrank.py
	test -z "$$PODIUM_DATA" || $(BIN)/python benchmarks/structrank.py --variants
	$(BIN)/python benchmarks/structrank.py --cost
	$(BIN)/python benchmarks/scoring.py
	test -z "$$PODIUM_DATA" || $(BIN)/python benchmarks/exports.py
	! command -v wrk || $(BIN)/python benchmarks/service.py
	$(BIN)/python benchmarks/tables.py

# Every table and figure of the source papers. This takes hours; if it is stopped, it resumes. The quick version takes minutes.
papers: $(VENV)/.dev
	$(BIN)/podium papers all --out docs/reproduced; made=$$?; $(BIN)/python docs/reproduced.py && exit $$made

papers-quick: $(VENV)/.dev
	timeout 600 $(BIN)/podium papers all --quick --fresh --out build/papers

# Runs the tests that reach the core under the address and undefined-behavior sanitizers. Those left out test Python code
# only.
PYTHON_ALONE := contracts/test_rankers unit/test_ranker_parameters unit/test_tuning unit/test_tuning_ranges unit/test_tuning_study unit/test_cross_validation \
  unit/test_posteriors unit/test_laws unit/test_docs unit/test_resuming unit/test_solvers
sanitize: $(VENV)/.dev
	$(BIN)/cmake -G Ninja -S . -B build/sanitize -DPODIUM_SANITIZE=ON -DCMAKE_BUILD_TYPE=Debug -DPython_EXECUTABLE=$(abspath $(BIN)/python)
	$(BIN)/cmake --build build/sanitize
	rm -rf build/sanitize/package && cp -r src build/sanitize/package && cp build/sanitize/_core*.so build/sanitize/package/podium/
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0:handle_sigbus=0:allocator_may_return_null=1 \
	PODIUM_PACKAGE=$(abspath build/sanitize/package) $(BIN)/python -m pytest -q -n auto -p no:cacheprovider tests/unit tests/contracts tests/golden \
	$(PYTHON_ALONE:%=--ignore=tests/%.py)

# Coverage-guided fuzzing of the text parser and of the C scorer with libFuzzer (needs clang): make fuzz SECONDS=600
SECONDS ?= 60
FUZZ := -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
fuzz:
	mkdir -p build/fuzz/letor build/fuzz/scorer
	clang++ -std=c++20 $(FUZZ) -Icore tests/fuzz/fuzz_letor.cpp core/data/letor.cpp core/data/letor_rows.cpp -o build/fuzz/fuzz_letor
	clang -std=c99 $(FUZZ) -Iscorer tests/fuzz/fuzz_scorer.c -lm -o build/fuzz/fuzz_scorer
	build/fuzz/fuzz_letor -max_total_time=$(SECONDS) -max_len=512 -dict=tests/fuzz/letor.dict -print_final_stats=1 -artifact_prefix=build/fuzz/ build/fuzz/letor tests/fuzz/corpus
	build/fuzz/fuzz_scorer -max_total_time=$(SECONDS) -max_len=20000 -print_final_stats=1 -artifact_prefix=build/fuzz/ build/fuzz/scorer tests/golden

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

$(VENV)/.release: $(VENV)/.dev
	$(PIP) --no-build-isolation -e '.[release]'
	touch $@

$(VENV)/.peers: $(VENV)/.dev
	$(PIP) --no-build-isolation -e '.[peers]'
	touch $@

# Installing Debian's Chromium, where it is missing, needs root. Playwright and axe-core, which a package of the extra `browser`
# brings along, have exact versions, so that nothing but a change here changes what the tests find.
$(VENV)/.browser: $(VENV)/.dev
	command -v chromium || (apt-get update -q && apt-get install -y -q --no-install-recommends chromium fonts-liberation) || (echo "Chromium is missing; as root: apt-get install chromium" && false)
	$(PIP) --no-build-isolation -e '.[browser]'
	touch $@

# Tests and benchmarks run with exactly this version; the extra `torch` admits newer ones. pip takes its CPU build from
# wherever it is configured to look.
TORCH := torch==2.13.0
$(VENV)/.torch: $(VENV)/.dev
	$(PIP) $(TORCH)
	$(PIP) --no-build-isolation -e '.[torch]' $(TORCH)
	touch $@

$(VENV)/.cluster: $(VENV)/.dev
	$(PIP) --no-build-isolation -e '.[cluster]'
	touch $@

$(VENV)/.bench: $(VENV)/.torch
	$(PIP) --no-build-isolation -e '.[bench]'
	touch $@

clean:
	rm -rf build site dist demo-output $(VENV)
