"""``vecchess replay`` as a user runs it: what it prints, and how it ends."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.replay.runs import DRAWN, GUMBEL, record, run_of, tiny
from tests.system.commands import inside, last_json
from vecchess.selfplay.worker.networks import store_net
from vecchess.store.run_folder import RunFolder

CPU = ("--gpus", "cpu")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Eight games, searched."""
    return run_of(tmp_path_factory.mktemp("runs") / "run", GUMBEL, 8, shards=2)


@pytest.fixture(scope="module")
def forged(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Eight games, of which number 3 has another hash at ply 9."""
    genuine = run_of(tmp_path_factory.mktemp("runs") / "genuine", DRAWN, 8)
    records = genuine.records()
    tag = records.tag.copy()
    tag[records.offsets[3] + 9] += 1
    run = RunFolder(genuine.path.with_name("forged"))
    run.create()
    for name in ("config.toml", "pins.json"):
        (run.path / name).write_bytes((genuine.path / name).read_bytes())
    store_net(tiny(), run)
    record(run, replace(records, tag=tag))
    return run


def test_one_game(run: RunFolder) -> None:
    done = inside("replay", run.path, 5, *CPU, "--slots", 1, "--json")
    facts = last_json(done)
    records = run.records()
    assert (facts["schema"], facts["identical"]) == (1, True)
    assert len(facts["plies"]) == records.lengths[5]
    for ply, found in enumerate(facts["plies"]):
        assert found["visits"] == records.visits[records.offsets[5] + ply]
        assert found["san"] in done.stderr
    assert "bit-identical" in done.stderr
    assert done.stdout.count("\n") == 1


def test_many_games(run: RunFolder) -> None:
    done = inside("replay", run.path, "--verify-all", 100, *CPU, "--movers", 3, "--json")
    facts = last_json(done)
    assert (facts["games"], facts["identical"], facts["different"]) == (8, 8, 0)
    assert "all bit-identical" in done.stderr


def test_a_difference_has_an_exit_code_of_its_own(forged: RunFolder) -> None:
    one = inside("replay", forged.path, 3, *CPU, "--json")
    assert one.returncode == 3
    rows = one.stderr.splitlines()
    row = next(line for line in rows if line.split()[:3] == ["3", "9", "5..."])
    assert "hash of the answers so far: " in row
    assert json.loads(one.stdout)["difference"]["ply"] == 9
    assert inside("replay", forged.path, 2, *CPU, "--quiet").returncode == 0
    everything = inside("replay", forged.path, "--verify-all", 8, *CPU, "--json")
    facts = json.loads(everything.stdout)
    assert everything.returncode == 3
    assert (facts["identical"], facts["different"]) == (7, 1)
    assert "1 differ" in everything.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name one game, or --verify-all"),
        ([1, "--verify-all", 5], "one of the two"),
        ([8], "has no game 8: there are 8, from 0 to 7"),
        (["--verify-all", 0], "--verify-all"),
        ([1, "--gpus", "cpu:x"], "cpu:x"),
        ([1, "--backend", "abacus", *CPU], "abacus"),
        ([1, "--slots", 1 << 21, *CPU], "slots"),
    ],
)
def test_bad_input_gets_one_line(run: RunFolder, arguments: list[object], words: str) -> None:
    done = inside("replay", run.path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_a_network_that_is_gone(run: RunFolder, tmp_path: Path) -> None:
    copy = RunFolder(tmp_path / "copy")
    copy.create()
    for name in ("config.toml", "pins.json"):
        (copy.path / name).write_bytes((run.path / name).read_bytes())
    record(copy, run.records().take(np.arange(2)))
    done = inside("replay", copy.path, 1, *CPU)
    assert done.returncode == 2
    assert "has no network" in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
