"""PGN files become records whose replay is the very game that python-chess reads."""

import io
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest

from tests.selfplay.playing import play, recorded_games
from vecchess.chess.rules import Termination
from vecchess.config import GameConfig
from vecchess.errors import ConfigError
from vecchess.export.pgn_export import recorded_pgn, write_pgn
from vecchess.importers import pgn_import
from vecchess.importers.pgn_import import import_pgn
from vecchess.store.manifest import Manifest
from vecchess.store.records import GameRecords
from vecchess.store.sources import read_games
from vecchess.train.data.samples import make_samples

HEAD = '[Event "?"]\n[Result "{}"]\n'
CASTLES = "1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. O-O (4. c3 {ignored} Nf6) Nf6 $1 5. d3 O-O 1-0"
MATE = "1. f3 e5 2. g4 Qh4# 0-1"


def text(result: str, moves: str, *tags: str) -> str:
    return HEAD.format(result) + "".join(f"[{tag}]\n" for tag in tags) + f"\n{moves}\n\n"


def imported(folder: Path, pgn: str, **options: object) -> GameRecords:
    (folder / "games.pgn").write_text(pgn)
    import_pgn([folder / "games.pgn"], folder / "out", **options)
    return read_games([folder / "out"])


def positions(records: GameRecords) -> list[list[str]]:
    """Every position of every game, as python-chess plays the records."""
    games = recorded_games(records, 0, True)
    boards = [recorded_pgn(game, comments=False).end().board() for game in games]
    return [[*fens(board)] for board in boards]


def fens(board: chess.Board) -> list[str]:
    copy = board.copy()
    found = [copy.epd(en_passant="legal")]
    while copy.move_stack:
        copy.pop()
        found.append(copy.epd(en_passant="legal"))
    return found


def test_games_are_the_same(tmp_path) -> None:
    rook = 'FEN "1k6/8/8/8/8/8/2R5/1K6 w - - 0 1"'
    under = 'FEN "8/P6k/8/8/8/8/8/K7 w - - 0 1"'
    wild = 'FEN "1rk1r3/4p3/8/8/8/8/4P3/1RK1R3 w EBeb - 0 1"'
    pgn = (
        text("1-0", CASTLES)
        + text("0-1", MATE)
        + text("1/2-1/2", "1. Rb2+ Kc7 1/2-1/2", 'SetUp "1"', rook)
        + text("1-0", "1. a8=N Kg6 1-0", 'SetUp "1"', under)
        + text("1/2-1/2", "1. O-O O-O-O 1/2-1/2", 'SetUp "1"', 'Variant "Chess960"', wild)
    )
    records = imported(tmp_path, pgn)
    assert records.num_games == 5
    assert records.result.tolist() == [1, -1, 0, 1, 0]
    names = [Termination(code).name for code in records.termination]
    assert names == ["RESIGNATION", "CHECKMATE", "ADJUDICATION", "RESIGNATION", "ADJUDICATION"]
    handle = io.StringIO(pgn)
    wanted = []
    while (game := chess.pgn.read_game(handle)) is not None:
        wanted.append(fens(game.end().board()))
    assert positions(records) == wanted


@pytest.mark.parametrize("chess960", [False, True])
def test_what_was_exported_comes_back(tmp_path, chess960, monkeypatch) -> None:
    monkeypatch.setattr(pgn_import, "SHARD_GAMES", 4)
    records = play(GameConfig(max_plies=60, chess960=chess960), 6)
    exported = io.StringIO()
    write_pgn(recorded_games(records, 0, chess960), exported, comments=True)
    back = imported(tmp_path, exported.getvalue())
    assert len(Manifest(tmp_path / "out").entries) == 2
    assert np.array_equal(back.action, records.action)
    assert np.array_equal(back.start, records.start)
    assert np.array_equal(back.result, records.result)


def test_every_move_is_learnt_and_nobody_judged(tmp_path) -> None:
    records = imported(tmp_path, text("1-0", CASTLES))
    rows = make_samples(records, np.arange(10))
    assert rows.has_policy.all()
    assert not rows.has_value.any()
    assert (rows.policy[np.arange(10), rows.played] == 1).all()
    assert rows.outcome.tolist() == [1, -1] * 5


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (text("1-0", "1. e4 e5 2. Ke3 Nf6 1-0"), r"game 2: move 2\. Ke3 is illegal"),
        (text("1-0", "1. e4 Qh4 2. a3 1-0"), r"game 2: move 1\.\.\. Qh4 is illegal"),
        (text("1-0", "1. e4 -- 2. d4 1-0"), r"game 2: move 1\.\.\. -- is no move"),
        (text("1-0", MATE), "game 2: its tag says 1-0, its moves end with 0-1"),
        (text("1-0", f"{MATE[:-3]}1-0"), "game 2: the result 1-0 contradicts"),
        (text("1-0", "1. e4 1-0", 'FEN "8/8/8/8/8/8/8/K7 w - - 0 1"'), "game 2: .* no king"),
        (text("1-0", "1. e4 1-0", 'FEN "nonsense"'), "game 2: "),
        (text("1-0", "1. e4 1-0", 'Variant "Atomic"'), "game 2: AtomicBoard is not chess"),
    ],
    ids=["illegal", "blocked", "null", "two results", "result", "position", "fen", "variant"],
)
def test_bad_games_are_named_or_left_out(tmp_path, bad, words, monkeypatch) -> None:
    monkeypatch.setattr(pgn_import, "SHARD_GAMES", 1)
    pgn = text("0-1", MATE) + bad + text("1-0", CASTLES)
    with pytest.raises(ConfigError, match=words) as caught:
        imported(tmp_path, pgn)
    assert "games.pgn" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert {path.name for path in tmp_path.iterdir()} == {"games.pgn"}, "nothing is left"
    records = imported(tmp_path, pgn, skip_bad=True)
    assert records.result.tolist() == [-1, 1]


def test_what_is_no_game_is_counted(tmp_path) -> None:
    pgn = text("*", "1. e4 *") + text("1-0", "1-0") + text("?", CASTLES) + text("*", "*")
    (tmp_path / "games.pgn").write_text(pgn)
    counts = import_pgn([tmp_path / "games.pgn"], tmp_path / "out")
    assert (counts.games, counts.empty, counts.unfinished, counts.bad) == (1, 2, 1, 0)
    assert counts.plies == 10


def test_files_that_will_not_do_are_named(tmp_path) -> None:
    for name, content in (("none.pgn", ""), ("a.txt", "*\n")):
        (tmp_path / name).write_text(content)
        with pytest.raises(ConfigError, match=f"{name} holds no finished games"):
            import_pgn([tmp_path / name], tmp_path / "out")
    with pytest.raises(ConfigError, match="no file"):
        import_pgn([tmp_path / "nowhere.pgn"], tmp_path / "out")
    imported(tmp_path, text("0-1", MATE))
    with pytest.raises(ConfigError, match="choose another --out"):
        imported(tmp_path, text("0-1", MATE))
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot write"):
        import_pgn([tmp_path / "games.pgn"], tmp_path / "file" / "out")
