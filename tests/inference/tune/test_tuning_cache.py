"""Choices that were measured once are kept for their key alone."""

import os
from pathlib import Path

import pytest

from vecchess.inference.tune import tuning_cache
from vecchess.inference.tune.slot_search import Rung
from vecchess.inference.tune.tuning_cache import (
    TuningKey,
    load_slots,
    load_tuned,
    store_tuned,
    tuning_alone,
)
from vecchess.runtime.file_lock import try_lock
from vecchess.snn.presets import NetConfig


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TuningKey:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return TuningKey.of(
        "slots",
        "a processor, 2 threads",
        "cpu",
        NetConfig(num_planes=25, blocks=2, channels=32, time_steps=4),
    )


RUNG = Rung(slots=96, positions_per_s=1234.5, latency_ms=3.0, nbytes=10**6)


def test_a_count_is_remembered_for_its_place_alone(place: TuningKey) -> None:
    assert load_slots(place) is None
    assert store_tuned(place, RUNG.to_dict())
    assert load_slots(place) == 96
    config = NetConfig(num_planes=25, blocks=2, channels=32, preset="named", time_steps=4)
    assert load_slots(TuningKey.of("slots", place.device, place.backend, config)) == 96
    others = [
        TuningKey.of("slots", "another", "cpu", config),
        TuningKey.of("slots", place.device, "reference", config),
        TuningKey.of("slots", place.device, "cpu", config.model_copy(update={"channels": 64})),
        TuningKey("slots", place.device, place.backend, place.sizes, {}, "0.0.0"),
        TuningKey.of("slots", place.device, place.backend, config, torch="2.0"),
        TuningKey.of("tile", place.device, place.backend, config),
    ]
    assert [load_tuned(other) for other in others] == [None] * 6
    assert [file.name for file in place.file.parent.iterdir()] == [place.file.name]


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", '{"slots": 5}', '{"schema": 1, "key": {}, "values": {"slots": 5}}'],
)
def test_a_damaged_or_foreign_file_is_none_and_is_replaced(place: TuningKey, content: str) -> None:
    store_tuned(place, RUNG.to_dict())
    place.file.write_text(content)
    assert load_slots(place) is None
    assert store_tuned(place, RUNG.to_dict())
    assert load_slots(place) == 96


@pytest.mark.parametrize("slots", ["0", "-1", "true", "1e9", '"96"', "1048577", "null"])
def test_a_count_that_cannot_be_is_none(place: TuningKey, slots: str) -> None:
    store_tuned(place, RUNG.to_dict())
    place.file.write_text(place.file.read_text().replace('"slots": 96', f'"slots": {slots}'))
    assert load_slots(place) is None


def test_nowhere_to_write(place: TuningKey) -> None:
    place.file.parent.parent.parent.mkdir(parents=True)
    place.file.parent.parent.write_text("a file where a directory should be")
    assert not store_tuned(place, RUNG.to_dict())
    assert load_slots(place) is None


def test_an_interrupted_write_leaves_what_was_there(
    place: TuningKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_handle: int) -> None:
        raise KeyboardInterrupt

    assert store_tuned(place, RUNG.to_dict())
    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store_tuned(place, RUNG.to_dict() | {"slots": 5})
    assert load_slots(place) == 96
    assert os.listdir(place.file.parent) == [place.file.name]


def is_free(lock: Path) -> bool:
    """Whether no process, this one included, holds the lock of a file."""
    handle = os.open(lock, os.O_RDWR)
    try:
        return try_lock(handle)
    finally:
        os.close(handle)


def test_one_process_at_a_time_measures(place: TuningKey, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = place.file.with_suffix(".lock")
    with tuning_alone(place):
        assert not is_free(lock)
        monkeypatch.setattr(tuning_cache, "WAIT_S", 0.0)
        with tuning_alone(place):  # another has held it for too long: both measure
            assert store_tuned(place, RUNG.to_dict())
    assert is_free(lock)
    with pytest.raises(KeyError), tuning_alone(place):
        raise KeyError
    assert is_free(lock)


def test_without_a_place_for_locks_each_measures_for_itself(place: TuningKey) -> None:
    place.file.parent.parent.parent.mkdir(parents=True)
    place.file.parent.parent.write_text("a file where a directory should be")
    with tuning_alone(place), tuning_alone(place):
        assert load_slots(place) is None
