# Two commands do everything on a fresh machine with make and Python 3.11 to 3.13:
#   make demo    the main job, shown on a scratch state root
#   make test    all checks and tests of one Python
# Everything is installed into .venv from the locked, hashed versions in requirements/.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null && { command -v $$p; break; }; done)
VENV ?= .venv
BIN := $(VENV)/bin
PROFILE ?= dev
export EUKHED_PROFILE := $(PROFILE)
# a daemon of many processes shares its compiled modules; a shell that forbids them makes each compile its own
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check laws long bench peers lock clean picture

demo: $(VENV)/.ready
	$(BIN)/eukhed demo

test: $(VENV)/.ready check
	$(BIN)/pytest -n 2 --dist worksteal -m "not real and not long and not systemd"
	$(BIN)/pytest -n 2 --dist loadgroup -m "(real or systemd) and not long and not alone"
	$(BIN)/pytest -m "alone and not long"

check: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# the laws alone: each against its model, its vectors and its text
laws: $(VENV)/.ready
	$(BIN)/pytest -n 2 --dist worksteal -m "not real and not long and not systemd" -k "law or crash or codec"

# minutes: every long test, and hypothesis with its long profile; then each law inverted, for a real test to see
long: $(VENV)/.ready
	EUKHED_PROFILE=long $(BIN)/pytest
	$(BIN)/python -m tests.inversions

bench: $(VENV)/.ready
	for script in bench/*.py; do $(BIN)/python $$script || exit 1; done

# the tables of docs/peers.md; what cannot be downloaded is told in them
peers: $(VENV)/.ready
	$(BIN)/python bench/peers.py --docs docs/peers.md

$(VENV)/.ready: requirements/dev.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "eukhed needs Python 3.11, 3.12 or 3.13"; exit 1; }
	if command -v uv >/dev/null; then \
		uv venv -q --allow-existing --python $(PYTHON) $(VENV) && \
		uv pip install -q --python $(BIN)/python --require-hashes -r requirements/dev.txt && \
		PATH="$(abspath $(BIN)):$$PATH" uv pip install -q --python $(BIN)/python --no-deps --no-build-isolation -e . ; \
	else \
		$(PYTHON) -m venv $(VENV) && \
		$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt && \
		PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e . ; \
	fi
	touch $@

# after a change of dependencies in pyproject.toml; needs uv
lock:
	uv pip compile pyproject.toml --universal --generate-hashes --python-version 3.11 --no-emit-index-url \
		--no-header --no-annotate -q -o requirements/runtime.txt
	uv pip compile pyproject.toml --group dev --universal --generate-hashes --python-version 3.11 --no-emit-index-url \
		--no-header --no-annotate -q -o requirements/dev.txt

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist

# the README's picture, made by the demonstration itself
picture: $(VENV)/.ready
	$(BIN)/eukhed demo --svg docs/demo.svg
