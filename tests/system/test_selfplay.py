"""Whole runs of ``vecchess selfplay``: the same games however they are split, and no game lost."""

import csv
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import chess.pgn
import numpy as np
import pytest
from bench.fake_device import FAKE

from tests.export.lc0_reader import read_chunk
from tests.nets import FOUR_STEPS
from tests.system.commands import SHORT, games, inside, last_json, start, vecchess, workers_of
from vecchess.chess.rules import Termination
from vecchess.store.inflight import read_saved
from vecchess.store.metrics import read_metrics
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import read_shard


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 12 short games by one worker; ``stdout`` and ``stderr`` of it in its folder. The
    file of its network is gone: what follows is played with the run's own copy."""
    folder = tmp_path_factory.mktemp("runs")
    run, net = folder / "reference", folder / "tiny.safetensors"
    assert inside("net", "new", FOUR_STEPS, "--out", net).returncode == 0
    done = inside("selfplay", *SHORT, "--net", net, "--games", 12, "--run-dir", run)
    assert done.returncode == 0, done.stderr
    net.unlink()
    (run / "stdout").write_text(done.stdout)
    (run / "stderr").write_text(done.stderr)
    return run


def test_the_run_folder(reference: Path) -> None:
    assert {path.name for path in reference.iterdir()} >= {"config.toml", "status.json", "games"}
    summary = json.loads((reference / "status.json").read_text())["summary"]
    assert (summary["games"], summary["plies"]) == (12, games(reference).lengths.sum())
    latest = json.loads((reference / "nets/latest.json").read_text())
    assert (reference / "nets" / latest["file"]).is_file()
    assert set(games(reference).nets) == {latest["sha256"]}


def test_two_workers_other_slots_same_games(reference: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    options = ["--net", FOUR_STEPS, "--gpus", "cpu:2", "--slots", 3, "--concurrent-games", 5]
    options += ["--movers", 2]
    done = inside("selfplay", *SHORT, *options, "--games", 12, "--run-dir", run, "--json")
    assert last_json(done)["games"] == 12
    assert games(run).digest() == games(reference).digest()


@pytest.mark.slow
def test_the_reference_backend_plays_the_same_games(reference: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    options = ["--net", FOUR_STEPS, "--backend", "reference", "--games", 12, "--run-dir", run]
    assert vecchess("selfplay", *SHORT, *options).returncode == 0
    assert games(run).digest() == games(reference).digest()


def test_without_a_terminal_lines_are_plain(reference: Path) -> None:
    stdout, stderr = ((reference / name).read_text() for name in ("stdout", "stderr"))
    assert "\x1b" not in stdout + stderr
    assert "12 of 12" in stdout


def test_exported_pgn_agrees_with_python_chess(reference: Path, tmp_path: Path) -> None:
    out = tmp_path / "games.pgn"
    assert last_json(inside("export", "pgn", reference, "--out", out, "--json"))["games"] == 12
    with out.open() as file:
        for number in range(12):
            game = chess.pgn.read_game(file)
            assert game is not None
            assert not game.errors
            assert game.headers["Round"] == str(number)
            board = game.end().board()
            assert len(board.move_stack) == int(game.headers["PlyCount"])
            judged = [game, *game.mainline()][:-1]
            assert all(node.eval() is not None for node in judged)
            assert all("[%wdl " in node.comment and "[%steps " in node.comment for node in judged)
            outcome = board.outcome(claim_draw=True)
            if game.headers["Termination"] == "ply cap":
                assert (len(board.move_stack), game.headers["Result"]) == (30, "1/2-1/2")
            else:
                assert outcome is not None
                assert outcome.result() == game.headers["Result"]
        assert chess.pgn.read_game(file) is None


def test_a_run_in_other_formats(reference: Path, tmp_path: Path) -> None:
    plies = games(reference).lengths
    chunks = tmp_path / "chunks"
    some = inside("export", "lc0", reference, "--out", chunks, "--games", "2-4", "--json")
    assert last_json(some) == {
        "schema": 1, "games": 3, "plies": plies[2:5].sum(), "out": str(chunks)
    }  # fmt: skip
    for number in (2, 3, 4):
        assert len(read_chunk(chunks / f"game_{number:06d}.gz")) == plies[number]
    table = inside("export", "csv", reference, "--out", "-")
    assert table.returncode == 0, table.stderr
    rows = list(csv.DictReader(table.stdout.splitlines()))
    assert [int(row["plies"]) for row in rows] == plies.tolist()


def test_the_network_of_a_run_as_onnx(reference: Path, tmp_path: Path) -> None:
    (net,) = (reference / "nets").glob("*.safetensors")
    out = tmp_path / "net.onnx"
    facts = last_json(inside("export", "onnx", net, "--steps", 1, "--out", out, "--json"))
    assert facts["parity"]["different"] == 0
    assert facts["parity"]["positions"] == 256
    assert (facts["written"], facts["bytes"]) == (True, out.stat().st_size)
    assert facts["sha256"] in games(reference).nets


NUM_LONG = 48
LONG = [
    "--net", "material", "--max-plies", "60", "--games", str(NUM_LONG), "--slots", "4",
    "--shard-interval-s", "0.3", "--backend", f"{FAKE}?latency=8ms",
]  # fmt: skip
"""Eight seconds with two workers, however fast the machine is: a run is still at it when something
is done to it. Its processes import no torch."""
AT_FULL_SPEED = ["--backend", "auto"]


def wait_for_a_shard(run: Path) -> None:
    deadline = time.monotonic() + 120
    manifest = run / "games/manifest.jsonl"
    while not manifest.exists() or manifest.read_bytes().count(b"\n") < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def assert_each_game_once(run: Path, num_games: int) -> None:
    recorded = games(run)
    assert recorded.numbers.tolist() == list(range(num_games))


def status_of(run: Path) -> dict[str, Any]:
    status: dict[str, Any] = json.loads((run / "status.json").read_text())
    return status


@pytest.mark.thorough
def test_workers_that_are_killed_or_silent_are_replaced(tmp_path: Path) -> None:
    """And no game is lost."""
    run = tmp_path / "run"
    stall = ["--stall-timeout-s", "6"]
    process = start("selfplay", *LONG, *stall, "--gpus", "cpu:2", "--run-dir", run, "--json")
    wait_for_a_shard(run)
    assert_it_can_be_looked_at(run, process.pid)
    stopped, killed = workers_of(process.pid)
    os.kill(stopped, signal.SIGSTOP)
    os.kill(killed, signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "died: killed by SIGKILL" in err
    assert 'no sign of life for 6 s while "playing"' in err
    summary = json.loads(out.splitlines()[-1])
    assert summary["restarts"] == 2
    assert_each_game_once(run, NUM_LONG)
    status = status_of(run)
    assert (status["state"], status["why"], status["restarts"]) == ("done", "", 2)
    assert status["summary"] == summary
    assert any("died: killed by SIGKILL" in note["line"] for note in status["notes"])
    assert list((run / "live").iterdir()) == []
    loads = read_metrics(run)
    assert {line["kind"] for line in loads} == {"load"}
    assert all(line["plies_per_s"] > 0 for line in loads)


def assert_it_can_be_looked_at(run: Path, pid: int) -> None:
    """While games are played: the status, and some of them."""
    deadline = time.monotonic() + 60
    shown = 0  # games that begin together end together: for a moment none goes on
    while not shown:
        assert time.monotonic() < deadline
        time.sleep(0.05)
        for file in (run / "live").glob("*.npz"):
            shown = int((read_shard(file).termination == Termination.ONGOING).sum())
            assert shown <= 16
    status = status_of(run)
    assert (status["state"], status["pid"], status["target"]) == ("playing", pid, NUM_LONG)
    assert [worker["index"] for worker in status["workers"]] == [0, 1]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 75, marks=pytest.mark.slow),
        pytest.param(signal.SIGUSR2, 75, marks=pytest.mark.slow),
    ],
)
def test_a_signal_stops_and_the_run_resumes(tmp_path: Path, number: int, code: int) -> None:
    run = tmp_path / "run"
    process = start("selfplay", *LONG, "--gpus", "cpu:1", "--run-dir", run)
    wait_for_a_shard(run)
    os.killpg(process.pid, number)  # as Ctrl-C does: the worker gets it too
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert f"--run-dir {run} --resume" in " ".join(out.split())
    assert status_of(run)["games"] == games(run).num_games
    assert "died" not in err
    recorded = set(games(run).numbers.tolist())
    assert 0 < len(recorded) < NUM_LONG
    saved = [read_saved(file).records for file in (run / "inflight").iterdir()]
    numbers = {number for records in saved for number in records.numbers.tolist()}
    assert sum(int(records.lengths.sum()) for records in saved) > 0
    assert not numbers & recorded
    options = [*AT_FULL_SPEED, "--gpus", "cpu", "--run-dir", run]
    done = inside("selfplay", "--resume", *options, "--json")
    assert last_json(done)["games"] == NUM_LONG
    assert f"{len(numbers)} games go on from where they were saved" in done.stderr
    assert_each_game_once(run, NUM_LONG)
    assert list((run / "inflight").iterdir()) == []


def test_a_ctrl_c_while_workers_import_leaves_no_traceback(tmp_path: Path) -> None:
    """The terminal sends it to workers too, which have not begun to ignore it."""
    process = start("selfplay", *LONG, "--gpus", "cpu:1", "--run-dir", tmp_path / "run")
    deadline = time.monotonic() + 60
    while not (workers := workers_of(process.pid)):
        assert time.monotonic() < deadline
    for worker in workers:
        os.kill(worker, signal.SIGINT)
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "died" not in err


@pytest.mark.thorough
def test_a_second_ctrl_c_ends_at_once(tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = start("selfplay", *LONG, "--gpus", "cpu:1", "--run-dir", run)
    wait_for_a_shard(run)
    worker = workers_of(process.pid)[0]
    os.kill(worker, signal.SIGSTOP)  # it cannot obey the first
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 130
    assert not workers_of(process.pid)


@pytest.mark.thorough
def test_killing_the_parent_leaves_what_was_finished(tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = start("selfplay", *LONG, "--gpus", "cpu:1", "--run-dir", run)
    wait_for_a_shard(run)
    process.kill()
    process.communicate(timeout=30)
    done = inside("selfplay", "--resume", *AT_FULL_SPEED, "--run-dir", run, "--json")
    assert last_json(done)["games"] == NUM_LONG
    assert_each_game_once(run, NUM_LONG)


@pytest.mark.parametrize("by_file", [False, True])
def test_a_run_is_not_made_shorter(reference: Path, tmp_path: Path, by_file: bool) -> None:
    """By a flag, or by a file, which says nothing of the run's other settings."""
    file = tmp_path / "shorter.toml"
    file.write_text("games = 3\n")
    given = ["--config", file] if by_file else ["--games", 3]
    settings, status = ((reference / n).read_bytes() for n in ("config.toml", "status.json"))
    fewer = inside("selfplay", "--resume", *given, "--run-dir", reference)
    assert fewer.returncode == 2
    assert "12 games already: --games 3 is fewer" in fewer.stderr
    assert (reference / "config.toml").read_bytes() == settings
    assert (reference / "status.json").read_bytes() == status


def test_a_run_has_one_writer(reference: Path, tmp_path: Path) -> None:
    run = RunFolder(shutil.copytree(reference, tmp_path / "run"))
    with run.locked():
        second = inside("selfplay", "--resume", "--games", 30, "--run-dir", run.path)
    assert second.returncode == 2
    assert "another vecchess is writing" in second.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("goes_on", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_full_disk_is_waited_for(reference: Path, tmp_path: Path, goes_on: bool) -> None:
    """A limit on the size of files stands for the full disk: writing a shard fails half-way.

    The run is extended, with its own copy of the network.
    """
    run = shutil.copytree(reference, tmp_path / "run")
    before = {path: path.read_bytes() for path in (run / "games").iterdir()}
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (6000, -1));"
        "import vecchess_cli.main as m; sys.argv = ['vecchess', *sys.argv[1:]]; m.main()"
    )
    command = ["selfplay", "--resume", "--games", "80", "--run-dir", str(run)]
    with subprocess.Popen(
        [sys.executable, "-c", limited, *command], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        said = next(line for line in process.stderr if "wait for room" in line)
        assert "cannot write" in said
        assert {path: path.read_bytes() for path in before} == before
        assert set((run / "games").iterdir()) == set(before)
        if goes_on:
            for pid in (process.pid, *workers_of(process.pid)):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (-1, -1))
        else:
            process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == (0 if goes_on else 1), said
    assert said.count("error:") == (0 if goes_on else 1)
    if goes_on:
        assert "writing works again" in said
        assert_each_game_once(run, 80)
        assert games(run).take(np.arange(12)).digest() == games(reference).digest()
        assert len(games(run).nets) == 1


@pytest.mark.slow
def test_an_edited_book_and_a_moved_run_change_no_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    book = Path("book.epd")
    ranks = [f"{i}P{7 - i}/{'P' * i}1{'P' * (7 - i)}" for i in range(1, 7)]
    book.write_text("".join(f"rnbqkbnr/pppppppp/8/8/8/{two}/RNBQKBNR b KQkq -\n" for two in ranks))
    options = [*SHORT, "--net", "material"]
    for run, count in (("whole", 8), ("half", 4)):
        begun = [*options, "--openings", book, "--games", count, "--run-dir", run]
        assert inside("selfplay", *begun).returncode == 0
    book.write_text("8/8/8/8/8/4k3/4p3/4K3 b - -\n")
    Path("half").rename("moved")
    monkeypatch.chdir("moved")
    again = inside("selfplay", "--run-dir", ".", "--resume", "--games", 8, "--json")
    assert last_json(again)["games"] == 8
    assert f"{tmp_path / book} has changed: the run goes on with its own copy" in again.stderr
    assert games(Path()).digest() == games(tmp_path / "whole").digest()
    Path("other.epd").write_text((tmp_path / book).read_text())
    other = inside("selfplay", "--run-dir", ".", "--resume", "--openings", "other.epd")
    assert (other.returncode, other.stderr.count("\n")) == (2, 1)
    assert "leave --openings out, or begin another run" in other.stderr
    assert inside("replay", ".", "--verify-all", 8, "--gpus", "cpu").returncode == 0


@pytest.mark.thorough
@pytest.mark.parametrize("count", ["forever", pytest.param(10**18, marks=pytest.mark.slow)])
def test_a_run_without_an_end(tmp_path: Path, count: object) -> None:
    run = tmp_path / "run"
    options = ["--net", "material", "--max-plies", 30, "--gpus", "cpu", "--games", count]
    process = start("selfplay", *options, "--shard-interval-s", 0.3, "--run-dir", run, "--json")
    wait_for_a_shard(run)
    status = status_of(run)
    while not status["games"]:
        status = status_of(run)
    assert (status["target"], status["eta_s"]) == (0 if count == "forever" else count, None)
    os.killpg(process.pid, signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 75, err
    played = json.loads(out.splitlines()[-1])
    assert played["target"] == status["target"]
    fewer = inside("selfplay", "--resume", "--games", 1, "--run-dir", run)
    assert (fewer.returncode, "games already: --games 1 is fewer" in fewer.stderr) == (2, True)
    wanted = played["games"] + 8
    done = inside("selfplay", "--resume", "--games", wanted, "--run-dir", run, "--json")
    assert last_json(done)["games"] == wanted
    numbers = games(run).numbers.tolist()
    assert len(numbers) == len(set(numbers))
    assert set(numbers) >= set(range(wanted))
