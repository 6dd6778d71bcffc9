#!/bin/sh
# Compile the kernels of pages without a server to WebAssembly, if their sources have changed.
# $1: the virtual environment, into which the linker is installed.
set -eu
venv=${1:-.venv}
kernels=src/vecchess/browser/static/kernels.wasm
cd "$(dirname "$0")/.."

"$venv/bin/python" scripts/wasm.py --is-current "$kernels" && exit 0
echo "compiling the kernels to WebAssembly: some minutes" >&2
mkdir -p "$(dirname "$kernels")"
sh scripts/quietly.sh "$venv/bin/pip" install --disable-pip-version-check -c constraints.txt --group wasm
"$venv/bin/python" -W ignore scripts/wasm.py "$kernels"
