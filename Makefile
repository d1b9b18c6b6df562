# make run          the app on http://localhost:8501 (another port: make run PORT=8600)
# make test         five minutes of tests, doctests and journeys in a browser included (some of them: make test ARGS="-k spline")
# make test-all     these and all others: rare combinations, simulations, every page in a browser, engines, MLflow
# make test-engines  the counting query in every engine, PostgreSQL and a Spark cluster included; these two are skipped with the reason where PostgreSQL or Java is not installed
# make test-mlflow  reports and metrics in the newest MLflow, in an environment of its own
# make mutate       one changed operator or number at a time: does a test notice?
# make fuzz         20,000 odd, damaged and forged inputs: read right, or refused in words (more: make fuzz ARGS="--inputs 200000"; exports of other programs: ARGS="--source foreign")
# make check        lint, format, types, who may import whom, rules about text and files
# make docs         the documentation site, into site/ (no network needed)
# make wheel        the wheel, installed and used in a clean environment of each Python from 3.11 to 3.14 that is here
# make bench        speed and quality benchmarks
# make picture      the pictures of README.md and of the tutorials, into docs/
# make reproduce    the published tables and figures, into docs/ (some: make reproduce ARGS="ks corp")
# make screenshots  every page, light and dark, four widths, into screenshots/
# make lock         container/requirements.lock, every package of the server with its hashes, and the bill of materials beside it
# make clean        remove caches and test artefacts; .venv stays

PYTHON ?= python3
PORT ?= 8501
VENV := .venv/bin/python
PIP := $(VENV) -m pip --disable-pip-version-check install --quiet

.DELETE_ON_ERROR:
.PHONY: run test test-all test-engines test-mlflow mutate fuzz check check-rules check-types docs wheel bench reproduce picture browsers screenshots lock clean

run: .venv/app.stamp
	$(VENV) -m calib serve --port $(PORT)

# loadfile: a file's tests stay on one core, so its browser tests share one server. In the order of
# the files: those of the browser take longest, and come first. Each core has its tests: threads of
# BLAS beside them would only wait for each other. What is compiled is kept, also where the shell
# says otherwise: a hundred processes of the tests would each compile the library again.
TEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(VENV) -m pytest -n auto --dist loadfile --no-loadscope-reorder

test: .venv/dev.stamp browsers
	$(TEST) $(ARGS)

test-all: .venv/dev.stamp browsers
	$(TEST) -m "not engines and not lint" --hypothesis-profile=thorough $(ARGS)
	$(MAKE) test-engines test-mlflow

# One process for Spark Connect, one for classic Spark: their servers have their own.
test-engines: .venv/engines.stamp
	$(TEST) -n 2 --dist loadgroup -m engines tests/scanning $(ARGS)

test-mlflow: .venv/dev.stamp
	$(VENV) -m uv run --quiet --no-project --isolated --with ".[mlflow,app]" --with pytest --with hypothesis \
	    python -m pytest -p no:cacheprovider tests/integrations $(ARGS)

mutate: .venv/dev.stamp
	$(VENV) -m tests.mutate $(ARGS)

fuzz: .venv/dev.stamp
	$(VENV) -m tests.fuzz $(ARGS)

# Types take as long as all other rules, so each half has a core.
check: .venv/dev.stamp
	@$(MAKE) --no-print-directory --jobs 2 --output-sync check-rules check-types

check-rules:
	$(VENV) -m ruff check
	$(VENV) -m ruff format --check
	.venv/bin/lint-imports
	$(VENV) -m pytest -q -m lint tests/lints

check-types:
	$(VENV) -m mypy

docs: .venv/dev.stamp
	NO_MKDOCS_2_WARNING=1 $(VENV) -m mkdocs build # with --quiet no warning would count

wheel: .venv/dev.stamp
	.ci/wheel $(ARGS)

bench: .venv/dev.stamp
	$(VENV) -m benchmarks $(ARGS)

picture: .venv/dev.stamp browsers
	$(VENV) -m benchmarks.picture

reproduce: .venv/dev.stamp
	$(VENV) -m benchmarks.reproduce $(ARGS)

browsers: .venv/dev.stamp
	@$(VENV) -m tests.browser.chromium

screenshots: .venv/dev.stamp browsers
	$(VENV) -m tests.browser.screenshots

# A newer version of a package: change requirements.txt, then this.
lock: .venv/dev.stamp
	cd container && ../.venv/bin/uv pip compile requirements.in --quiet --no-header --generate-hashes --universal --python-version 3.11 --output-file requirements.lock
	cd container && ../.venv/bin/cyclonedx-py requirements --output-reproducible --output-format JSON --output-file bom.json requirements.lock

clean:
	rm -rf .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache build dist site *.egg-info screenshots test-results
	find . -path ./.venv -prune -o -name __pycache__ -prune -exec rm -rf {} +

# The stamps make a second call instant; a changed requirements file installs again.
.venv/app.stamp: requirements.txt | $(VENV)
	@echo "Installing requirements.txt into .venv (once, a minute or two)"
	$(PIP) -r requirements.txt
	@touch $@

.venv/dev.stamp: requirements-dev.txt .venv/app.stamp
	@echo "Installing requirements-dev.txt into .venv"
	$(PIP) -r requirements-dev.txt
	@touch $@

.venv/engines.stamp: requirements-engines.txt .venv/dev.stamp
	@echo "Installing requirements-engines.txt into .venv (Spark, about 450 MB)"
	$(PIP) -r requirements-engines.txt
	@touch $@

$(VENV):
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or later is needed, this is " + sys.version.split()[0] + ". Have a newer one? make run PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
