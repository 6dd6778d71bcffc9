"""bench/gpu/carry.py: what it carries is enough for everything that the GPU report imports."""

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytest.importorskip("triton")

ROOT = Path(__file__).parents[2]
OPTIONAL = {"vecchess", "coverage", "pyyaml", "scipy", "tqdm"}
"""These sources, and what numba and torch import where it is installed."""
SHOW = """
import json, sys
from importlib import import_module
from importlib.metadata import packages_distributions
from bench.gpu.sections import SECTIONS

for section in SECTIONS.values():
    import_module(f"bench.gpu.{section.module}")
import_module("bench.gpu.steady_load")
import_module("bench.peers.race")
import_module("snntorch")
import_module("vecchess_cli.commands.train")
import_module("vecchess.train.run_train")
import_module("vecchess.train.distributed.ranks")
distributions = packages_distributions()
roots = {name.partition(".")[0] for name in sys.modules}
print(json.dumps(sorted({own for root in roots for own in distributions.get(root, [])})))
"""


def carry() -> dict[str, tuple[str, ...]]:
    """CARRIED and THERE; the script imports what lies beside it."""
    show = "import carry, json; print(json.dumps([carry.CARRIED, carry.THERE, carry.pinned()]))"
    done = subprocess.run(
        [sys.executable, "-c", show],
        cwd=ROOT / "bench" / "gpu", capture_output=True, text=True, check=True,
    )  # fmt: skip
    carried, there, pins = json.loads(done.stdout)
    assert set(carried) <= set(pins)
    return {"carried": carried, "there": there}


def with_needs(names: tuple[str, ...]) -> set[str]:
    """The packages and all that they need, as far as they are installed here."""
    found: set[str] = set()
    left = [canonicalize_name(name) for name in names]
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        try:
            needs = [Requirement(line) for line in requires(name) or []]
        except PackageNotFoundError:
            continue
        left += [
            canonicalize_name(need.name)
            for need in needs
            if need.marker is None or need.marker.evaluate({"extra": ""})
        ]
    return found


@pytest.mark.slow
def test_nothing_is_imported_that_is_neither_there_nor_carried() -> None:
    lists = carry()
    done = subprocess.run(
        [sys.executable, "-c", SHOW], cwd=ROOT, capture_output=True, text=True, check=True
    )
    imported = {canonicalize_name(name) for name in json.loads(done.stdout)} - OPTIONAL
    carried = {canonicalize_name(name) for name in lists["carried"]}
    assert carried <= imported
    assert imported - carried <= with_needs(lists["there"])


def test_a_folder_with_wheels_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old-1.0-py3-none-any.whl").touch()
    command = [sys.executable, str(ROOT / "bench" / "gpu" / "carry.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "has wheels already" in done.stderr.splitlines()[-1]
