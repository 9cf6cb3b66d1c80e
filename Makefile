# The verbs of the project; CI calls these and nothing else. Everything is made below .venv/ and build/.
# PYTHON makes the environment VENV: make test PYTHON=python3.13 VENV=build/venv/3.13 tests on another one.
# WITHOUT=hypothesis leaves the property tests out, ONE_OF=3 two of three tests, always the same ones. Packages have the versions of CONSTRAINTS; CONSTRAINTS= takes the newest that pyproject.toml allows.
PYTHON ?= python3
VENV := .venv
CONSTRAINTS := constraints.txt
BIN := $(VENV)/bin
DEMO := build/demo
SITE := build/venv/site
RELEASE := build/venv/release
PIN := build/pinning/bin
PINNING := --quiet --upgrade --strip-extras --allow-unsafe --no-header --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options
HASHED := --generate-hashes --constraint constraints.txt
# By the environment, because that holds for what builds restow too.
INSTALL := $(if $(CONSTRAINTS),PIP_CONSTRAINT=$(CONSTRAINTS) )$(BIN)/python -m pip install --quiet --disable-pip-version-check
# Byte code is kept, as in any installation: tests start restow hundreds of times, and without it a third of that is compiling.
unexport PYTHONDONTWRITEBYTECODE
# What make bench passes on; python -m tests.bench PART --help says which of these a part takes.
MEASURED = $(if $(SIZE),--size $(SIZE)) $(if $(LIMIT),--limit $(LIMIT)) $(if $(TABLE),--table $(TABLE)) $(if $(NODES),--nodes $(NODES)) $(if $(MOVES),--moves $(MOVES)) $(if $(PODS),--pods $(PODS)) $(if $(PLACEMENT),--placement $(PLACEMENT)) $(if $(TRACE),--trace $(TRACE))

.PHONY: demo test fuzz check fix docs site bench oracle e2e faults again changelog release requirements clean help

help:                                   ## This list.
	@sed -n 's/^\([a-z][a-z0-9]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

demo: $(VENV)/installed                 ## A plan for a bundled cluster: a table here, and an HTML report.
	@mkdir -p $(DEMO)
	@$(BIN)/restow plan -f examples/clusters/demo.json --policy-config-file examples/policies/demo.yaml
	@$(BIN)/restow plan -f examples/clusters/demo.json --policy-config-file examples/policies/demo.yaml -o html > $(DEMO)/plan.html
	@echo; echo "HTML report: $(CURDIR)/$(DEMO)/plan.html"

test: $(VENV)/developing                ## All tests but those of oracle and e2e, on all processors; nothing is measured (bench).
	$(BIN)/python -m pytest -n auto $(if $(ONE_OF),--one-of $(ONE_OF) )-m "not oracle and not e2e$(if $(WITHOUT), and not $(WITHOUT))"

fuzz: $(VENV)/developing                ## Hostile inputs until Ctrl-C (MINUTES=60, INPUTS=200000, SEED=1, JOBS=2, ENGINE=dask); failing ones are kept in build/fuzz.
	PYTHONPATH=tests $(BIN)/python -m fuzz $(if $(MINUTES),--minutes $(MINUTES)) $(if $(INPUTS),--inputs $(INPUTS)) $(if $(SEED),--seed $(SEED)) $(if $(JOBS),--jobs $(JOBS)) $(if $(ENGINE),--engine $(ENGINE)) $(if $(ENGINE_CONFIG),--engine-config $(ENGINE_CONFIG)) $(if $(KINDS),--kinds $(KINDS))

check: $(VENV)/developing               ## Formatting, lint, types, architecture, plain words.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/prose.py

fix: $(VENV)/developing                 ## Format and repair what can be repaired.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/developing                ## Check the documentation: links, examples and their outputs, references.
	$(BIN)/python -m pytest tests/docs

site: $(SITE)/installed                 ## The documentation as a site below build/site, all links checked; RESTOW_REPOSITORY=https://... is where its folders are.
	$(SITE)/bin/python -m sphinx --quiet --fail-on-warning --keep-going -c docs/site -d build/site.pages . build/site
	@echo "Site: $(CURDIR)/build/site/index.html"

oracle: $(VENV)/developing              ## Build the real Go programs and compare with them (MINORS="1.33 1.37" or all: other kube-schedulers, too).
	$(BIN)/python tests/oracle/build.py $(if $(MINORS),--minors $(MINORS))
	$(BIN)/python -m pytest -n auto -m oracle

# What fails while another control plane takes the processors has to pass alone.
e2e: $(VENV)/developing                 ## Build real control planes and test on them, JOBS=2 at a time; no test may take longer than TIMEOUT=600 seconds (0: any time).
	PYTHONPATH=tests $(BIN)/python -m e2e.build
	$(BIN)/python -m pytest -m e2e -n $(or $(JOBS),2) --dist loadfile --timeout $(or $(TIMEOUT),600) || $(BIN)/python -m pytest -m e2e --last-failed --last-failed-no-failures none --timeout $(or $(TIMEOUT),600)

faults: $(VENV)/developing              ## Seeded runs on real control planes in which something goes wrong, and the counts that have to be 0 (SEEDS=0:1000 JOBS=2).
	PYTHONPATH=tests $(BIN)/python -m e2e.build
	PYTHONPATH=tests $(BIN)/python -m e2e.fault_counts $(or $(SEEDS),0:60) --jobs $(or $(JOBS),2)

again: $(VENV)/developing               ## The tests that failed last, once more, if all of them may fail by chance (tests/flaky_tests.toml).
	$(BIN)/python tests/flaky.py --timeout $(or $(TIMEOUT),600)

bench: $(VENV)/developing               ## Measure PART=deciding|placement|landing|repair|joint|loops|live|simulate|engines|simulators: make bench PART=live TABLE=steering NODES=300 MOVES=1000.
	$(BIN)/python -m tests.bench $(or $(PART),deciding) $(MEASURED)

changelog:                              ## Move the fragments of changelog.d into a section of CHANGELOG.md (VERSION=0.2.0).
	$(PYTHON) tests/changelog.py $(VERSION)

release: $(RELEASE)/installed           ## What a release has, below build/release (REPOSITORY=https://github.com/OWNER/restow HELM=helm).
	$(RELEASE)/bin/python deploy/release --repository "$(REPOSITORY)" $(if $(HELM),--helm $(HELM))

# By the interpreter of the image, whose packages these are; upgrades everything within the ranges of pyproject.toml.
requirements:                           ## Renew all pinned versions: of development, and by hashes of the image (PYTHON=python3.11).
	$(PYTHON) -c 'import sys; assert sys.version_info[:2] == (3, 11), "pin with the Python of deploy/Containerfile: PYTHON=python3.11"'
	$(PYTHON) -m venv build/pinning
	$(PIN)/python -m pip install --quiet --disable-pip-version-check "pip-tools>=7.5,<8"
	$(PIN)/pip-compile $(PINNING) --no-annotate --extra dev --all-build-deps --output-file constraints.txt pyproject.toml
	$(PIN)/pip-compile $(PINNING) $(HASHED) --extra exact --extra operator --extra tracing --output-file deploy/requirements.txt pyproject.toml
	$(PIN)/pip-compile $(PINNING) $(HASHED) --output-file deploy/krew/requirements.txt pyproject.toml
	$(PIN)/pip-compile $(PINNING) $(HASHED) --only-build-deps --build-deps-for wheel --output-file deploy/requirements-build.txt pyproject.toml
	$(PIN)/pip-compile $(PINNING) --no-annotate --output-file docs/site/requirements.txt docs/site/requirements.in
	$(PIN)/pip-compile $(PINNING) --no-annotate --output-file deploy/release/requirements.txt deploy/release/requirements.in

clean:                                  ## Remove everything that was made.
	rm -rf $(VENV) build .hypothesis .mypy_cache .ruff_cache .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/installed: pyproject.toml hatch_build.py $(wildcard src/restow/*/*.[ch] src/restow/*/*/*.[ch]) $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	@touch $@

$(SITE)/installed: docs/site/requirements.txt
$(RELEASE)/installed: deploy/release/requirements.txt
$(SITE)/installed $(RELEASE)/installed:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

$(VENV)/developing: $(VENV)/installed
	$(INSTALL) --editable ".[dev]"
	@touch $@
