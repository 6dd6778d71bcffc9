#!/bin/sh
# Run a command and show what it printed only where it fails: `pip --quiet` still prints warnings.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$@" >"$log" 2>&1 && exit 0
code=$?
cat "$log" >&2
exit "$code"
