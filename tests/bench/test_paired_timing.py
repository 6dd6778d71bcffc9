"""Rounds, medians and ratios, with entrants that only count."""

from vecchess.bench.entrants import Batches
from vecchess.bench.paired_timing import (
    Count,
    Lap,
    core_share,
    mean_steps,
    ratio,
    speed,
    time_in_turns,
)


class Counter:
    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self._log = log

    def turn(self) -> Count:
        self._log.append(self.name)
        return Count(2, 6)


def test_every_round_gives_every_entrant_a_lap() -> None:
    log: list[str] = []
    laps = time_in_turns([Counter("a", log), Counter("b", log)], seconds=0.0)
    assert log == ["a", "b"] * 5
    assert [len(laps[name]) for name in ("a", "b")] == [5, 5]
    assert mean_steps(laps["a"]) == 3.0


def test_ratios_are_taken_within_a_round() -> None:
    laps = {
        "one": [Lap(10, 20, s, 0.5) for s in (1.0, 4.0, 1.0)],
        "other": [Lap(10, 40, s, 0.5) for s in (2.0, 8.0, 5.0)],
    }
    assert speed(laps["one"]) == 10.0
    assert ratio(laps, "one", "other") == 2.0
    assert core_share(laps) == 3 / 21


def test_batches_go_round() -> None:
    batches = Batches(5)
    assert [batches.take(size).tolist() for size in (3, 0, 3, 1)] == [[0, 1, 2], [], [3, 4, 0], [1]]
