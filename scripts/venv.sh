#!/bin/sh
# Make the virtual environment $2 with the interpreter $1, on a bare Debian or Ubuntu too.
set -eu
python=$1
venv=$2
root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "vecchess needs Python 3.11 or newer; $python is older. Try: make PYTHON=python3.11" >&2
    exit 1
fi
upgrade_pip() { sh scripts/quietly.sh "$venv/bin/pip" install --disable-pip-version-check "pip>=25.1"; }
if [ -x "$venv/bin/pip" ]; then
    upgrade_pip  # dependency groups need it
    exit 0
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "installing python3-venv" >&2
    if ! { root apt-get update -qq && root apt-get install -y -qq python3-venv; } >/dev/null; then
        echo "$python has no venv module. Install it first: apt-get install python3-venv" >&2
        exit 1
    fi
fi
rm -rf "$venv"
"$python" -m venv "$venv"
upgrade_pip
