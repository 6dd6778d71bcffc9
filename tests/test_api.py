"""The functions of ``import vecchess``: what the commands do, without a word, wherever they run."""

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

import vecchess
from tests.system.commands import inside
from vecchess.machine_limits import num_cores
from vecchess.store import status_file
from vecchess.store.sources import read_games

MATE_IN_ONE = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4"
SHORT = {"gpus": "cpu", "max_plies": 40}
SCRIPT = """
import vecchess
print(vecchess.selfplay("material", 2, gpus="cpu", max_plies=20).num_games)
"""
DAEMON = """
import multiprocessing
import vecchess

def play():
    try:
        vecchess.selfplay("material", 2, gpus="cpu")
    except vecchess.VecchessError as error:
        print(type(error).__name__)

if __name__ == "__main__":
    child = multiprocessing.get_context("spawn").Process(target=play, daemon=True)
    child.start()
    child.join()
"""


def test_a_network_answers_many_positions_as_it_answers_one() -> None:
    net = vecchess.load_network("default", gpus="cpu")
    both = net.evaluate([MATE_IN_ONE, "8/8/8/4k3/8/8/4P3/4K3 w - - 0 1"])
    (alone,) = net.evaluate(MATE_IN_ONE)
    assert alone.best == "h5f7"
    assert alone.moves == both[0].moves
    assert np.array_equal(alone.policy, both[0].policy)
    assert (alone.wdl, alone.steps) == (both[0].wdl, both[0].steps)
    assert sum(alone.wdl) == pytest.approx(1)
    assert alone.policy.sum() == pytest.approx(1)
    assert len(both[1].moves) == 6


def test_positions_that_cannot_be_evaluated_are_named() -> None:
    net = vecchess.load_network("material")
    with pytest.raises(vecchess.VecchessError, match="no legal move"):
        net.evaluate("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1")
    with pytest.raises(vecchess.VecchessError, match="bad FEN"):
        net.evaluate(["nonsense"])


def test_games_are_those_of_the_command_and_nothing_is_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also in a thread that is not the main one, which may handle no signals."""
    told: list[dict[str, object]] = []
    found = []

    def play() -> None:
        found.append(
            vecchess.selfplay("material", 6, seed=3, on_progress=told.append, **SHORT)  # type: ignore[arg-type]
        )

    thread = threading.Thread(target=play)
    thread.start()
    thread.join()
    assert capfd.readouterr() == ("", "")
    assert told[-1]["games"] == 6
    assert told[-1]["state"] == "done"
    run = tmp_path / "run"
    done = inside(
        "selfplay", "--net", "material", "--games", 6, "--seed", 3, "--max-plies", 40,
        "--gpus", "cpu", "--run-dir", run, "--quiet",
    )  # fmt: skip
    assert done.returncode == 0
    other = read_games([run])
    order, others = np.argsort(found[0].numbers), np.argsort(other.numbers)
    for name in ("result", "lengths"):
        assert np.array_equal(getattr(found[0], name)[order], getattr(other, name)[others])
    assert sorted(found[0].action) == sorted(other.action)


@pytest.mark.thorough
def test_a_run_stops_where_the_caller_says_so_and_goes_on_later(tmp_path: Path) -> None:
    def stop_soon(status: dict[str, object]) -> bool:
        return status["games"] > 0  # type: ignore[operator, no-any-return]

    run = tmp_path / "run"
    games = vecchess.selfplay("material", 10**5, run_dir=run, on_progress=stop_soon, **SHORT)
    assert 0 < games.num_games < 10**5
    more = vecchess.selfplay("material", games.num_games + 4, run_dir=run, resume=True)
    assert more.num_games >= games.num_games + 4


@pytest.mark.thorough
def test_a_training_tells_where_its_network_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_file, "INTERVAL_S", 0.01)
    told: list[dict[str, object]] = []
    net = tmp_path / "net.toml"
    net.write_text("blocks = 1\nchannels = 32\ntime_steps = 4\n")
    torch.set_num_threads(num_threads := num_cores() + 1)
    run = vecchess.train(
        str(net), iterations=1, positions_per_iter=160, seats=4, batch_size=64, sims=2,
        eval_games=2, run_dir=tmp_path / "run", on_progress=told.append, **SHORT,
    )  # fmt: skip
    assert capfd.readouterr() == ("", "")
    assert torch.get_num_threads() == num_threads
    assert run.net.is_file()
    assert run.summary["iterations"] == 1
    assert {"playing", "learning", "done"} <= {status["state"] for status in told}
    assert len(vecchess.load_network(run.net, gpus="cpu").evaluate(MATE_IN_ONE)) == 1


def test_a_search_and_a_match() -> None:
    net = vecchess.load_network("material")
    (found,) = vecchess.search(net, [MATE_IN_ONE], sims=32)
    assert found.best == ("h5f7", "Qxf7#")
    assert vecchess.search("material", MATE_IN_ONE, sims=32)[0].best == found.best
    result = vecchess.match("greedy", "random", games=4)
    assert result.score.score > 0.5


def test_unknown_settings_name_the_nearest() -> None:
    with pytest.raises(vecchess.VecchessError, match=r'unknown setting "gamez"; .* "games"'):
        vecchess.selfplay(gamez=3)


@pytest.mark.thorough
@pytest.mark.parametrize(("script", "printed"), [(SCRIPT, "2"), (DAEMON, "ConfigError")])
def test_scripts(tmp_path: Path, script: str, printed: str) -> None:
    """One without a guard for spawned processes, and one in a process that may have no children."""
    file = tmp_path / "script.py"
    file.write_text(script)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, printed), done.stderr


def test_importing_vecchess_imports_nothing_else() -> None:
    program = "import sys, vecchess; print([m for m in sys.modules if m.startswith('vecchess.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
    assert {"load_network", "selfplay", "train", "search", "match", "ChessEnv"} <= {*dir(vecchess)}
