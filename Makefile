# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || echo python3)
VENV := .venv
BIN := $(VENV)/bin
DEMO := runs/demo
DATA ?= data

EXTRAS := test,docs,pictures,serve
TORCH = $(shell grep -E '^torch(vision)?==' requirements.txt)

.PHONY: help install demo test test-all minimum types installed suite-msgs suite-hans suite-paws gpu-check gpu-benchmark lock lint format docs clean

help:  ## Show what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

install: $(VENV)/installed  ## Create .venv and install the lock, and the command heedful

$(VENV)/installed: requirements.txt setup.cfg .ci/mend_torchvision.py
	@$(PYTHON) -c 'import sys; (3, 11) <= sys.version_info < (3, 13) or sys.exit("Heedful needs Python 3.11 or 3.12: make install PYTHON=python3.11")'
	@echo "Installing the tested versions into $(VENV): about 2.5 GB, more with a CUDA build of torch, in 2 to 10 minutes."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	$(BIN)/python .ci/mend_torchvision.py
	touch $@

demo: install  ## Train MiniLM twice on the generated data, plainly and with counterfactuals; compare
	rm -rf $(DEMO)
	$(BIN)/python train.py --output $(DEMO)/plain
	$(BIN)/python train.py --augment counterfactual --output $(DEMO)/counterfactual
	$(BIN)/heedful compare $(DEMO)/plain $(DEMO)/counterfactual
	@echo "Curves of both runs: $(BIN)/tensorboard --logdir $(DEMO)"

test: install  ## Run the first tier of tests, on the CPU: minutes
	CUDA_VISIBLE_DEVICES= $(BIN)/python -m pytest -n auto --dist worksteal

test-all: install  ## Run both tiers, on the CPU: half an hour on two cores
	CUDA_VISIBLE_DEVICES= HEEDFUL_EXAMPLES=50 $(BIN)/python -m pytest -m '' -n auto --dist worksteal

minimum:  ## Run the first tier with the lowest versions that setup.cfg allows, in .venv-minimum; TORCH=lock keeps torch
	PYTHON=$(PYTHON) bash .ci/minimum

types: install  ## Check types
	$(BIN)/mypy

installed: install  ## Test the package as it is installed: a wheel, and editable
	$(BIN)/python -m pytest -m slow tests/slow/test_installed.py

suite-msgs:  ## Train, attribute and rank models of MSGS: make suite-msgs DATA=DIR; a stopped one goes on
suite-hans:  ## The same of HANS
suite-paws:  ## The same of PAWS
suite-msgs suite-hans suite-paws: install
	$(BIN)/heedful suite $(@:suite-%=%) --data_path $(DATA)

lock: install  ## Renew requirements.txt with the newest versions that setup.cfg allows; torch stays
	$(BIN)/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable '.[$(EXTRAS)]' $(TORCH)
	{ grep '^#' requirements.txt | grep -v '^# Renewed'; echo "# Renewed on $$(date +%F)."; \
	    $(BIN)/python -m pip freeze --exclude-editable | sed 's/+cpu$$//'; } > requirements.new
	mv requirements.new requirements.txt

gpu-check: install  ## Compare a GPU with the CPU; without a GPU, rehearse the comparison on the CPU
	$(BIN)/python -m pytest -m slow tests/slow/test_gpu.py --junitxml=runs/gpu-check.xml

gpu-benchmark: install  ## Measure in ten minutes how well evaluation and training fill a GPU
	$(BIN)/python -m benchmarks.gpu --output runs/gpu-benchmark.json

lint: install  ## Check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: install  ## Mend style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: install  ## Build the documentation into site/, and say how to serve it
	$(BIN)/mkdocs build --strict --quiet
	@echo "Serve it at http://localhost:8000: $(BIN)/python -m http.server --directory site 8000"

clean:  ## Remove .venv and caches; runs/ stays
	rm -rf $(VENV) .venv-minimum .pytest_cache .ruff_cache .hypothesis
