# Everything a person types. Each target makes the machine ready first (scripts/setup.py), in silence when it is.
# VENV and PYTHON choose another environment: make test VENV=.venv-3.13 PYTHON=python3.13
PYTHON ?= python3
VENV ?= .venv
JOBS ?= $(shell nproc)
BASE ?=
PYTEST_ARGS ?=
SECONDS ?= 60
CODECS ?=
SANITIZER ?= address
RECORD ?=
MISSING ?=
BENCH_ARGS ?=

SETUP := @$(PYTHON) -m scripts.setup --venv $(VENV)
TOUCHED := $(PYTHON) -m scripts.touched $(if $(BASE),--base $(BASE))
RUN := $(VENV)/bin/python
TOOL := $(VENV)/bin
BENCHMARKS = $(basename $(notdir $(shell grep -l __main__ bench/*.py)))
NATIVE = $(shell find native fuzz -name '*.h' -o -name '*.cpp' 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help setup build demo test test-touched test-all coverage lint format docs stubs fuzz fuzz-status bench wheel clean

help:            ## this list
	@sed -n 's/^\([a-z-]*\): *\(## .*\)/\1 \2/p' Makefile | awk -F ' ## ' '{ printf "make %-14s%s\n", $$1, $$2 }'

setup:           ## system libraries, .venv, everything that tests and linters need
	$(SETUP) torch test vision bench dev package

build:           ## the extension, if native/ changed
	$(SETUP) package

demo:            ## what Penstock does, on images it makes itself and a disk as slow as a laptop's
	$(SETUP) package
	@$(TOOL)/penstock info
	@rm -rf .demo
	@mkdir .demo
	@$(TOOL)/penstock synth .demo/photos --images 240 --size 640x480 --classes 4 --format png --seed 0
	@$(TOOL)/penstock auto .demo/photos .demo/photos.pen --sample 60 --emulate disk=120MB/s

test:            ## the fast tier: minutes at first, seconds later
	$(SETUP) torch test vision package
	@$(RUN) -m pytest --no-header --dist loadgroup -n $(JOBS) -m "not long" $(PYTEST_ARGS)

test-touched:    ## the part of the long tier that a change touches (BASE=revision to compare with)
	$(SETUP) torch test vision package $(shell $(TOUCHED) --groups)
	@$(RUN) -m scripts.touched $(if $(BASE),--base $(BASE)) -- --no-header --dist loadgroup -n $(JOBS) $(PYTEST_ARGS)

test-all:        ## both tiers: faults, fuzzing, soak, the wheel
	$(SETUP) torch test vision bench fuzz wheel frameworks arm64 browser package
	@$(RUN) -m pytest --no-header --dist loadgroup -n $(JOBS) --parts $(PYTEST_ARGS)

coverage:        ## lines of native/ that tests and fuzz corpora run, by folder (MISSING=native/codecs lists the others)
	$(SETUP) torch test vision package
	@$(RUN) -m scripts.coverage --jobs $(JOBS) $(if $(MISSING),--missing $(MISSING)) -- $(PYTEST_ARGS)

lint:            ## ruff, mypy, clang-format, language; changes nothing
	$(SETUP) torch test bench dev package
	@$(TOOL)/ruff check -q .
	@$(TOOL)/ruff format --check -q .
	@$(TOOL)/mypy --no-error-summary
	@$(TOOL)/clang-format --dry-run -Werror $(NATIVE)
	@$(RUN) -m scripts.language

format:          ## rewrite files the way lint wants them
	$(SETUP) dev
	@$(TOOL)/ruff check -q --fix .
	@$(TOOL)/ruff format -q .
	@$(TOOL)/clang-format -i $(NATIVE)

docs:            ## write the parts of README.md and docs/ that are made from code and lines
	$(SETUP) package
	@$(RUN) -m scripts.docs

stubs:           ## write src/penstock/_native.pyi from the extension
	$(SETUP) package
	@$(RUN) -m nanobind.stubgen -q -m penstock._native -o src/penstock/_native.pyi

fuzz:            ## each target for SECONDS=60, JOBS at a time (CODECS="png tar" for some, SANITIZER=memory, RECORD=1)
	$(SETUP) test fuzz package
	@$(RUN) -m fuzz.run --seconds $(SECONDS) --jobs $(JOBS) --sanitizer $(SANITIZER) $(if $(RECORD),--record) $(CODECS)

fuzz-status:     ## targets with at least SECONDS=600 of recorded fuzzing on the current sources
	$(SETUP) package
	@$(RUN) -m fuzz.run --status --seconds $(if $(filter file,$(origin SECONDS)),600,$(SECONDS))

bench:           ## every benchmark of bench/, or one: NAME=png_decode
	$(SETUP) torch test vision bench package
	@for name in $(or $(NAME),$(BENCHMARKS)); do $(RUN) -m bench.$$name $(BENCH_ARGS) || exit; done

wheel:           ## dist/*.whl with the system libraries inside
	$(SETUP) build wheel
	@$(RUN) -m scripts.wheel --out dist

clean:           ## what builds and tests left behind; the environment stays
	@rm -rf build dist $(VENV)/.stamps/package .demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -not -path './.venv*' -prune -exec rm -rf {} +
