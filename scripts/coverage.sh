#!/bin/sh
# Which lines and branches of the rules, the store and self-play the tests reach; $1: the environment.
# Compiled kernels tell nothing, so what is marked "plain" runs a second time with the kernels in the
# interpreter. What is written in LLVM's language runs while it is compiled: for the rules the cache
# is empty. Whole runs reach what puts the parts together; where a process is killed in them, what it
# has measured is torn, and combine says so.
set -eu
python=$1/bin/python
folder=build/coverage
rm -rf "$folder"
mkdir -p "$folder"
export COVERAGE_FILE="$PWD/$folder/data"
run() { "$python" -m coverage run -m pytest -q -p no:cacheprovider --timeout 1200 "$@"; }

run --noconftest -p tests.plain.interpreted -m plain tests/chess tests/store tests/selfplay
NUMBA_CACHE_DIR="$PWD/$folder/numba" run -m "not slow" tests/chess tests/plain
NUMBA_CACHE_DIR="$PWD/$folder/numba" run tests/chess/test_bitboards.py -k without_extensions
run -m "not slow" tests/store tests/selfplay tests/faults \
    tests/system/test_selfplay.py tests/system/test_search.py
"$python" -m coverage combine -q
"$python" -m coverage json -q -o "$folder/coverage.json"
"$python" scripts/coverage_floor.py "$folder/coverage.json"
