"""How long a move may take, and when a search ends before."""

from math import inf

import pytest

from vecchess.uci.parse_command import Go
from vecchess.uci.time_manager import Budget, ClockState, is_enough

OVERHEAD = 0.03


def budget(white: bool = True, ponder: bool = False, **go: object) -> Budget:
    return Budget.of(Go(**go), white, OVERHEAD, ponder)  # type: ignore[arg-type]


def test_without_a_word_of_time_there_is_no_limit() -> None:
    assert budget(nodes=5) == Budget(inf, inf)
    assert budget(white=False, time_ms=(1000, None)) == Budget(inf, inf)


def test_movetime_is_used_up_but_for_the_overhead() -> None:
    assert budget(movetime_ms=1000) == Budget(0.97, 0.97, is_exact=True)
    assert budget(movetime_ms=40) == Budget(0.02, 0.02, is_exact=True)
    assert budget(movetime_ms=-5).most_s > 0


def test_each_side_has_its_own_clock() -> None:
    times = (60_000, 6_000)
    assert budget(time_ms=times).optimum_s > 9 * budget(white=False, time_ms=times).optimum_s


@pytest.mark.parametrize("increment", [0, 10, 1000, 100_000])
@pytest.mark.parametrize("moves_to_go", [None, 0, 1, 2, 40, 10_000])
@pytest.mark.parametrize("time_ms", [-1000, 0, 1, 29, 31, 100, 1000, 60_000, 10**7])
def test_a_move_never_takes_what_is_not_there(
    time_ms: int, moves_to_go: int | None, increment: int
) -> None:
    for ponder in (False, True):
        found = budget(
            time_ms=(time_ms, 1),
            moves_to_go=moves_to_go,
            increment_ms=(increment, 0),
            ponder=ponder,
        )
        assert 0 < found.optimum_s <= found.most_s
        assert found.most_s <= max(time_ms / 1000 - OVERHEAD, 0.001)


def test_a_game_of_any_length_fits_one_second_and_a_hundredth() -> None:
    """Also if every move takes all it may and 10 ms more."""
    clock = 1.0
    for _ in range(500):
        found = budget(time_ms=(round(1000 * clock), None), increment_ms=(10, 0))
        clock -= found.most_s + 0.010
        assert clock > 0.0
        clock += 0.010


def test_more_moves_to_go_leave_less_for_each() -> None:
    shares = [budget(time_ms=(60_000, 0), moves_to_go=moves).optimum_s for moves in (1, 5, 20)]
    assert shares == sorted(shares, reverse=True)
    usual = budget(time_ms=(60_000, 0))
    assert all(budget(time_ms=(60_000, 0), moves_to_go=none) == usual for none in (0, -1))


def test_the_increment_counts_beyond_the_overhead() -> None:
    without, small, large = (
        budget(time_ms=(60_000, 0), increment_ms=(increment, 0)).optimum_s
        for increment in (0, 20, 1030)
    )
    assert without == small
    assert large == pytest.approx(without + 0.8)


def test_pondering_gives_time() -> None:
    times = (60_000, 0)
    assert budget(time_ms=times, ponder=True).optimum_s == pytest.approx(
        1.25 * budget(time_ms=times).optimum_s
    )


PLAN = Budget(1.0, 3.0)


def standing(first: int, second: int, overtaken: bool = False, moves: int = 30) -> ClockState:
    return ClockState(first, second, moves, speed=1000.0, is_overtaken=overtaken)


def test_the_optimum_ends_a_search_whose_best_move_is_the_best() -> None:
    assert not is_enough(PLAN, standing(500, 400), 0.5)
    assert is_enough(PLAN, standing(500, 400), 1.0)


def test_a_search_ends_when_nothing_can_catch_up() -> None:
    assert not is_enough(PLAN, standing(600, 101), 0.5)
    assert is_enough(PLAN, standing(602, 101), 0.5)
    assert is_enough(PLAN, standing(5000, 100), 0.001)


def test_a_contested_move_gets_more_time_but_not_for_ever() -> None:
    contested = standing(500, 400, overtaken=True)
    assert contested.is_contested
    assert not standing(500, 100, overtaken=True).is_contested
    assert not is_enough(PLAN, contested, 2.5)
    assert is_enough(PLAN, contested, 3.0)


def test_an_only_move_is_played_at_once() -> None:
    assert is_enough(PLAN, standing(1, 0, moves=1), 0.001)
    assert not is_enough(PLAN, standing(0, 0, moves=1), 0.001)


def test_movetime_is_not_cut_short() -> None:
    exact = Budget(1.0, 1.0, is_exact=True)
    assert not is_enough(exact, standing(10**6, 0, moves=1), 0.9)
    assert is_enough(exact, standing(10, 9), 1.0)


def test_without_limit_nothing_ends_it() -> None:
    assert not is_enough(Budget(), standing(10**6, 0, moves=1), 10**6)
