# Inferometer's commands. `make up` and `make test` need Python 3.11, a C compiler and a shell.

PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed

.PHONY: up test lint bench install browser clean

up: $(INSTALLED)
	@exec $(BIN)/python -m webapp.embedded up

test: $(INSTALLED) lint browser
	$(BIN)/python -m pytest

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	INFEROMETER_SECRET_KEY=lint $(BIN)/python manage.py makemigrations --check --dry-run

bench: $(INSTALLED)
	$(BIN)/python -m tests.bench

install: $(INSTALLED)

browser:
	@sh tests/browser/need_chromium.sh

# Installed again only when requirements.txt changes. Lines "# no-deps: NAME==VERSION" name packages
# whose own dependencies are not wanted.
$(INSTALLED): requirements.txt
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) is missing; install Python 3.11 or run with PYTHON=/path/to/it" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "make: the virtual environment cannot be made; install the venv module of $(PYTHON)" >&2; exit 1; }
	@echo "installing what requirements.txt names; this takes some minutes the first time"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@sed -n 's/^# no-deps: *\([^ ]*\).*/\1/p' requirements.txt | while read -r package; do \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps "$$package" || exit 1; done
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache
