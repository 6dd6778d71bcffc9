"""Games for the tests of training: random ones, with targets and values as if from searches; and
batches of them."""

from dataclasses import replace

import numpy as np

from tests.selfplay.playing import LoudBackend, play
from vecchess.config import GameConfig
from vecchess.store.records import VALUE_UNIT, GameRecords
from vecchess.store.replay_positions import replay_positions
from vecchess.train.data.batch_spec import BatchSpec


def games(num_games: int = 12, chess960: bool = False, seed: int = 1) -> GameRecords:
    """Games of a network with another answer for each position; the first 3 plies are random."""
    config = GameConfig(max_plies=90, random_plies=3, chess960=chess960)
    return play(config, num_games, LoudBackend(16), seed=seed)


def searched(records: GameRecords, moves: int = 8) -> GameRecords:
    """As if two of three plies after the random ones had been searched, half of these fast.

    A full search has a target of up to ``moves`` of the legal moves; every value is made up.
    """
    draw = np.random.default_rng(5)
    every = replay_positions(records, np.arange(len(records.action))).requests
    asked = records.steps > 0
    visited = asked & (draw.random(len(asked)) < 2 / 3)
    full = visited & (draw.random(len(asked)) < 1 / 2)
    counts = np.where(full, np.minimum(moves, every.num_legal), 0).astype(np.int64)
    rows: list[np.ndarray] = [
        np.sort(draw.choice(every.legal[ply, : every.num_legal[ply]], counts[ply], replace=False))
        for ply in np.flatnonzero(full)
    ]
    win = draw.integers(0, VALUE_UNIT + 1, len(asked))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return replace(
        records,
        visits=np.where(visited, 50, 0).astype(np.uint32),
        full=full.astype(np.uint8),
        win=win.astype(np.uint16),
        draw=draw.integers(0, VALUE_UNIT + 1 - win).astype(np.uint16),
        target_offsets=offsets,
        target_action=np.concatenate([*rows, []]).astype(np.uint16),
        target_prob=draw.integers(1, 1000, offsets[-1]).astype(np.uint16),
    )


def advantages(records: GameRecords, returned: np.ndarray) -> np.ndarray:
    """float32[plies]: ``returned`` less the recorded value, win minus loss; 0 without a value."""
    win, draw = records.win.astype(float), records.draw.astype(float)
    loss = np.maximum(VALUE_UNIT - win - draw, 0)
    value = (win - loss) / (win + draw + loss)
    difference = returned[:, 0].astype(float) - returned[:, 2] - value
    return (difference * records.evaluated()).astype(np.float32)


def specs(num: int, **changes: object) -> list[BatchSpec]:
    """Batches 0 to ``num`` - 1 of 32 rows from 4 shards."""
    base = BatchSpec(source_end=4, seed=3, step=0, batch_size=32, mirror=True)
    return [replace(base, step=step, **changes) for step in range(num)]
