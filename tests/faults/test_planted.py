"""A run of somebody else, with links and pipes under every name that vecchess writes."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.system.commands import inside

VICTIM = b"not to be touched\n"
NAMES = [
    ".lock", "log.jsonl", "status.json", ".partial-status.json", "report.html", "games.pgn",
    "games.csv", "games/.partial-manifest.jsonl", "games/manifest.jsonl", "games/.lock",
    "config.toml", ".partial-config.toml", "lc0", "run_id", ".partial-run_id", "settings.json",
    "metrics.tsv", "live/.partial-board.json", "inflight/.partial-0.npz",
]  # fmt: skip
COMMANDS: dict[str, Callable[[Path], list[str]]] = {
    "report": lambda run: ["report", str(run)],
    "pgn": lambda run: ["export", "pgn", str(run)],
    "csv": lambda run: ["export", "csv", str(run)],
    "lc0": lambda run: ["export", "lc0", str(run)],
    "verify": lambda run: ["games", "verify", str(run)],
    "compact": lambda run: ["games", "compact", str(run)],
    "prune": lambda run: ["games", "prune", str(run), "--keep", "2"],
    "resume": lambda run: ["selfplay", "--run-dir", str(run), "--resume", "--gpus", "cpu", "-q"],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("foreign") / "run"
    command = ["selfplay", "--net", "material", "--games", "4", "--max-plies", "12"]
    done = inside(*command, "--run-dir", str(folder), "--gpus", "cpu", "--quiet")
    assert done.returncode == 0, done.stderr
    return folder


def _plant(place: Path, kind: str, victim: Path) -> None:
    if place.is_dir():
        return
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(victim)


def _look(run: Path, tmp_path: Path, command: str, kind: str, names: list[str]) -> None:
    """Plant ``names`` in a copy of the run, and do something with it."""
    victim, copied = tmp_path / "victim", tmp_path / "copy"
    victim.write_bytes(VICTIM)
    shutil.copytree(run, copied)
    for name in names:
        _plant(copied / name, kind, victim)
    done = inside(*COMMANDS[command](copied))
    assert "Traceback" not in done.stderr
    assert victim.read_bytes() == VICTIM, names
    shutil.rmtree(copied)


PLACES = pytest.mark.parametrize("kind", ["link", "pipe"])
DOINGS = pytest.mark.parametrize("command", COMMANDS)


@pytest.mark.thorough
@PLACES
@DOINGS
def test_all_names_at_once(run: Path, tmp_path: Path, command: str, kind: str) -> None:
    """Nothing outside is touched and nothing hangs."""
    written = [name for name in NAMES if not (run / name).exists()]
    _look(run, tmp_path, command, kind, written)


@pytest.mark.slow
@pytest.mark.timeout(600)
@PLACES
@DOINGS
def test_each_name_alone(run: Path, tmp_path: Path, command: str, kind: str) -> None:
    """Those too that a run needs, so that nothing goes on without them."""
    for name in NAMES:
        _look(run, tmp_path, command, kind, [name])
