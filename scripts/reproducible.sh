#!/bin/sh
# Build the wheel twice, from two copies of the last commit in folders of different names, and say
# whether the two are the same file. $1: the virtual environment to build with. Exit code 3: they differ.
set -eu
venv=${1:-.venv}
cd "$(dirname "$0")/.."
[ -x "$venv/bin/python" ] && venv=$(cd "$venv" && pwd)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH PIP_CONSTRAINT="$PWD/constraints.txt" PIP_DISABLE_PIP_VERSION_CHECK=1
export PATH="$venv/bin:$PATH"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

built() { # in the folder $1
    mkdir -p "$1"
    (umask "$2" && git archive HEAD | tar x -C "$1" && cd "$1" \
        && python -m build --wheel --outdir dist .) >"$scratch/log" 2>&1 || {
        cat "$scratch/log" >&2
        exit 1
    }
    python -m zipfile -l "$1"/dist/*.whl >"$scratch/files"
    grep vecchess/dash/static/index.html "$scratch/files" >/dev/null || {
        echo "the wheel has no pages: npm is missing, or failed" >&2
        exit 1
    }
    grep vecchess/nets/default.safetensors "$scratch/files" >/dev/null || {
        echo "the wheel lacks the network of vecchess" >&2
        exit 1
    }
    sha256sum "$1"/dist/*.whl
}
one=$(built "$scratch/one" 022)
two=$(built "$scratch/another/and/deeper" 077)
echo "$one" | sed 's, .*/,  ,'
if [ "${one%% *}" != "${two%% *}" ]; then
    echo "$two" | sed 's, .*/,  ,'
    echo "the two wheels differ" >&2
    exit 3
fi
