"""Positions of recorded games labelled by an engine: which, with what, and each exactly once."""

import signal
import time
from dataclasses import replace
from pathlib import Path

import chess
import numpy as np
import pytest

from tests.importers.alphabetical import write_engine
from tests.selfplay.playing import play, recorded_games, replay
from tests.system.commands import inside, start
from vecchess.config import GameConfig
from vecchess.config.import_settings import EngineLabelsConfig
from vecchess.errors import ConfigError, DataError, WorkerDied
from vecchess.export.pgn_export import write_pgn
from vecchess.importers import import_folder
from vecchess.importers.import_folder import ImportFolder
from vecchess.importers.label_games import gather_labels, labelled_plies
from vecchess.runtime.signals import stopped_text
from vecchess.store.records import GameRecords
from vecchess.store.shard import write_shard
from vecchess.store.sources import read_games
from vecchess.train.data.samples import make_samples
from vecchess.train.data.shard_block import trainable_plies

KEPT = ("start", "result", "termination", "offsets", "action", "prob", "span_ply", "span_net")
PLACE = 1 << 40


@pytest.fixture(scope="module")
def games() -> GameRecords:
    return play(GameConfig(max_plies=40, random_plies=4), 8).by_number()


@pytest.fixture
def engine(tmp_path: Path) -> str:
    return write_engine(tmp_path)


@pytest.fixture
def place(tmp_path: Path, games: GameRecords) -> Path:
    """A folder of shards with the first six games."""
    folder = ImportFolder(tmp_path / "games")
    folder.path.mkdir()
    for first in (0, 3):
        folder.write(games.take(np.arange(first, first + 3)))
    return folder.path


def settings(engine: str, **changes: object) -> EngineLabelsConfig:
    values = {"engine": engine, "nodes": 5, "multipv": 3, "every": 3}
    return EngineLabelsConfig.model_validate(values | changes)


def labelled(out: Path) -> GameRecords:
    return read_games([out]).by_number()


def test_every_third_position_has_the_engines_labels(engine, place, games, tmp_path) -> None:
    facts = gather_labels(settings(engine), [place], tmp_path / "out")
    records, games = labelled(tmp_path / "out"), games.take(np.arange(6))
    for column in KEPT:
        assert np.array_equal(getattr(records, column), getattr(games, column)), column
    assert records.nets == games.nets
    has_label = records.visits > 0
    for game in range(6):
        chosen = np.flatnonzero(has_label[slice(*records.offsets[game : game + 2])])
        assert chosen[0] < 3
        assert (np.diff(chosen) == 3).all()
        assert len(chosen) >= (records.lengths[game] - 2) // 3
    assert len({int(np.argmax(has_label[first:])) for first in records.offsets[:-1]}) > 1
    assert facts["searched_plies"] == facts["new_positions"] == has_label.sum()
    assert not records.steps.any()
    assert not records.fingerprint.any()

    rows = make_samples(records, np.arange(len(records.action)))
    assert np.array_equal(trainable_plies(records), np.flatnonzero(has_label))
    assert np.allclose(rows.value[has_label], [0.3, 0.5, 0.2], atol=0.002)
    # the network's own move is no target: the engine's best is, by name on the board
    boards = [board for end in replay(games) for board in boards_of(end)]
    for ply in np.flatnonzero(has_label & (rows.num_legal > 1)):
        names = sorted(move.uci() for move in boards[ply].legal_moves)
        assert np.count_nonzero(rows.policy[ply]) == min(3, len(names))
        assert rows.policy[ply].max() > 0.5
        assert (rows.policy[ply].argmax() == rows.played[ply]) == (played(boards, ply) == names[0])


def boards_of(end: chess.Board) -> list[chess.Board]:
    """The positions before each move."""
    board, found = end.root(), []
    for move in end.move_stack:
        found.append(board.copy(stack=False))
        board.push(move)
        found[-1].move_stack.append(move)
    return found


def played(boards: list[chess.Board], ply: int) -> str:
    return boards[ply].move_stack[-1].uci()


def test_one_line_is_the_engines_move_alone(engine, place, tmp_path) -> None:
    gather_labels(settings(engine, multipv=1, every=1), [place], tmp_path / "out")
    records = labelled(tmp_path / "out")
    assert (records.visits == 77).all()
    assert np.array_equal(np.diff(records.target_offsets), np.ones(len(records.action)))
    assert (records.target_prob == 65535).all()


def test_each_position_is_asked_exactly_once(engine, place, games, tmp_path, monkeypatch) -> None:
    gather_labels(settings(engine), [place], tmp_path / "whole")
    whole, asked = labelled(tmp_path / "whole"), tmp_path / "asked"

    monkeypatch.setenv("ASKED", str(asked))
    parts = tmp_path / "parts"
    ply = labelled_plies(settings(engine), whole.take(np.array([2])))[5]
    poison = boards_of(replay(whole)[2])[ply].fen()
    monkeypatch.setenv("POISON", poison.split()[0])
    with pytest.raises(WorkerDied, match=f"the last in game 2, ply {ply}: "):
        gather_labels(settings(engine), [place], parts)
    assert labelled(parts).numbers.tolist() == [0, 1]
    asked.unlink()
    monkeypatch.delenv("POISON")
    monkeypatch.setattr(import_folder, "SHARD_GAMES", 2)
    facts = gather_labels(settings(engine, concurrency=3), [place], parts)
    assert (facts["new_games"], facts["games"]) == (4, 6)
    assert labelled(parts).digest() == whole.digest()
    assert len(asked.read_text().splitlines()) == (whole.visits[whole.offsets[2] :] > 0).sum()

    asked.unlink()
    assert gather_labels(settings(engine), [place], parts)["new_games"] == 0
    ImportFolder(place).write(games.take(np.array([6, 7])))  # the place has grown
    assert gather_labels(settings(engine), [place], parts)["new_games"] == 2
    later = labelled(parts)
    assert later.take(np.arange(6)).digest() == whole.digest()
    assert len(asked.read_text().splitlines()) == (later.visits[later.offsets[6] :] > 0).sum()
    with pytest.raises(ConfigError, match="every = 3, not 2: choose another --out"):
        gather_labels(settings(engine, every=2), [place], parts)


def test_games_too_short_for_a_label_are_left_out(engine, place, games, tmp_path) -> None:
    config = settings(engine, every=80)
    wanted = [n for n in range(6) if labelled_plies(config, games.take(np.array([n])))]
    assert 0 < len(wanted) < 6
    facts = gather_labels(config, [place], tmp_path / "out")
    assert labelled(tmp_path / "out").numbers.tolist() == wanted
    assert facts["new_positions"] == len(wanted)
    assert gather_labels(config, [place], tmp_path / "out")["new_games"] == 0


def test_shards_runs_and_pgn_files_together(engine, place, games, tmp_path) -> None:
    pgn, shard = tmp_path / "games.pgn", tmp_path / "one.npz"
    with pgn.open("w") as file:
        write_pgn(recorded_games(games, 0, True), file, False)
    write_shard(shard, games)
    gather_labels(settings(engine), [place, shard, pgn], tmp_path / "out")
    records = labelled(tmp_path / "out")
    numbers = [*range(6), *range(PLACE, PLACE + 8), *range(2 * PLACE, 2 * PLACE + 8)]
    assert records.numbers.tolist() == numbers
    first, second, third = (np.arange(6) + shift for shift in (0, 6, 14))
    assert np.array_equal(records.take(first).action, records.take(second).action)
    assert np.array_equal(records.take(first).action, records.take(third).action)
    with pytest.raises(ConfigError, match="out has games of several places: label it alone"):
        gather_labels(settings(engine), [tmp_path / "out", place], tmp_path / "again")
    again = gather_labels(settings(engine), [tmp_path / "out"], tmp_path / "anew")
    assert again["games"] == 22


def test_places_that_will_not_do(engine, place, games, tmp_path) -> None:
    bad = tmp_path / "bad.pgn"
    bad.write_text('[Result "1-0"]\n\n1. e4 Ke4 1-0\n\n[Result "1-0"]\n\n1. e4 e5 2. d4 1-0\n')
    out = tmp_path / "out"
    with pytest.raises(ConfigError, match=r"bad.pgn, line 1, game 1: .*--skip-bad"):
        gather_labels(settings(engine), [bad], out)
    assert (
        gather_labels(settings(engine, every=1), [bad], tmp_path / "o", skip_bad=True)["plies"] == 3
    )
    with pytest.raises(ConfigError, match="there is no PGN file, run, folder or shard"):
        gather_labels(settings(engine), [tmp_path / "nothing"], out)
    with pytest.raises(ConfigError, match="holds other games already: choose another --out"):
        gather_labels(settings(engine), [place], write_folder(tmp_path / "twice", games, games))
    with pytest.raises(DataError, match="twice has two games of one number"):
        gather_labels(settings(engine), [tmp_path / "twice"], tmp_path / "p")


def write_folder(folder: Path, *shards: GameRecords) -> Path:
    """A folder of shards without a manifest."""
    folder.mkdir()
    for index, records in enumerate(shards):
        write_shard(folder / f"{index}.npz", records)
    return folder


def test_chess960_is_asked_and_answered_in_its_own_notation(engine, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    wild = tmp_path / "wild.pgn"
    wild.write_text(
        '[Variant "Chess960"]\n[SetUp "1"]\n'
        '[FEN "1rk1r3/4p3/8/8/8/8/4P3/1RK1R3 w EBeb - 0 1"]\n'
        '[Result "1-0"]\n\n1. O-O O-O-O 2. Kh1 1-0\n'
    )
    gather_labels(settings(engine, every=1), [wild], tmp_path / "out")
    boards = [
        chess.Board(fen, chess960=True) for fen in (tmp_path / "asked").read_text().splitlines()
    ]
    assert len(boards) == 3
    assert boards[0].has_chess960_castling_rights()
    assert chess.Move.from_uci("c8b8") in boards[1].legal_moves
    rows = make_samples(labelled(tmp_path / "out"), np.arange(3))
    assert (rows.policy.max(1) > 0.5).all()


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("bestmove a7a5", "game 0, ply 0: it gives no score"),
        ("bestmove (none)", "game 0, ply 0: it gave up"),
        ("info score cp 1 pv e2e4\nbestmove e1e8", "game 0, ply 0: illegal uci: 'e1e8'"),
    ],
)
def test_answers_that_are_no_labels_end_it_in_a_line(
    place, games, tmp_path, answer: str, line: str
) -> None:
    board = replay(games)[0].root()
    legal = next(iter(board.legal_moves)).uci()
    engine = tmp_path / "bad"
    engine.write_text(
        "#!/bin/sh\nwhile read word rest; do case $word in\n uci) echo uciok;;\n"
        " isready) echo readyok;;\n"
        f' go) printf "{answer.replace("a7a5", legal)}\\n";;\nesac; done\n'
    )
    engine.chmod(0o755)
    config = settings(str(engine), multipv=1, every=1)
    with pytest.raises(WorkerDied) as caught:
        gather_labels(config, [place], tmp_path / "out")
    assert f"failed 3 times, the last in {line}" in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match=r"one line only \(no option MultiPV\): --multipv 1"):
        gather_labels(settings(str(engine)), [place], tmp_path / "out")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--every", 0], "--every must be at least 1, got 0"),
        (["--multipv", 300], "--multipv must be at most 218, got 300"),
        (["--multipv", 10], "expected value for option 'MultiPV' to be at most 9, got: 10"),
        (["--engine", "nowhere"], 'there is no engine "nowhere"'),
    ],
)
def test_bad_options_are_one_line(
    engine, place, tmp_path, options: list[object], line: str
) -> None:
    out = tmp_path / "out"
    done = inside("gather", "label", place, "--engine", engine, "--out", out, *options)
    assert done.returncode == 2
    assert line in done.stderr
    assert done.stderr.count("\n") == 1
    assert not out.exists()


@pytest.mark.thorough
def test_a_signal_saves_what_is_finished(engine, games, tmp_path, monkeypatch) -> None:
    many = [replace(games, numbers=games.numbers + 8 * k) for k in range(500)]
    place, out, told = write_folder(tmp_path / "many", *many), tmp_path / "out", tmp_path / "told"
    monkeypatch.setenv("TOLD_OF_MOVES", str(told))
    running = start("gather", "label", place, "--engine", engine, "--out", out)
    deadline = time.monotonic() + 60
    while not told.exists():
        assert running.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert err.splitlines()[-1] == f"{stopped_text('SIGINT')}; resume with the same command"
    assert read_games([out]).num_games > 0


@pytest.mark.stockfish
def test_stockfish_labels_the_same_whoever_asks(place, tmp_path) -> None:
    gather_labels(settings("stockfish", nodes=50), [place], tmp_path / "one")
    gather_labels(settings("stockfish", nodes=50, concurrency=2), [place], tmp_path / "two")
    one, two = labelled(tmp_path / "one"), labelled(tmp_path / "two")
    assert one.digest() == two.digest()
    assert (np.diff(one.target_offsets)[one.visits > 0] > 1).any()
    make_samples(one, trainable_plies(one))
