"""The boards of a grid: a game that is over stays until its seat has a new one."""

from dataclasses import dataclass, replace
from typing import Any

from vecchess.dash.views.board_grid import LINGER_S, LINGER_UNKNOWN_S, BoardGrid
from vecchess.errors import DataError
from vecchess.monitor.decoded_game import DecodedGame
from vecchess.monitor.run_status import RunStatus
from vecchess.store.stats import GameStats


def game(number: int, seat: int = 0, **changes: Any) -> DecodedGame:
    blank = DecodedGame(
        number, 0, seat, "", "8/8/8/8/8/8/8/8 w - - 0 1", ["e2e4"], ["e4"], [0.5], [200], [100],
        [2], [0], "*", "ongoing", True, "ab", False,
    )  # fmt: skip
    return replace(blank, **changes)


@dataclass
class Seen:
    """As much of a run as a grid looks at."""

    playing: list[DecodedGame]
    recorded: dict[int, DecodedGame]
    status: RunStatus
    num_reads: int = 0

    @property
    def stats(self) -> GameStats:
        return GameStats(games=len(self.recorded))

    def last_games(self, most: int) -> list[DecodedGame]:
        self.num_reads += 1
        return list(self.recorded.values())[::-1][:most]

    def live_games(self) -> list[DecodedGame]:
        return self.playing

    def game(self, number: int) -> DecodedGame:
        if number not in self.recorded:
            raise DataError("not yet")
        return self.recorded[number]


def shown(grid: BoardGrid, view: Seen, now: float) -> list[tuple[int, bool, str]]:
    boards = grid.boards(view, lambda: now)  # type: ignore[arg-type]
    return [(board["number"], board["over"], board["result"]) for board in boards]


def test_boards_stand_in_the_order_of_their_seats() -> None:
    view = Seen([game(5, 2), game(9, 0), game(7, 1)], {}, RunStatus())
    assert [number for number, *_ in shown(BoardGrid(), view, 0.0)] == [9, 7, 5]


def test_a_game_that_is_over_shows_its_result_before_the_next_takes_its_seat() -> None:
    over = game(1, result="1-0", termination="checkmate", is_live=False, seat=-1, worker=None)
    view, grid = Seen([game(1)], {1: over}, RunStatus()), BoardGrid()
    assert shown(grid, view, 0.0) == [(1, False, "*")]
    view.playing = [game(2)]
    assert shown(grid, view, 1.0) == [(1, True, "1-0")]
    assert shown(grid, view, 0.9 + LINGER_S) == [(1, True, "1-0")]
    assert shown(grid, view, 1.0 + LINGER_S) == [(2, False, "*")]


def test_where_the_result_is_not_known_the_next_game_comes_sooner() -> None:
    view, grid = Seen([game(1)], {}, RunStatus()), BoardGrid()
    shown(grid, view, 0.0)
    view.playing = [game(2)]
    assert shown(grid, view, 1.0) == [(1, True, "*")]
    assert shown(grid, view, 1.0 + LINGER_UNKNOWN_S) == [(2, False, "*")]


def test_a_seat_that_rests_is_left_in_the_end() -> None:
    view, grid = Seen([game(1), game(2, 1)], {}, RunStatus()), BoardGrid()
    shown(grid, view, 0.0)
    view.playing = [game(2, 1)]
    assert shown(grid, view, 1.0) == [(1, True, "*"), (2, False, "*")]
    assert shown(grid, view, 1.0 + LINGER_S) == [(2, False, "*")]


def test_a_run_that_is_over_shows_its_last_games_which_are_read_once() -> None:
    over = {number: game(number, result="1-0", is_live=False, worker=None) for number in (1, 2)}
    view, grid = Seen([game(3)], {}, RunStatus()), BoardGrid()
    shown(grid, view, 0.0)
    view.playing, view.status = [], RunStatus(is_over=True)
    assert shown(grid, view, 0.1) == [], "none is recorded"
    view.recorded = over
    for now in (0.2, 1.2):
        assert shown(grid, view, now) == [(2, True, "1-0"), (1, True, "1-0")]
    assert view.num_reads == 1
