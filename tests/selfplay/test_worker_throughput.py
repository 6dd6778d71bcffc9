"""Speed and load from counters, whenever they are read."""

from typing import Any

import pytest

from vecchess.selfplay.supervisor.worker_throughput import (
    WINDOW_S,
    Throughput,
    ThroughputMeter,
)


def stats(time_s: float, games: int) -> dict[str, Any]:
    """What a worker tells ``time_s`` after its start, having finished ``games``."""
    return {
        "time_s": time_s,
        "games": games,
        "batches": games,
        "full_batches": 0,
        "slot_steps": games * 3,
        "positions": games * 100,
        "busy_ns": int(time_s * 5e8),
        "host_ns": int(time_s * 2e8),
        "steps": {"2": games * 100},
        "queue_age": {"80": games},
        "plies": games * 100,
        "mover_busy_ns": 0,
        "movers": 1,
        "slots": 4,
        "game_bytes": 0,
    }


def test_statistics_that_are_read_together_count_by_the_time_they_were_told() -> None:
    """A parent that was held up finds several in the pipe: it must not take that for great speed,
    and hand out millions of games."""
    meter = ThroughputMeter()
    for message in (stats(10.0, 0), stats(10.5, 4), stats(11.0, 8)):
        meter.read(message)
    assert meter.recent().games_per_s == 8.0
    assert meter.recent().plies_per_s == 800.0
    assert meter.overall().device_busy == pytest.approx(0.5)
    assert meter.overall().host_busy == pytest.approx(0.2)


def test_the_recent_load_is_that_of_the_last_seconds() -> None:
    meter = ThroughputMeter()
    assert meter.recent().games_per_s == 0.0
    for second in range(20):
        meter.read(stats(float(second), 0 if second < 10 else 10 * (second - 10)))
        assert meter.recent() is meter.recent()
    assert meter.recent().games_per_s == 10.0
    assert meter.overall().games_per_s == pytest.approx(90 / 19)
    assert WINDOW_S < 9


def test_the_speed_is_that_of_the_time_with_moves() -> None:
    """Not of the time before the first ones, nor of that after the last."""
    meter = ThroughputMeter()
    for time_s, plies in [(0, 0), (10, 0), (20, 5), (21, 5), (30, 25), (90, 25)]:
        meter.read(stats(float(time_s), 0) | {"plies": plies})
    assert meter.seconds_a_ply == (30 - 20) / (25 - 5)
    meter.begin_generation()
    assert meter.seconds_a_ply == 0.0
    meter.read(stats(100.0, 0) | {"plies": 30})
    assert meter.seconds_a_ply == 0.0, "moves were made until then, it is not known since when"


@pytest.mark.parametrize(
    ("device", "host", "movers", "fill", "verdict"),
    [
        (0.97, 0.0, 0.1, 0.97, "device-bound"),
        (0.97, 0.0, 0.1, 0.1, "device-bound"),
        (0.97, 0.6, 0.3, 0.71, "device-bound"),
        (0.55, 0.95, 0.3, 0.71, "host-bound"),
        (0.55, 0.3, 0.9, 0.4, "mover-bound"),
        (0.3, 0.2, 0.4, 0.71, "starved"),
        (0.9, 0.2, 0.1, 0.03, "starved"),
    ],
)
def test_the_limit_is_what_is_busy_longest(
    device: float, host: float, movers: float, fill: float, verdict: str
) -> None:
    """A processor computes as long as it has positions, a GPU (beside which the host works) takes
    steps of any size: nearly empty ones limit nothing."""
    load = Throughput(
        device_busy=device, host_busy=host, mover_busy=movers, batch_fill=fill, plies_per_s=1.0
    )
    assert load.verdict == load.to_dict()["verdict"] == verdict
