#!/bin/sh
# Write constraints.txt anew: a pin for everything that any part of vecchess installs, on any platform.
# Pins there are stay, unless they cannot; "--upgrade" lets all move, "--upgrade-package NAME" one.
# $1: the virtual environment with uv; the rest goes to uv.
set -eu
venv=${1:-.venv}
[ $# -eq 0 ] || shift
[ -x "$venv/bin/uv" ] && venv=$(cd "$venv" && pwd)
cd "$(dirname "$0")/.."
new=$(mktemp)
trap 'rm -f "$new" "$new.pins"' EXIT
cp constraints.txt "$new.pins"
"$venv/bin/uv" pip compile pyproject.toml --quiet --universal --python-version 3.11 \
    --all-extras --group dev --group docs --group supply --group build --group fuzz --group mutants --group wasm \
    --no-annotate --no-header --output-file "$new.pins" "$@" >/dev/null
{
    echo "# Versions the Makefile sets up with. pyproject.toml states what is supported; this states what is"
    echo "# tested. Everything that gets installed, on any platform; \`make constraints\` writes it."
    cat "$new.pins"
} >"$new"
cat "$new" >constraints.txt
