# What people and CI both run. Needs Python 3.11 and a JDK 17; Maven comes by itself where it is missing.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.yarnspec-stamp

.PHONY: venv jdk jar docs check format unit integration test demo soak bench clean

venv: $(STAMP)

$(STAMP): setup.cfg pyproject.toml
	@[ -n "$(PYTHON)" ] && "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || \
	    { echo "error: Python 3.11 is missing: install it (Debian, Ubuntu: apt-get install python3.11-venv), or run make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@[ -x $(BIN)/python ] || "$(PYTHON)" -m venv $(VENV) || \
	    { rm -rf $(VENV); echo "error: no virtual environment can be made: install venv (Debian, Ubuntu: apt-get install python3.11-venv)" >&2; exit 2; }
	PYTHONWARNINGS='ignore:Editable installation' $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

jdk:
	@java="$${JAVA_HOME:+$$JAVA_HOME/bin/}javac"; \
	version=$$("$$java" -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p'); \
	[ "$${version:-0}" -ge 17 ] || \
	    { echo "error: a JDK 17 is missing: install it (Debian, Ubuntu: apt-get install openjdk-17-jdk-headless), or set JAVA_HOME to one" >&2; exit 2; }

jar: venv jdk
	@$(BIN)/python -m yarnspec.jvm.build >/dev/null

# The pages that are rendered from declarations in the code, and the picture of the page, which needs chromium. Unit tests
# say when they are behind.
docs: venv
	$(BIN)/python -m yarnspec.reference
	$(BIN)/python -m integration.picture

check: venv
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --config setup.cfg

# Python by ruff, Java by palantir-java-format. Java's format is checked before its tests run.
format: venv jdk
	$(BIN)/ruff format
	$(BIN)/python -m yarnspec.jvm.build --format

unit: venv jdk
	$(BIN)/python -m yarnspec.jvm.build --tests
	$(BIN)/python -m pytest -n logical --dist worksteal --durations=10 tests

# Two processes, each with a mini cluster of its own: in one a good part of two cores stays idle. Not the files with many
# tests first: those with few have the long ones, and the last of these would run alone.
integration: jar
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations=20 integration

# One after the other, in this order, whatever -j says.
test:
	@$(MAKE) --no-print-directory jar
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory unit
	@$(MAKE) --no-print-directory integration

demo: jar
	@$(BIN)/python -m integration.demo

soak: jar
	$(BIN)/python -m integration.soak.journal
	$(BIN)/python -m integration.soak.everystep
	$(BIN)/python -m integration.bench journal
	$(BIN)/python -m pytest tests integration -m 'soak or turn'
	$(BIN)/python -m integration.soak
	$(BIN)/python -m integration.soak chaos --minutes 15

bench: jar
	$(BIN)/python -m integration.bench
	$(BIN)/python -m integration.bench.recovery

clean:
	rm -rf build dist *.egg-info yarnspec/jvm/target yarnspec/jvm/yarnspec.jar
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
