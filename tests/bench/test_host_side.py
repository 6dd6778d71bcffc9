"""The benches of the host beside a GPU: a turn over a stub, and workers beside fake devices."""

import argparse
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("triton")

from bench.scale import gpu_workers

from bench import host_turn

Measured = Callable[..., dict[str, Any]]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    """A measurement with 40 slots, which are taken for four steps and one more."""
    for owner, name in (
        (host_turn.cuda_backend, "Launches"),
        (host_turn.streams.Streams, "upload"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))  # put back afterwards

    def measure(**given: Any) -> dict[str, Any]:
        options = argparse.Namespace(slots=40, movers=2, mean_steps=4.0, **given)
        return host_turn.measured(options)

    return measure


def test_a_turn_over_a_stub(measured: Measured) -> None:
    found = measured(search="none", sims=0, settle_turns=20, turns=100, sleep_us=0.0)
    assert 0.8 * 40 / 5 < found["rows_a_turn"] <= 40 / 4
    assert 0 < sum(found["parts_us"].values()) <= found["host_us"] * 1.2


def test_movers_that_sleep_ask_for_the_same_rows_again(measured: Measured) -> None:
    found = measured(search="puct", sims=20, settle_turns=6, turns=200, sleep_us=5.0)
    assert 0 < found["rows_a_turn"] <= 40 / 4
    assert found["rows_per_s"] > 0


@pytest.mark.slow
def test_workers_beside_fake_gpus() -> None:
    options = argparse.Namespace(workers=2, slots=64, movers=1, settle_s=2.0, seconds=6.0)
    found = gpu_workers.measured(options, slower=200.0)
    assert 0.5 < found["device_busy"] <= 1.05
    assert 0.6 < found["batch_fill"] <= 0.9
    assert found["plies_per_s"] > 0
