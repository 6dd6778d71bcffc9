"""Games of an engine: legal, seeded, resumable, with what the engine thought of them."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from tests.importers.alphabetical import write_engine
from tests.selfplay.playing import replay
from tests.system.commands import start
from vecchess.chess.fen import to_fens
from vecchess.config.import_settings import EngineGamesConfig
from vecchess.errors import ConfigError, WorkerDied
from vecchess.importers import import_folder
from vecchess.importers.engine_games import gather_engine_games
from vecchess.runtime.signals import stopped_text
from vecchess.store.manifest import Manifest
from vecchess.store.sources import read_games
from vecchess.train.data.samples import make_samples
from vecchess.train.data.shard_block import trainable_plies


@pytest.fixture
def engine(tmp_path: Path) -> str:
    return write_engine(tmp_path)


def settings(engine: str, **changes: object) -> EngineGamesConfig:
    values = {"engine": engine, "games": 6, "seed": 5, "max_plies": 70, "random_move_share": 0.2}
    return EngineGamesConfig.model_validate(values | changes)


def test_games_are_seeded_and_go_on_where_they_stopped(engine, tmp_path, monkeypatch) -> None:
    facts = gather_engine_games(settings(engine), tmp_path / "whole")
    whole = read_games([tmp_path / "whole"]).by_number()
    assert (facts["games"], facts["new_games"], facts["engine"]) == (6, 6, "Alphabetical")
    assert whole.numbers.tolist() == list(range(6))
    assert len(replay(whole)) == 6  # python-chess checks every move, and that no game went on
    assert len({tuple(whole.take(np.array([i])).action[:20]) for i in range(6)}) == 6

    gather_engine_games(settings(engine, games=2), tmp_path / "parts")
    standing = []
    monkeypatch.setattr(import_folder, "SHARD_GAMES", 2)
    facts = gather_engine_games(
        settings(engine, concurrency=2), tmp_path / "parts", standing.append
    )
    assert (facts["games"], facts["new_games"]) == (6, 4)
    assert standing[-1].games == 6
    parts = read_games([tmp_path / "parts"])
    assert parts.digest() == whole.digest()
    assert gather_engine_games(settings(engine), tmp_path / "parts")["new_games"] == 0
    with pytest.raises(ConfigError, match="seed = 5, not 6: choose another --out"):
        gather_engine_games(settings(engine, seed=6), tmp_path / "parts")


def test_a_name_that_cannot_be_printed_does_no_harm(engine, tmp_path) -> None:
    file = tmp_path / "engine.py"
    file.write_text(file.read_text().replace("id name Alpha", "id name \\t Alpha\\xa0"))
    facts = gather_engine_games(settings(engine, games=1), tmp_path / "out")
    assert facts["engine"] == "Alpha betical"
    assert read_games([tmp_path / "out"]).nets == ("Alpha betical",)


def test_games_begin_with_the_openings_in_turn(engine, tmp_path) -> None:
    fens = ["8/8/8/4k3/8/8/8/K6Q w - - 0 1", "7k/5K2/8/6Q1/8/8/8/8 b - - 0 1"]
    file = tmp_path / "endgames.epd"
    file.write_text("".join(f"{fen}\n" for fen in fens))
    config = settings(engine, openings=file, games=4, random_plies=0, max_plies=61)
    gather_engine_games(config, tmp_path / "out")
    games = read_games([tmp_path / "out"]).by_number()
    assert to_fens(games.start) == fens * 2
    assert len(replay(games)) == 4

    file.write_text(f"{fens[0]}\n")
    with pytest.raises(ConfigError, match=r"openings = .*: choose another --out"):
        gather_engine_games(config, tmp_path / "out")


def test_random_plies_that_always_end_the_game_are_left_out(engine, tmp_path) -> None:
    (tmp_path / "one.fen").write_text("k7/8/8/8/8/8/1q6/K7 w - - 0 1\n")  # only the queen can go
    config = settings(engine, openings=tmp_path / "one.fen", games=1, random_plies=2)
    gather_engine_games(config, tmp_path / "out")
    assert len(read_games([tmp_path / "out"]).action) == 1


def test_what_the_engine_thought_is_learnt(engine, tmp_path) -> None:
    gather_engine_games(settings(engine, games=2), tmp_path / "out")
    records = read_games([tmp_path / "out"])
    rows = make_samples(records, np.arange(len(records.action)))
    asked = records.visits > 0
    assert not asked[:8].any()
    assert 0.6 < asked[8:].mean() < 0.95
    assert (records.visits[asked] == 77).all()
    assert np.array_equal(rows.has_value, asked)
    assert np.allclose(rows.value[asked], [0.3, 0.5, 0.2], atol=0.002)
    assert np.array_equal(rows.has_policy, asked)
    assert (rows.policy[np.arange(len(asked)), rows.played] == 1).all()
    assert np.array_equal(trainable_plies(records), np.flatnonzero(asked))
    assert np.allclose(rows.prob[~asked] * rows.num_legal[~asked], 1)


def test_lines_become_targets(engine, tmp_path) -> None:
    gather_engine_games(settings(engine, games=2), tmp_path / "one")
    gather_engine_games(settings(engine, games=2, multipv=3), tmp_path / "three")
    one, three = read_games([tmp_path / "one"]), read_games([tmp_path / "three"])
    assert not len(one.target_action)
    for column in ("action", "win", "draw", "visits", "full", "prob"):
        assert np.array_equal(getattr(one, column), getattr(three, column))
    rows = make_samples(three, np.arange(len(three.action)))
    asked = three.visits > 0
    assert np.array_equal(rows.has_policy, asked)
    weights = np.exp([0, -0.5, -1])
    expected = weights / weights.sum() / 2 + [0.5, 0, 0]
    shares = np.sort(rows.policy[asked], axis=1)[:, ::-1]
    assert np.allclose(shares[rows.num_legal[asked] > 2][:, :3], expected, atol=1e-4)
    assert (shares[:, 3:] == 0).all()
    assert (rows.policy.argmax(1)[asked] == rows.played[asked]).all()


def test_a_dying_engine_is_replaced(engine, tmp_path, monkeypatch) -> None:
    gather_engine_games(settings(engine, games=4), tmp_path / "whole")
    monkeypatch.setenv("MOVES_TO_LIVE", "100")
    gather_engine_games(settings(engine, games=4), tmp_path / "parts")
    assert read_games([tmp_path / "parts"]).digest() == read_games([tmp_path / "whole"]).digest()


def test_an_engine_that_always_dies_loses_no_finished_game(engine, tmp_path, monkeypatch) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    gather_engine_games(settings(engine, games=4), whole)
    board = replay(read_games([whole]).by_number())[2].root()
    for move in replay(read_games([whole]).by_number())[2].move_stack[:40]:
        board.push(move)
    monkeypatch.setenv("POISON", board.fen().split()[0])
    with pytest.raises(WorkerDied, match="failed 3 times, the last in game 2, ply 40: ") as caught:
        gather_engine_games(settings(engine, games=4), parts)
    assert "\n" not in str(caught.value)
    assert Manifest(parts).stats.games == 2
    monkeypatch.delenv("POISON")
    gather_engine_games(settings(engine, games=4), parts)
    assert read_games([parts]).digest() == read_games([whole]).digest()


@pytest.mark.parametrize(
    ("number", "code"),
    [pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow), (signal.SIGTERM, 75)],
)
def test_a_signal_saves_what_is_finished(
    engine, tmp_path, monkeypatch, number: int, code: int
) -> None:
    out, told = tmp_path / "out", tmp_path / "told"
    monkeypatch.setenv("TOLD_OF_MOVES", str(told))
    running = start("gather", "engine", engine, "--games", 100_000, "--max-plies", 61, "--out", out)
    deadline = time.monotonic() + 60
    while not told.exists():
        assert running.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    running.send_signal(number)
    _, err = running.communicate(timeout=60)
    assert running.returncode == code, err
    assert err.splitlines()[-1] == (
        f"{stopped_text(signal.Signals(number).name)}; resume with the same command"
    )
    assert read_games([out]).num_games > 0


def test_engines_that_will_not_do_are_named(tmp_path) -> None:
    with pytest.raises(ConfigError, match='no engine "nowhere"'):
        gather_engine_games(settings("nowhere"), tmp_path / "out")
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexit 0\n")
    silent.chmod(0o755)
    with pytest.raises(ConfigError, match="does not answer as a UCI engine"):
        gather_engine_games(settings(str(silent)), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.stockfish
def test_stockfish_repeats_its_games(tmp_path) -> None:
    path = os.environ["PATH"]
    for name in ("one", "two"):
        config = settings("stockfish", games=2, nodes=50, max_plies=61)
        gather_engine_games(config, tmp_path / name)
    assert os.environ["PATH"] == path
    one, two = (read_games([tmp_path / name]) for name in ("one", "two"))
    assert one.digest() == two.digest()
    asked = one.visits > 0
    assert asked.any()
    assert one.nets[0].startswith("Stockfish")
    assert (one.win[asked].astype(int) + one.draw[asked] <= 511).all()
