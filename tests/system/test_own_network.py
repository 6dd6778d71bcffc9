"""A module of the user wherever a network is named: played, replayed, matched, analysed."""

import json
from pathlib import Path

import chess
import pytest

from tests.system.commands import inside, last_json
from tests.uci.talk import Talk

pytestmark = pytest.mark.thorough

NET = "module:tests.networks.modules:leaking?least=2"
GAMES = ("--max-plies", "12", "--gpus", "cpu", "--quiet")


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three games, and a fourth by another worker later on."""
    folder = tmp_path_factory.mktemp("own") / "run & more"
    done = inside(
        "selfplay", "--net", NET, "--games", 3, *GAMES, "--run-dir", folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    before = (folder / "nets" / "latest.json").read_text()
    done = inside("selfplay", "--resume", "--run-dir", folder, "--games", 4, *GAMES[2:])
    assert done.returncode == 0, done.stderr
    assert (folder / "nets" / "latest.json").read_text() == before
    assert len(list((folder / "nets").glob("*.safetensors"))) == 1
    return folder


@pytest.mark.slow
def test_games_of_all_workers_are_replayed_with_the_runs_own_weights(run_dir: Path) -> None:
    done = inside("replay", run_dir, "--verify-all", 4, "--json")
    assert last_json(done)["identical"] == 4


def test_weights_name_their_module(run_dir: Path) -> None:
    (file,) = (run_dir / "nets").glob("*.safetensors")
    done = inside("analyse", "--net", file, "--sims", 4, "startpos")
    assert done.returncode == 2
    assert f"holds weights of {NET}: name that" in done.stderr


def test_a_match_is_played_with_its_settings_and_the_networks() -> None:
    player = f"net:{NET}&search=gumbel&sims=4&temperature=1"
    done = inside("match", player, "random", "--games", 2, "--max-plies", 61, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["players"] == [player, "random"]


def test_a_position_is_analysed() -> None:
    done = inside("analyse", "--net", NET, "--sims", 8, "--gpus", "cpu", "--json", "startpos")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["net"] == NET


def test_it_is_described_checked_and_timed() -> None:
    done = inside("net", "info", NET, "--json")
    facts = json.loads(done.stdout)
    assert (facts["config"]["module"], facts["exit_rule"]["min_steps"]) == (NET, 2)
    done = inside("net", "check", NET)
    assert done.returncode == 0
    assert "the same bits in any of 32 slots" in done.stdout
    done = inside("net", "check", "module:tests.networks.modules:mixing")
    assert done.returncode == 2
    assert "an answer depends on its slot" in done.stderr
    few = ["--slots", 8, "--positions", 64, "--seconds", 0.2, "--threads", 1, "--gpus", "cpu"]
    done = inside("bench", "inference", "--net", NET, *few, "--json")
    facts = json.loads(done.stdout.splitlines()[-1])
    rows = {row["name"]: row for row in facts["backends"]}
    assert set(rows) == {"fixed_T", "continuous", "relu_twin"}
    assert rows["relu_twin"]["reason"] == "only spiking residual networks have a ReLU twin"
    assert rows["continuous"]["mean_time_steps"] < rows["fixed_T"]["mean_time_steps"] == 4


def test_a_gui_can_ask_it() -> None:
    with Talk(net=NET, gpus="cpu") as talk:
        assert chess.Move.from_uci(talk.best("go nodes 8")) in chess.Board().legal_moves


@pytest.mark.parametrize(
    ("net", "line"),
    [
        ("module:tests.networks.modules:failing", "the factory fails: RuntimeError: no luck"),
        ("module:tests.networks.modules:mixing", "an answer depends on its slot"),
        ("module:unheard_of", "no installed package registers a network of that name"),
        (f"{NET}&weights=missing.safetensors", "there is no file of weights missing.safetensors"),
    ],
)
def test_what_cannot_play_is_one_line(net: str, line: str, tmp_path: Path) -> None:
    games = ["selfplay", "--net", net, *GAMES, "--run-dir", tmp_path / "run", "--games", 1]
    page = ["dash", "--net", net, "--port", 0]
    for done in (inside(*games), *([] if "mixing" in net else [inside(*page)])):
        assert done.returncode == 2
        (error,) = done.stderr.strip().splitlines()[-1:]
        assert error.startswith("vecchess: error:")
        assert line in error
