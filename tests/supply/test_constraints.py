"""constraints.txt pins everything that gets installed."""

import ast
import sys
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINES = (ROOT / "constraints.txt").read_text().splitlines()
PINS = [Requirement(line) for line in LINES if line and not line.startswith("#")]
PINNED = {canonicalize_name(pin.name) for pin in PINS}


def asked_for() -> list[str]:
    """What pyproject.toml names, in whatever part."""
    parts = [PROJECT["project"]["dependencies"], PROJECT["build-system"]["requires"]]
    parts += PROJECT["project"]["optional-dependencies"].values()
    parts += PROJECT["dependency-groups"].values()
    return [line for part in parts for line in part]


@cache
def needs(name: str, extra: str) -> tuple[Requirement, ...]:
    """What an installed package requires here; nothing of one that is not installed."""
    try:
        lines = requires(name) or []
    except PackageNotFoundError:
        return ()
    found = [Requirement(line) for line in lines]
    return tuple(one for one in found if not one.marker or one.marker.evaluate({"extra": extra}))


def test_each_pin_is_one_version() -> None:
    for pin in PINS:
        (specifier,) = pin.specifier
        assert specifier.operator == "==", pin
        assert not pin.extras, f"{pin}: pip refuses extras in constraints"


def test_what_is_asked_for_is_pinned_within_its_bounds() -> None:
    for line in asked_for():
        wanted = Requirement(line)
        pins = [
            pin for pin in PINS if canonicalize_name(pin.name) == canonicalize_name(wanted.name)
        ]
        assert pins, f"{wanted.name} has no pin: make constraints"
        for pin in pins:
            (specifier,) = pin.specifier
            assert specifier.version in wanted.specifier, f"{pin} is not {wanted}"


def test_what_that_needs_is_pinned_too() -> None:
    """All the way down, as far as it is installed here."""
    waiting = [(Requirement(line), "") for line in asked_for()]
    seen: set[tuple[str, str]] = set()
    while waiting:
        wanted, by = waiting.pop()
        name = canonicalize_name(wanted.name)
        assert name in PINNED, f"{name}, which {by} needs, has no pin: make constraints"
        for extra in ("", *wanted.extras):
            if (name, extra) not in seen:
                seen.add((name, extra))
                waiting += [(one, name) for one in needs(name, extra)]
    assert len(seen) > 60


@pytest.mark.parametrize(("name", "version"), [("torch", "2.13.0"), ("triton", "3.7.1")])
def test_what_kernels_are_written_for(name: str, version: str) -> None:
    (pin,) = [pin for pin in PINS if pin.name == name]
    assert str(pin.specifier) == f"=={version}"


BROUGHT_ALONG = {
    "llvmlite": "numba",
    "h5py": "nir",
    "triton": "torch",
    "norse": "its users",
    "pydantic_core": "pydantic",
}
"""Modules that we import, and who installs them."""


@pytest.mark.thorough
def test_what_is_imported_is_asked_for() -> None:
    """By the requirements or an extra: what only a tool of the developers brings is not there."""
    project = PROJECT["project"]
    lines = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    named = {canonicalize_name(Requirement(line).name) for line in lines}
    owners = packages_distributions()
    imported = set[str]()
    for file in [*(ROOT / "src").rglob("*.py"), *(ROOT / "cli").rglob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(str(node.module).partition(".")[0])
    others = imported - sys.stdlib_module_names - {"vecchess", "vecchess_cli"} - set(BROUGHT_ALONG)
    assert {"numpy", "tensorboard"} <= others
    unknown = [
        module
        for module in sorted(others)
        if not named & {canonicalize_name(name) for name in owners.get(module, [module])}
    ]
    assert unknown == []
