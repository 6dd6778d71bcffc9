#!/bin/sh
# What is installed in the virtual environment $1, and what the web pages are made with, as CycloneDX
# JSON in dist/. The same environment gives the same first file: its time is that of the last commit.
set -eu
venv=${1:-.venv}
cd "$(dirname "$0")/.."
venv=$(cd "$venv" && pwd)
export PATH="$PATH:$venv/bin"
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
fi
export SOURCE_DATE_EPOCH
mkdir -p dist
"$venv/bin/cyclonedx-py" environment "${2:-$venv/bin/python}" --pyproject pyproject.toml \
    --output-reproducible --output-file dist/vecchess.cdx.json
echo dist/vecchess.cdx.json
npm_has_sbom() { case $(npm --version 2>/dev/null) in [1-9][0-9].*) true ;; *) false ;; esac; }
npm_has_sbom || {
    echo "no list of the web pages' packages: there is no npm 10 or newer (make pages brings one)" >&2
    exit 1
}
(cd web && npm sbom --loglevel=error --sbom-format cyclonedx --package-lock-only) >dist/vecchess-pages.cdx.json
echo dist/vecchess-pages.cdx.json
