"""The benchmark of the loader runs, and its games are as long and as rich as it says."""

import pytest

from bench import loading
from vecchess.bench.training_speed import MAX_PLIES, TARGET_MOVES


@pytest.mark.slow
def test_positions_are_counted() -> None:
    facts = loading.run(games=64, batch_size=32, seconds=0.5, cores=0, seed=0)
    assert facts["in_process_positions_per_s"] > 0
    assert facts["one_worker_positions_per_s"] > 0
    assert 90 < facts["plies_per_game"] <= MAX_PLIES
    assert 10 < facts["moves_per_target"] <= TARGET_MOVES
    assert facts["positions"] <= 64 * MAX_PLIES
