"""Whole runs of ``vecchess train``: they learn, stop, resume exactly, and report errors."""

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from tests.system.commands import games, inside, last_json, start, vecchess
from tests.system.training import PGN, QUICK, facts, gated, lines_of, little_options, newest
from vecchess.chess.fen import from_fens
from vecchess.selfplay.worker.networks import latest_net
from vecchess.snn.integer.net_file import load_net
from vecchess.store.run_folder import RunFolder

KILLS, ITERATIONS = 10, 20


@pytest.fixture(scope="module")
def little(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """See ``little_options``."""
    return little_options(tmp_path_factory.mktemp("little"))


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory, little: list[object]) -> Path:
    """A run without interruption."""
    run = tmp_path_factory.mktemp("runs") / "run"
    summary = last_json(inside("train", *QUICK, *little, "--run-dir", run, "--json"))
    assert (summary["iterations"], summary["exit_code"]) == (2, 0)
    return run


def test_the_run_folder(reference: Path) -> None:
    names = {path.name for path in reference.iterdir()}
    assert names >= {"config.toml", "status.json", "metrics.jsonl", "games", "nets", "checkpoints"}
    status = json.loads((reference / "status.json").read_text())["summary"]
    recorded = games(reference)
    assert recorded.numbers.tolist() == list(range(16))
    played = [line for line in facts(reference) if line["kind"] == "play"]
    assert sum(line["positions"] for line in played) == status["positions"]
    assert len(set(recorded.nets)) == 2
    name = Path(status["net"]).name
    assert name == f"run-s{status['samples']}-d{status['positions']}.safetensors"
    assert status["sha256"] == newest(reference)


def test_the_games_can_be_played_again(reference: Path) -> None:
    """Also those that the network of the first generation began and the next one ended."""
    again = inside("replay", reference, "--verify-all", 16, "--gpus", "cpu", "--slots", 3, "--json")
    replayed = last_json(again)
    assert (replayed["games"], replayed["identical"]) == (16, 16)
    assert sorted(replayed["networks"].values()) == [8, 16]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_stopped_run_resumes_to_the_same_result(
    reference: Path, tmp_path: Path, little: list[object], number: signal.Signals
) -> None:
    run = tmp_path / "run"
    wanted = 1 if number == signal.SIGTERM else 3
    said = _stopped([*QUICK, *little, "--loaders", 1], run, number, wanted)
    assert f"--run-dir {run} --resume" in " ".join(said.split())
    later = tmp_path / "later.toml"
    later.write_text("loaders = 0\n")
    assert inside("train", "--run-dir", run, "--resume", "--config", later).returncode == 0
    assert newest(run) == newest(reference)
    assert games(run).digest() == games(reference).digest()


def _stopped(options: list[object], run: Path, number: signal.Signals, updates: int) -> str:
    """Start a run and stop it after so many updates; returns what it wrote."""
    running = start("train", *options, "--run-dir", run)
    while len(kinds := _kinds(run)) < 400 and kinds.count("learn") < updates:
        assert running.poll() is None, running.communicate()[1]
        time.sleep(0.01)
    running.send_signal(number)
    out, err = running.communicate(timeout=60)
    assert running.returncode == {signal.SIGTERM: 75, signal.SIGINT: 130}[number], err
    return f"{out}\n{err}"


def _kinds(run: Path) -> list[str]:
    return [line["kind"] for line in lines_of(run)]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_ten_times(tmp_path: Path, little: list[object]) -> None:
    """While it starts and while it works, in turns, at any moment; the whole process group.

    A kill may let the run do its share of the iterations that are left, so that none finds it done.
    """
    seed = random.randrange(1000)
    print("seed", seed)
    rng = random.Random(seed)
    whole, run = tmp_path / "whole", tmp_path / "run"
    options = [*QUICK, *little, "--iterations", ITERATIONS, "--samples-per-position", 0.4]
    began = time.time()
    assert vecchess("train", *options, "--run-dir", whole, timeout=300).returncode == 0
    published = [line["time_unix"] for line in lines_of(whole) if line["kind"] == "publish"]
    start_s, iteration_s = published[0] - began, (published[-1] - published[0]) / ITERATIONS
    for number in range(KILLS):
        done = iterations_of(run)
        at_work, spared = number % 2 == 1, KILLS // 2 + 1
        share = (
            max((ITERATIONS - done - spared) // ((KILLS - number + 1) // 2), 1) if at_work else 1
        )
        resume = ["--resume"] if (run / "config.toml").exists() else []
        running = start("train", *options, "--run-dir", run, *resume)
        if at_work:
            wait_for_work(run, running)
        end = time.monotonic() + rng.uniform(0, iteration_s * share if at_work else start_s)
        while time.monotonic() < end and iterations_of(run) < done + share:
            time.sleep(0.01)
        assert running.poll() is None
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        assert running.returncode == -signal.SIGKILL
        assert iterations_of(run) < ITERATIONS
        print(number, iterations_of(run), _kinds(run)[-1:])
    assert vecchess("train", "--run-dir", run, "--resume", timeout=300).returncode == 0
    assert facts(run) == facts(whole)
    assert newest(run) == newest(whole)
    assert games(run).digest() == games(whole).digest()


def iterations_of(run: Path) -> int:
    """Iterations that a run has done, by what it published."""
    return max(
        (line["iteration"] for line in lines_of(run) if line["kind"] == "publish"), default=0
    )


def wait_for_work(run: Path, running: subprocess.Popen[str]) -> None:
    """Until games or learning leave a trace in the run's folder, where going on only cuts."""
    files = [run / "games/manifest.jsonl", run / "metrics.jsonl"]

    def sizes() -> list[int]:
        return [file.stat().st_size if file.exists() else 0 for file in files]

    before, end = sizes(), time.monotonic() + 120
    while not any(now > then for now, then in zip(sizes(), before, strict=True)):
        before = [min(pair) for pair in zip(sizes(), before, strict=True)]
        assert running.poll() is None, running.communicate()[1]
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.thorough
def test_a_full_disk_ends_the_run_with_one_line(
    reference: Path, tmp_path: Path, little: list[object]
) -> None:
    """Where a checkpoint is written, then where a network is published; then there is room."""
    run = tmp_path / "run"
    options = ["train", *QUICK, *little, "--run-dir", run]
    limited(400_000, options, "cannot write .*/checkpoints/000001-")
    (saved,) = (run / "checkpoints").iterdir()
    assert saved.name.startswith("000000-")
    (net,) = (file for file in (run / "nets").glob("*.safetensors") if "-s0-" not in file.name)
    net.write_bytes(net.read_bytes()[:1000])
    before = {path: path.read_bytes() for path in [saved, run / "nets/latest.json"]}
    limited(30_000, [*options, "--resume"], f"cannot write .*{net.name}")
    assert {path: path.read_bytes() for path in before} == before
    assert not list(run.rglob(".partial-*"))
    assert inside(*options, "--resume").returncode == 0
    assert newest(run) == newest(reference)
    assert games(run).digest() == games(reference).digest()


@pytest.mark.slow
def test_a_network_that_sees_four_positions(tmp_path: Path, little: list[object]) -> None:
    """It plays, learns, goes on as if it had not been stopped, and can be analysed with."""
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    options = [*QUICK, *little, "--history", 4, "--fold-at", 0.5]
    assert last_json(vecchess("train", *options, "--run-dir", whole, "--json"))["folded"]
    _stopped(options, halves, signal.SIGTERM, 2)
    again = ["--run-dir", halves, "--resume"]
    summary = last_json(vecchess("train", *again, "--json"))
    assert newest(halves) == newest(whole)
    assert games(halves).digest() == games(whole).digest()
    net = load_net(Path(summary["net"]))
    assert net.config.num_planes == 72
    assert net.layers["stem"].weight.reshape(32, 9, 72)[:, :, 36:].any()
    refused = vecchess("train", *QUICK, *little, "--history", 2, *again)
    assert (refused.returncode, "history = 4" in refused.stderr) == (2, True), refused.stderr
    found = vecchess("analyse", "--net", summary["net"], "--gpus", "cpu", "--sims", 20, "--json")
    assert last_json(found)["visits"] > 0
    matched = vecchess("train", *QUICK, "--init-from", summary["net"], *little, "--history", 3)
    assert (matched.returncode, "history of 4" in matched.stderr) == (2, True), matched.stderr


def limited(size: int, arguments: list[object], reason: str) -> None:
    """Run the program where no file may grow larger; it ends with one line, and why.

    This stands for the full disk: what is larger cannot be written.
    """
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        done = inside(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert done.returncode == 1, done.stderr
    (line,) = (line for line in done.stderr.splitlines() if "error:" in line)
    assert re.search(reason, line), line
    assert "Traceback" not in done.stderr


@pytest.mark.thorough
def test_two_ranks(reference: Path, tmp_path: Path, little: list[object]) -> None:
    run = tmp_path / "run"
    options = [*QUICK, "--gpus", "cpu:2", *little, "--run-dir", run, "--json"]
    assert last_json(inside("train", *options))["iterations"] == 2
    ours, theirs = facts(run), facts(reference)
    losses = [[x["loss"] for x in lines if x["kind"] == "learn"] for lines in (ours, theirs)]
    assert losses[0] == losses[1]
    assert latest_net(RunFolder(run)).sha256 == latest_net(RunFolder(reference)).sha256
    first = [games(folder).take(np.arange(8)).digest() for folder in (run, reference)]
    assert first[0] == first[1]


@pytest.mark.slow
def test_any_number_of_ranks_writes_the_same_network(tmp_path: Path, little: list[object]) -> None:
    """More ranks than a batch of 256 has parts too, of which one line tells."""
    options = [*QUICK, *little, "--batch-size", 256, "--positions-per-iter", 400]
    found = set()
    for ranks, num_idle in ((1, 0), (2, 0), (3, 1), (5, 3)):
        run = tmp_path / str(ranks)
        done = vecchess("train", *options, "--gpus", f"cpu:{ranks}", "--run-dir", run)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("ranks have no part") == bool(num_idle)
        assert (f"{num_idle} of {ranks} ranks have no part" in done.stderr) == bool(num_idle)
        found.add(latest_net(RunFolder(run)).sha256)
    assert len(found) == 1


@pytest.mark.slow
def test_a_run_goes_on_with_another_number_of_ranks(
    reference: Path, tmp_path: Path, little: list[object]
) -> None:
    run = tmp_path / "run"
    options = [*QUICK, *little, "--run-dir", run]
    assert vecchess("train", *options, "--iterations", 1, "--gpus", "cpu:2").returncode == 0
    done = vecchess("train", *options, "--resume", "--json")
    assert last_json(done)["iterations"] == 2
    assert games(run).numbers.tolist() == games(reference).numbers.tolist()
    ours, theirs = ([x["loss"] for x in facts(f) if x["kind"] == "learn"] for f in (run, reference))
    assert len(ours) == len(theirs)
    assert ours[0] == theirs[0]


@pytest.mark.slow
def test_reference_games_among_its_own(
    tmp_path: Path, little: list[object], reference: Path
) -> None:
    pgn, run = tmp_path / "mates.pgn", tmp_path / "run"
    pgn.write_text(PGN)
    options = ["--data", pgn, "--data-share", 0.5, "--run-dir", run, "--iterations", 1]
    assert last_json(vecchess("train", *QUICK, *little, *options, "--json"))["exit_code"] == 0
    mixed, pure = ([x for x in facts(f) if x["kind"] == "learn"] for f in (run, reference))
    assert mixed[0]["samples"] == pure[0]["samples"]
    assert mixed[0]["loss"] != pure[0]["loss"]


def test_a_run_goes_on_with_what_it_began_with(reference: Path) -> None:
    for options, reason in (
        (["--seed", 5], "started with seed = 0"),
        (["--positions-per-iter", 9], "started with positions_per_iter = 224"),
    ):
        done = inside("train", "--run-dir", reference, "--resume", *options)
        assert (done.returncode, reason in done.stderr) == (2, True), done.stderr
    done = inside("train", *QUICK, "--run-dir", reference)
    assert (done.returncode, "holds a run already" in done.stderr) == (2, True)


@pytest.mark.slow
def test_a_moved_run_goes_on_with_the_files_it_has_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fen = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"
    Path("book.epd").write_text(fen)
    Path("games.pgn").write_text(PGN * 8)
    files = ["--openings", "book.epd", "--data", "games.pgn"]
    options = [*QUICK, *little_options(Path()), *files, "--iterations", 1]
    assert inside("train", *options, "--run-dir", "run").returncode == 0
    for name in ("book.epd", "games.pgn", "net.toml"):
        Path(name).unlink()
    Path("run").rename("moved")
    monkeypatch.chdir("moved")
    done = inside("train", "--run-dir", ".", "--resume", "--iterations", 2)
    assert done.returncode == 0, done.stderr
    assert (games(Path()).start == from_fens([fen])).all()
    assert {*range(16)} <= {*games(Path()).numbers.tolist()}


@pytest.mark.slow
def test_how_many_iterations_a_run_may_be_asked_for(reference: Path) -> None:
    before = (reference / "config.toml").read_bytes()
    done = vecchess("train", "--run-dir", reference, "--resume", "--iterations", 1)
    assert (done.returncode, "2 iterations are done already" in done.stderr) == (2, True)
    assert (reference / "config.toml").read_bytes() == before
    done = vecchess("train", "--run-dir", reference, "--resume")
    assert (done.returncode, "all 2 iterations are done" in done.stderr) == (0, True), done.stderr
    assert newest(reference) == facts(reference)[-1]["sha256"]


def test_a_run_has_one_writer(reference: Path, tmp_path: Path) -> None:
    run = RunFolder(shutil.copytree(reference, tmp_path / "run"))
    with run.locked():
        done = inside("train", "--run-dir", run.path, "--resume")
    assert (done.returncode, "another vecchess is writing" in done.stderr) == (2, True)


@pytest.mark.slow
def test_a_gate_admits_networks_that_are_strong_enough(
    reference: Path, tmp_path: Path, little: list[object]
) -> None:
    verdicts = gated(tmp_path / "run", little, "-800,-400")
    assert [line["admitted"] for line in verdicts] == [True, True]
    assert newest(tmp_path / "run") == newest(reference)
    assert not (tmp_path / "run/candidate.safetensors").exists()
