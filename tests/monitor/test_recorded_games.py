"""Games of a run as onlookers see them, recorded ones and those in progress."""

from pathlib import Path

import chess
import pytest

from tests.export.made import games_of, played, searched
from tests.monitor.runs import MadeRun, numbered, selfplay_run, so_far
from vecchess.chess.uci_moves import to_chess_move
from vecchess.dash.views.game_values import game_rows, game_view
from vecchess.errors import DataError
from vecchess.monitor import run_games as module
from vecchess.monitor.decoded_game import DecodedGame, DecodedMoves
from vecchess.monitor.run_view import RunView
from vecchess.store.id_set import IdSet


def check_moves(game: DecodedGame) -> None:
    """SAN, UCI and FEN tell the same game."""
    board = chess.Board(game.start_fen, chess960=game.chess960)
    for uci, san in zip(game.ucis, game.sans, strict=True):
        assert board.parse_san(san) == board.parse_uci(uci)
        board.push_uci(uci)
    assert board.fen() == game.fen
    lists = (game.white_score, game.win, game.draw, game.steps, game.visits)
    assert {len(one) for one in lists} == {len(game.ucis)}


@pytest.mark.parametrize("chess960", [False, True])
def test_recorded_games_are_told_as_they_were_played(chess960: bool, tmp_path: Path) -> None:
    made = MadeRun(tmp_path, chess960=chess960)
    records = searched(chess960)
    made.record(records)
    view = RunView(tmp_path)
    for known in games_of(records, chess960):
        game = view.game(known.number)
        check_moves(game)
        board = known.start_board()
        for move, uci in zip(known.moves, game.ucis, strict=True):
            played_move = to_chess_move(board, int(move))
            assert board.uci(played_move) == uci
            board.push(played_move)
        assert game.net == known.nets[-1]
        assert game.termination == known.termination.name.lower()
        assert game.result == {1: "1-0", 0: "1/2-1/2", -1: "0-1"}[known.result]
        assert (game.is_live, game.worker, game.seat) == (False, None, -1)
        white = [s for s in game.white_score[::2] if s is not None]
        mover = (known.balance[::2][known.evaluated[::2]] + 1) / 2
        assert white == pytest.approx(mover.tolist(), abs=1e-4)
        black = [s for s in game.white_score[1::2] if s is not None]
        other = (1 - known.balance[1::2][known.evaluated[1::2]]) / 2
        assert black == pytest.approx(other.tolist(), abs=1e-4)


def test_games_in_progress_are_followed_move_by_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = selfplay_run(tmp_path / "first")
    view = RunView(made.path)
    first = view.live_games()
    for game in first:
        check_moves(game)
        assert game.is_live
        assert game.result == "*"
        assert game.termination == "ongoing"
        assert game.worker == 0
    assert [len(game.sans) for game in first] == [10, 4, 0, 30]
    assert [game.seat for game in first] == [0, 1, 2, 3]
    begun: list[int] = []
    monkeypatch.setattr(
        "vecchess.monitor.decoded_game.DecodedMoves",
        lambda *given: begun.append(1) or DecodedMoves(*given),
    )
    made.show(0, numbered(so_far(played(), [12, 5, 1, 31]), 100))
    later = view.live_games()
    assert [len(game.sans) for game in later] == [12, 5, 1, 31]
    assert not begun, "games that go on are not decoded from the start"
    assert all(b.sans[: len(a.sans)] == a.sans for a, b in zip(first, later, strict=True))
    assert len(first[0].sans) == 10, "what was handed out stays"
    made.show(0, numbered(so_far(played(), [12, 5, 1]), 200))
    assert [game.number for game in view.live_games()] == [200, 201, 202]
    assert len(begun) == 3
    assert view.game(201).is_live
    (made.path / "live" / "000.npz").unlink()
    assert view.live_games() == []


def test_a_game_and_its_neighbours_need_only_the_shards_that_they_are_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = MadeRun(tmp_path)
    for first in (50, 0, 20, 100):
        made.record(numbered(played(), first))
    opened: list[str] = []
    real = module.read_outcomes
    monkeypatch.setattr(module, "read_outcomes", lambda p: opened.append(p.name) or real(p))
    view = RunView(tmp_path)
    assert view.recorded.neighbours(22) == (21, 23)
    assert view.recorded.neighbours(20) == (7, 21)
    assert view.recorded.neighbours(27) == (26, 50)
    assert view.recorded.neighbours(30) == (27, 50), "itself need not be recorded"
    assert view.recorded.neighbours(0) == (None, 1)
    assert view.recorded.neighbours(107) == (106, None)
    assert RunView(MadeRun(tmp_path / "empty").path).recorded.neighbours(3) == (None, None)
    assert game_view(view, 7)["next"] == 20
    assert opened == []
    last = [*range(107, 99, -1), 27, 26]
    assert [game.number for game in view.last_games(10)] == last
    assert opened == ["w3.npz", "w2.npz"]


def test_a_page_of_the_list_needs_only_its_own_shards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = MadeRun(tmp_path)
    for first in range(0, 96, 8):
        made.record(numbered(played(), first))
    opened: list[str] = []
    real = module.read_outcomes
    monkeypatch.setattr(module, "read_outcomes", lambda p: opened.append(p.name) or real(p))
    view = RunView(tmp_path)

    def page(first: int, **asked: str) -> list[int]:
        found = game_rows(view, first, **asked)
        assert found["total"] == 96
        return [game["number"] for game in found["games"]]

    assert page(10) == [*range(85, 35, -1)]
    assert opened == [f"w{number}.npz" for number in range(10, 3, -1)]
    assert page(90, order="oldest") == [*range(90, 96)]
    assert opened[7:] == ["w11.npz"]
    assert page(96) == page(10**15) == []
    assert page(0, ending="ply_cap") == page(0), "all are opened, and the order is the same"
    assert len(opened) == 12
    (made.run.games / "w11.npz").write_bytes(b"damaged")
    view = RunView(tmp_path)
    assert page(0) == [*range(87, 37, -1)]


def test_a_look_for_a_game_does_not_go_through_the_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = MadeRun(tmp_path)
    for first in range(0, 96, 8):
        made.record(numbered(played(), first))
    view = RunView(tmp_path)
    made.record(numbered(played(), 200))
    view.refresh()
    looks: list[int] = []
    real = IdSet.contains
    monkeypatch.setattr(IdSet, "contains", lambda *two: looks.append(1) or real(*two))
    monkeypatch.setattr(IdSet, "union", None)
    assert view.recorded.neighbours(95) == (94, 200)
    with pytest.raises(DataError, match="no game 150"):
        view.game(150)
    assert len(looks) == 1


def test_a_game_that_is_not_there_is_named(tmp_path: Path) -> None:
    made = selfplay_run(tmp_path)
    with pytest.raises(DataError, match="no game 77, recorded or shown while it is played"):
        RunView(made.path).game(77)


def test_outcomes_of_shards_that_are_gone_are_forgotten(tmp_path: Path) -> None:
    made = MadeRun(tmp_path)
    made.record(searched(False))
    view = RunView(tmp_path)
    num_games = len(view.recorded.outcomes().numbers)
    assert len(view.recorded._outcomes) == 1
    made.run.manifest().replace([])
    view.refresh()
    assert len(view.recorded.outcomes().numbers) == 0 < num_games
    assert view.recorded._outcomes == {}
