"""The check of licences: what passes, what does not, and that it looks at everything."""

import importlib.util
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("license_expression", reason="make licences installs what this needs")
pytest.importorskip("piplicenses", reason="make licences installs what this needs")

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "scripts" / "licences.py"


@pytest.fixture(scope="module")
def licences() -> ModuleType:
    spec = importlib.util.spec_from_file_location("licences", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (["MIT"], ""),
        (["UNKNOWN", "BSD License", "BSD"], ""),
        (["UNKNOWN", "Apache Software License"], ""),
        (["GPL-2.0-only OR MIT"], ""),
        (["MIT AND BSD-3-Clause"], ""),
        (["Apache-2.0 WITH LLVM-exception"], ""),
        (["x" * 500, "MIT"], ""),
        (["GPL-2.0-only"], "GPL-2.0-only is not in licences.toml"),
        (["MIT AND GPL-2.0-only"], "is not in licences.toml"),
        (["AGPL-3.0-only"], "is not in licences.toml"),
        (["UNKNOWN", "UNKNOWN", "UNKNOWN"], "says nothing of its licence"),
        ([], "says nothing of its licence"),
        (["Somebody's own terms"], "is no licence that licences.toml knows"),
        (["LicenseRef-Proprietary"], "is no licence that licences.toml knows"),
    ],
)
def test_what_passes(licences: ModuleType, said: list[str], why: str) -> None:
    policy = licences.Policy(tomllib.loads((ROOT / "licences.toml").read_text()))
    objection = policy.objection(licences.Package("some", "1.0", tuple(said)))
    assert objection == why if not why else why in objection


@pytest.mark.thorough
def test_packages_of_the_pages_are_looked_at(licences: ModuleType, tmp_path: Path) -> None:
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text())
    names = {package.name for package in licences.locked(ROOT / "web" / "package-lock.json")}
    assert {"preact", "uplot", "chessground", "esbuild", "@esbuild/linux-x64"} <= names
    assert len(names) == len(lock["packages"]) - 1
    as_it_is, changed = tmp_path / "as_it_is.json", tmp_path / "changed.json"
    as_it_is.write_text(json.dumps(lock))
    lock["packages"]["node_modules/uplot"]["license"] = "BUSL-1.1"
    changed.write_text(json.dumps(lock))
    before, after = checked(as_it_is), checked(changed)
    refused = before.stderr.splitlines()  # what else this environment may hold
    new = [line for line in after.stderr.splitlines() if line not in refused]
    assert [line.split(": ")[0] for line in new] == ["uplot 1.6.32"]
    assert (before.returncode, after.returncode) == (3 if refused else 0, 3)
    assert after.stdout.endswith(f" packages, {len(refused) + 1} refused\n")


def checked(lock: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRAM), "--lock", str(lock)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
