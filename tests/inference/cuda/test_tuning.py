"""The choice of a tile, with a simulated device."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("triton")

from tests.inference.tune.test_tuning_cache import is_free
from vecchess.errors import DeviceError
from vecchess.inference.cuda import tuning
from vecchess.inference.cuda.state import SlotState, Widths
from vecchess.inference.cuda.tiles import Tile, candidates
from vecchess.inference.tune.tuning_cache import load_tuned, store_tuned
from vecchess.snn.integer.integer_net import ExitRule
from vecchess.snn.presets import NetConfig

CONFIG = NetConfig(num_planes=25, blocks=1, channels=64, time_steps=4)


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SlotState:
    """Slots on a device that claims to be a GPU."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(tuning, "is_interpreted", lambda state: False)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Some GPU")
    return SlotState(CONFIG, 4, Widths(*[torch.int32] * 3), torch.device("cpu"))


def test_the_fastest_tile_is_taken_and_remembered(
    state: SlotState, monkeypatch: pytest.MonkeyPatch
) -> None:
    best, asked = candidates(CONFIG)[2], []

    def seconds(launches: object, tile: Tile) -> float:
        assert state.busy.all()
        asked.append(tile)
        return 1.0 if tile == best else 2.0

    monkeypatch.setattr(tuning, "tower_seconds", seconds)
    assert tuning.choose_tile(CONFIG, None, state, 2) == best
    assert not state.busy.any()
    assert asked == candidates(CONFIG)
    assert tuning.choose_tile(CONFIG, None, state, 2) == best
    assert len(asked) == len(candidates(CONFIG))


@pytest.mark.parametrize("wrong", [{"boards": "2"}, {"steps": None}, {"boards": 3}, {"more": 1}])
def test_a_damaged_tile_is_ignored_and_replaced(
    state: SlotState, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any]
) -> None:
    tiles, key = candidates(CONFIG), tuning._key(CONFIG, state, 2)
    store_tuned(key, asdict(tiles[1]) | wrong)
    monkeypatch.setattr(tuning, "tower_seconds", lambda launches, tile: float(tile != tiles[2]))
    assert tuning.choose_tile(CONFIG, None, state, 2) == tiles[2]
    assert load_tuned(key) == asdict(tiles[2])


def test_a_tile_of_two_steps_counts_for_the_launches_it_saves(
    state: SlotState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seconds of a launch: 1 of one step, 1.5 of two; T = 4."""
    found: set[tuple[int, ...]] = set()

    def seconds(launches: object, tile: Tile) -> float:
        found.add((tile.steps, *state.steps.tolist()))
        return 1.0 if tile.steps == 1 else 1.5

    monkeypatch.setattr(tuning, "tower_seconds", seconds)
    assert tuning.choose_tile(CONFIG, None, state, ExitRule.never().min_steps).steps == 2
    assert found == {(1, 0, 1, 2, 3), (2, 0, 2, 0, 2)}
    assert [Tile(1, 32, 32, 32, steps=s).mean_launches(4, 2) for s in (1, 2)] == [3.0, 5 / 3]
    monkeypatch.setattr(tuning, "tower_seconds", lambda launches, tile: float(tile.steps))
    assert tuning.choose_tile(CONFIG, None, state, 1).steps == 1


def test_a_device_that_holds_no_tile_is_an_error(
    state: SlotState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "tower_seconds", lambda launches, tile: float("inf"))
    with pytest.raises(DeviceError, match="fits Some GPU; use --backend reference"):
        tuning.choose_tile(CONFIG, None, state, 2)


def test_one_process_at_a_time_compiles_and_chooses(state: SlotState) -> None:
    """Those that wait find what the first has measured."""
    lock = tuning._key(CONFIG, state, 2).file.with_suffix(".lock")
    with tuning.compiling_alone(CONFIG, state, 2):
        assert not is_free(lock)
    assert is_free(lock)
