# make demo   build, install, learn a vocabulary from text that every machine with Python has
# make test   the same, then all tests
# make lint   ruff, mypy and import-linter
# make screenshot  the picture of the report in docs/img; needs Chromium
# make study  docs/study.md: hours of training; DATA=folder with NAME/SPLIT.LANG or .xz. Goes on where it stopped
# make fuzz   every fuzzer for SECONDS (60) each; needs clang
# make tsan   the native code under ThreadSanitizer
# make oldest tests with the oldest versions of what volt depends on
# make audit  known holes in what volt depends on; AUDIT="-s osv" asks another service
# make bench  every benchmark against its peers; TEXT="file ..." names at least 100 MB of text

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
TEXT   ?=

DATA   ?= $(VOLT_DATA)

FUZZERS := count merge encode

.PHONY: demo test lint study bench screenshot sanitize tsan fuzz fuzz-readers $(FUZZERS:%=fuzz-%) oldest audit clean

# The package, and the tools that test it, are installed anew when their sources change.
INSTALLED := $(VENV)/.installed
TOOLS     := $(VENV)/.tools
SOURCES   := pyproject.toml CMakeLists.txt $(wildcard src/core/*)
PIP       := $(BIN)/python -m pip install -q --disable-pip-version-check

$(INSTALLED): $(SOURCES)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Building and installing volt into $(VENV) ..."
	@$(PIP) "scikit-build-core>=0.10" "nanobind>=2.4" ninja "cmake>=3.20"
	@$(PIP) --no-build-isolation -e ".[report]"
	@touch $@

$(TOOLS): $(INSTALLED)
	@echo "Installing the test tools ..."
	@$(PIP) --no-build-isolation -e ".[test,lint]"
	@touch $@

demo: $(INSTALLED)
	@$(BIN)/python tools/demo_text.py demo/python-docs.txt
	$(BIN)/volt learn demo/python-docs.txt -o demo/vocabulary --force
	@echo; echo "Look at it: demo/vocabulary/report.html"
	@echo; echo "A sentence, cut with it:"
	@echo "Return the vocabulary that fits your text." | $(BIN)/volt encode -m demo/vocabulary

test: $(TOOLS) demo lint
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

study: $(TOOLS)
	@test -n "$(DATA)" || { echo 'name the folder of the corpora: make study DATA=folder'; exit 2; }
	@$(PIP) matplotlib
	$(BIN)/python tools/study.py --data $(DATA)
	$(BIN)/python tools/study_page.py

bench: $(INSTALLED)
	@test -n "$(TEXT)" || { echo 'name at least 100 MB of text: make bench TEXT="a.txt b.txt"'; exit 2; }
	@$(PIP) cython setuptools wheel
	@$(PIP) --no-build-isolation -r benchmarks/requirements.txt
	@mkdir -p benchmarks/results
	$(BIN)/python benchmarks/count.py --text $(TEXT) -o benchmarks/results/count.json
	$(BIN)/python benchmarks/candidates.py --text $(TEXT) -o benchmarks/results/candidates.json
	$(BIN)/python benchmarks/encode.py --text $(TEXT) -o benchmarks/results/encode.json
	$(BIN)/python benchmarks/latency.py --text $(TEXT) -o benchmarks/results/latency.json
	$(BIN)/python benchmarks/learn.py --text $(TEXT) -o benchmarks/results/learn.json
	$(BIN)/python benchmarks/transport.py --text $(TEXT) -o benchmarks/results/transport.json
	$(BIN)/python benchmarks/scaling.py --text $(TEXT) -o benchmarks/results/scaling.json
	$(BIN)/python benchmarks/spill.py --text $(TEXT) -o benchmarks/results/spill.json
	$(BIN)/python benchmarks/soak.py -o benchmarks/results/soak.json
	$(BIN)/python benchmarks/page.py benchmarks/results/*.json

screenshot: $(TOOLS) demo
	$(BIN)/python tools/screenshot.py demo/vocabulary/report.html docs/img/report.webp

# The native code under AddressSanitizer and UndefinedBehaviorSanitizer, and the tests that drive it.
sanitize: $(TOOLS)
	$(BIN)/cmake --preset sanitize -G Ninja -DPython_EXECUTABLE=$(abspath $(BIN))/python
	$(BIN)/cmake --build --preset sanitize
	tools/with_sanitizer.sh sanitize $(BIN)/python -m pytest -p no:cacheprovider tests/counting/test_counts.py \
	  tests/proposing/test_merges.py tests/tokenizing/test_encode.py tests/tokenizing/test_look_up.py tests/tokenizing/test_tokenizer.py \
	  tests/counting/test_spill.py tests/fuzz/test_replay.py -k "not native_code"

# The same under ThreadSanitizer, with the tests that run threads.
tsan: $(TOOLS)
	$(BIN)/cmake --preset tsan -G Ninja -DPython_EXECUTABLE=$(abspath $(BIN))/python
	$(BIN)/cmake --build --preset tsan
	tools/with_sanitizer.sh tsan $(BIN)/python -m pytest -p no:cacheprovider tests/test_threads.py \
	  tests/counting/test_counts.py tests/proposing/test_merges.py tests/tokenizing/test_encode.py -k "thread or fork or encode or learn"

# libFuzzer under both sanitizers for the native code, atheris for the readers. What is found worth keeping
# goes to build/fuzz/found; a failing input is left in build/fuzz.
SECONDS ?= 60
CLANG   ?= $(firstword $(shell for name in clang++ clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14; do \
  command -v $$name; done))
CORE    := $(patsubst src/core/%.cpp,build/fuzz/core/%.o,$(filter-out src/core/bindings.cpp,$(wildcard src/core/*.cpp)))
FUZZED  := -std=c++20 -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all \
  -fno-sanitize-coverage=trace-cmp -Isrc/core -pthread

build/fuzz/core/%.o: src/core/%.cpp $(wildcard src/core/*.hpp)
	@test -n "$(CLANG)" || { echo 'libFuzzer comes with clang: name it with CLANG=clang++'; exit 2; }
	@mkdir -p build/fuzz/core
	$(CLANG) $(FUZZED) -fsanitize=fuzzer-no-link -c $< -o $@

.PRECIOUS: build/fuzz/core/%.o

build/fuzz/%: tests/fuzz/%.cpp tests/fuzz/input.hpp $(CORE)
	@mkdir -p build/fuzz/found/$*
	$(CLANG) $(FUZZED) -fsanitize=fuzzer $(CORE) $< -o $@

fuzz: $(FUZZERS:%=fuzz-%) fuzz-readers

$(FUZZERS:%=fuzz-%): fuzz-%: build/fuzz/%
	build/fuzz/$* -max_total_time=$(SECONDS) -max_len=2048 -print_final_stats=1 \
	  -artifact_prefix=build/fuzz/$*- build/fuzz/found/$* tests/fuzz/corpus/$*

fuzz-readers: $(TOOLS)
	@$(PIP) atheris
	@mkdir -p build/fuzz/found/readers
	tools/with_sanitizer.sh none $(BIN)/python tests/fuzz/readers.py -max_total_time=$(SECONDS) -max_len=8192 \
	  -print_final_stats=1 -artifact_prefix=build/fuzz/readers- build/fuzz/found/readers tests/fuzz/corpus/readers

# The lower bounds of pyproject.toml as versions, in a Python of their time.
oldest:
	$(PYTHON) -m venv build/oldest
	$(PYTHON) tools/lower_bounds.py > build/oldest/constraints.txt
	build/oldest/bin/python -m pip install -q --disable-pip-version-check -c build/oldest/constraints.txt \
	  --config-settings=build-dir=build/oldest/native \
	  ".[sentencepiece,report]" tokenizers pandas regex pytest hypothesis
	build/oldest/bin/python -m pytest -q -p no:cacheprovider -W default tests/counting/test_counts.py tests/proposing/test_merges.py \
	  tests/proposing/test_frequencies.py tests/tokenizing/test_tokenizer.py tests/test_pipeline.py tests/tokenizing/test_volt_json.py \
	  tests/interop/test_sentencepiece.py

# What is installed, but for volt itself. A mirror of the package index has no advisories, and pip-audit would say
# of every package that there is none of its name: ask about one that there is.
ADVISORIES := https://pypi.org/pypi/pip/24.0/json

audit: $(INSTALLED)
	@$(PIP) pip-audit
	@$(BIN)/python -c 'import urllib.request as web; web.urlopen("$(ADVISORIES)", timeout=60)' 2>/dev/null \
	  || { echo 'nothing was audited: $(ADVISORIES) does not answer'; exit 2; }
	@mkdir -p build
	$(BIN)/python -m pip freeze --exclude-editable > build/audited.txt
	$(BIN)/pip-audit --strict --disable-pip --no-deps -r build/audited.txt $(AUDIT)

clean:
	rm -rf build dist demo $(VENV)
