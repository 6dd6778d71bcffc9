"""Self-play under faults, in small; ``python -m tests.faults.torture MINUTES`` takes hours."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bench.usage import descendants, held_by

from tests.faults import injector as injectors
from tests.faults.injector import Fault, Injector
from tests.faults.invariants import broken_in_progress, broken_invariants
from tests.faults.torture import SETTINGS, Torture, num_tracebacks
from tests.selfplay.playing import play
from vecchess.config import GameConfig
from vecchess.errors import ConfigError
from vecchess.runtime.atomic_write import write_atomically
from vecchess.store.manifest import ShardEntry
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import write_shard

TORTURE = (sys.executable, "-m", "tests.faults.torture")


@pytest.mark.slow
@pytest.mark.timeout(500)
def test_a_run_that_is_tortured_loses_nothing(tmp_path: Path) -> None:
    """A few kills of a short run, with all faults in play."""
    lines = list[str]()
    settings = (replace(SETTINGS[1], num_games=400),)
    torture = Torture(11, lines.append, settings, tmp_path, longest_s=120)
    report = torture.run(minutes=4, kills=1)
    assert report["broken"] == []
    assert report["runs"] >= 1
    assert report["kills"] >= 1
    assert os.listdir(tmp_path) == []
    assert "nothing is lost" in lines[-1]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_kind_of_run() -> None:
    done = subprocess.run(
        [*TORTURE, "10", "--kills=60", "--seed=3"],
        capture_output=True, text=True, check=False, timeout=1500,
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert (done.returncode, report["broken"]) == (0, [])
    assert report["kills"] >= 60


def test_torture_ends_when_it_is_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends what it has begun, and says what it found until then."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = subprocess.Popen(
        [*TORTURE, "5"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not (playing := descendants(process.pid)):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 75, err
    assert (json.loads(out)["stopped_by"], json.loads(out)["broken"]) == ("SIGTERM", [])
    assert "stopped by SIGTERM" in err
    deadline = time.monotonic() + 20  # a killed process is there until its parent is told
    while any(held_by(pid) for pid in playing):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert os.listdir(tmp_path) == []


def test_a_worker_that_never_heard_what_it_is_may_say_so() -> None:
    """Its supervisor was killed between starting it and telling it. Otherwise the fault is ours."""
    ours, its = os.pipe()
    os.close(its)
    program = f"from multiprocessing.spawn import spawn_main; spawn_main(pipe_handle={ours})"
    done = subprocess.run(
        [sys.executable, "-c", program, "--multiprocessing-fork"], pass_fds=[ours],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    os.close(ours)
    assert "EOFError" in done.stderr
    assert num_tracebacks(done.stderr, -signal.SIGKILL) == 0
    assert num_tracebacks(done.stderr, 1) == 1
    assert num_tracebacks(done.stderr + "Traceback ...", -signal.SIGKILL) == 1


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, str]:
    """A run of 12 games in two shards."""
    run = RunFolder(tmp_path_factory.mktemp("complete") / "run")
    run.create()
    run.config.write_text("")
    games = play(GameConfig(max_plies=12), 12)
    manifest = run.manifest()
    for name, first in (("a.npz", 0), ("b.npz", 6)):
        part = games.take(np.arange(first, first + 6))
        sha256 = write_shard(run.games / name, part)
        manifest.append(ShardEntry.of(name, sha256, part))
    return run, games.digest()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("", ""),
        ("lose a line", "games are lost, the first is 6"),
        ("list a shard twice", "lists a.npz twice"),
        ("leave a file", "is in no manifest"),
        ("leave a part", "half written"),
        ("leave a saved game", "in progress"),
        ("miscount", "does not hold what its line counts"),
        ("flip a bit", "sha256"),
        ("other games", "differ from those played without faults"),
    ],
)
def test_what_is_broken_is_seen(
    damage: str, said: str, complete: tuple[RunFolder, str], tmp_path: Path
) -> None:
    shutil.copytree(complete[0].path, tmp_path / "run")
    run, digest = RunFolder(tmp_path / "run"), complete[1]
    manifest, in_progress = run.manifest().path, True
    lines = manifest.read_text().splitlines(keepends=True)
    if damage == "lose a line":
        manifest.write_text(lines[0] + lines[1])
        (run.games / "b.npz").unlink()
    elif damage == "list a shard twice":
        manifest.write_text("".join([*lines, lines[1]]))
        in_progress = False
    elif damage == "leave a file":
        shutil.copy(run.games / "a.npz", run.games / "c.npz")
    elif damage == "leave a part":
        (run.games / ".partial-c.npz").touch()
    elif damage == "leave a saved game":
        run.inflight.mkdir()
        (run.inflight / "a.npz").touch()
    elif damage == "miscount":
        line = json.loads(lines[1])
        line["stats"]["plies"] += 1
        manifest.write_text(lines[0] + json.dumps(line) + "\n" + lines[2])
        in_progress = False
    elif damage == "flip a bit":
        data = bytearray((run.games / "a.npz").read_bytes())
        data[len(data) // 2] ^= 1
        (run.games / "a.npz").write_bytes(data)
        in_progress = False
    elif damage == "other games":
        digest = "0" * 64
    broken = broken_invariants(run, 12, digest)
    assert any(said in line for line in broken) == bool(said), broken
    assert (broken_in_progress(run, 12) == []) == in_progress


def test_faults_in_words() -> None:
    for text in ("kill at shard named 3", "full at any 57 for 0.5", "broken at manifest 1"):
        assert str(Fault.parse(text)) == text
    for text in ("", "kill at home 1", "kiss at shard 1", "kill at shard"):
        with pytest.raises(ConfigError, match="is no fault"):
            Fault.parse(text)


def test_a_fault_strikes_where_it_is_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit events of real writes, told to an injector that is not installed."""
    events = list[tuple[str, tuple[object, ...]]]()
    monkeypatch.setattr(injectors.os, "kill", lambda pid, number: struck.append(number))
    watched = [tmp_path / "run" / "games" / name for name in ("a.npz", "b.npz")]
    watched[0].parent.mkdir(parents=True)
    heard = _audited(lambda: [write_atomically(path, b"x") for path in watched])
    events += [event for event in heard if event[0] in ("open", "os.rename")]

    for text, times in (
        ("kill at shard named 2", 1),
        ("kill at shard named 3", 0),
        ("kill at shard 1", 1),
        ("kill at any 4", 1),
        ("kill at manifest 1", 0),
    ):
        struck = list[int]()
        injector = Injector(Fault.parse(text), str(tmp_path / "run"))
        for event in events:
            injector.on_audit_event(*event)
        assert len(struck) == times, text

    now = [0.0]
    full = Injector(Fault.parse("full at shard 2 for 1"), str(tmp_path / "run"), lambda: now[0])
    refused = list[int | None]()
    for event in [*events, *events]:
        now[0] += 0.3
        try:
            full.on_audit_event(*event)
        except OSError as error:
            refused.append(error.errno)
    assert set(refused) == {errno.ENOSPC}
    assert 1 < len(refused) < len(events), "for a while only"
    elsewhere = Injector(Fault.parse("full at any 1 for 9"), "/elsewhere", lambda: 1.0)
    for event in events:
        elsewhere.on_audit_event(*event)


def _audited(do: Callable[[], object]) -> list[tuple[str, tuple[object, ...]]]:
    events = list[tuple[str, tuple[object, ...]]]()
    listening = [True]
    sys.addaudithook(lambda *event: events.append(event) if listening[0] else None)
    do()
    listening[0] = False
    return events
