#!/bin/sh
# install.sh FOLDER: the app with its locked packages in an environment of its own. The Dockerfile runs this, and so
# does the test of it where there is no container engine.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
python3 -m venv "$1"
"$1/bin/python" -m pip install --quiet --require-hashes --requirement "$source/container/requirements.lock"
"$1/bin/python" -m pip install --quiet --no-deps --no-index --no-build-isolation "$source"
"$1/bin/calib" --version
