"""Check the licences of everything that is installed, and of the packages the web pages need.

    python scripts/licences.py [--python .venv/bin/python] [--lock web/package-lock.json]

What may pass is in licences.toml. Prints a line for each package whose licence is unknown or not
listed there, and how many were looked at; ends with exit code 3 where there was such a line.
"""

import argparse
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from license_expression import AND, OR, ExpressionError, get_spdx_licensing

ROOT = Path(__file__).parents[1]
NEGATIVE = 3
NOTHING = "UNKNOWN"
LONGEST = 120
"""Longer than any name of a licence: some packages put the text there."""


class Package(NamedTuple):
    """A package and what it says of its licence: the first that is understood counts."""

    name: str
    version: str
    said: tuple[str, ...]


class Policy:
    """What may pass, as in licences.toml."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._allowed = set(values["allowed"])
        self._said = values["said"]
        self._packages = values["packages"]
        self._tolerated = values["tolerated"]
        self._spdx = get_spdx_licensing()

    def objection(self, package: Package) -> str:
        """Why ``package`` may not pass; "" where it may."""
        name = package.name.lower()
        if any(fnmatch(name, pattern) for pattern in self._tolerated):
            return ""
        known = [facts["licence"] for key, facts in self._packages.items() if fnmatch(name, key)]
        said = [text for text in (*known, *package.said) if text not in ("", NOTHING)]
        if not said:
            return "says nothing of its licence"
        for text in said:
            parsed = self._parsed(text)
            if parsed is not None:
                return "" if self._passes(parsed) else f"{text} is not in licences.toml"
        return f"{said[0][:LONGEST]!r} is no licence that licences.toml knows"

    def _parsed(self, text: str) -> Any:
        """An SPDX expression; None for what is none."""
        text = self._said.get(text, text)
        if len(text) > LONGEST or "\n" in text:
            return None
        try:
            return self._spdx.parse(text, validate=True)
        except ExpressionError:
            return None

    def _passes(self, licence: Any) -> bool:
        if isinstance(licence, OR):
            return any(self._passes(part) for part in licence.args)
        if isinstance(licence, AND):
            return all(self._passes(part) for part in licence.args)
        return str(licence) in self._allowed


def installed(python: Path) -> Iterator[Package]:
    """What the environment of the interpreter ``python`` holds."""
    command = [sys.executable, "-m", "piplicenses", "--python", str(python), "--from", "all"]
    done = subprocess.run([*command, "--format", "json"], capture_output=True, check=True)
    for facts in json.loads(done.stdout):
        said = [facts[f"License-{source}"] for source in ("Expression", "Classifier", "Metadata")]
        yield Package(facts["Name"], facts["Version"], tuple(said))


def locked(file: Path) -> Iterator[Package]:
    """What npm's lock file names, for any platform."""
    for path, facts in json.loads(file.read_text())["packages"].items():
        name = path.rpartition("node_modules/")[2]
        if name:
            yield Package(name, facts["version"], (facts.get("license", ""),))


def main() -> int:
    """Check, print; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--lock", type=Path, default=ROOT / "web" / "package-lock.json")
    options = parser.parse_args()
    policy = Policy(tomllib.loads((ROOT / "licences.toml").read_text()))
    packages = [*installed(options.python), *locked(options.lock)]
    objections = [(package, policy.objection(package)) for package in packages]
    refused = [(package, why) for package, why in objections if why]
    for package, why in refused:
        print(f"{package.name} {package.version}: {why}", file=sys.stderr)
    print(f"{len(packages)} packages, {len(refused)} refused")
    return NEGATIVE if refused else 0


if __name__ == "__main__":
    sys.exit(main())
