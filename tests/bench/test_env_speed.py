"""The bench of the environment runs and counts the steps that it made."""

import pytest
from bench.env_speed import measure, own_kinds, peer_kinds


def test_every_kind_is_measured() -> None:
    kinds = own_kinds(games=3, threads=1, steps=2)
    assert all(play() == 6 for play in kinds.values())
    result = measure(kinds, rounds=1)
    names = ["no observations", "bitboards", "planes uint8", "planes float32", "masks"]
    assert list(result["steps_per_s"]) == list(result["steps_per_processor_s"]) == names
    assert min(result["steps_per_s"].values()) > 0


def test_only_peers_that_are_installed_play(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.env_speed.find_spec", lambda module: None)
    assert peer_kinds(["open_spiel", "pgx"], 3) == {}
