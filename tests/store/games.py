"""Made-up records for the tests of the store: the columns fit together, the games mean nothing."""

import numpy as np

from vecchess.store.records import GameRecords


def made_up(numbers: list[int], seed: int = 0, nets: tuple[str, ...] = ("a" * 64,)) -> GameRecords:
    draw = np.random.default_rng(seed)
    games = len(numbers)
    lengths = draw.integers(1, 90, games)
    plies = int(lengths.sum())
    return GameRecords(
        numbers=np.array(numbers, np.int64),
        start=draw.integers(0, 2**63, (games, 8)).astype(np.uint64),
        result=draw.integers(-1, 2, games).astype(np.int8),
        termination=draw.integers(1, 9, games).astype(np.uint8),
        resign=draw.integers(0, 8, games).astype(np.uint8),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        action=draw.integers(0, 4672, plies).astype(np.uint16),
        steps=draw.integers(0, 5, plies).astype(np.uint8),
        win=draw.integers(0, 512, plies).astype(np.uint16),
        draw=draw.integers(0, 512, plies).astype(np.uint16),
        prob=draw.random(plies).astype(np.float32),
        span_offsets=np.arange(games + 1, dtype=np.int64),
        span_ply=np.zeros(games, np.int32),
        span_net=draw.integers(0, len(nets), games).astype(np.int32),
        nets=nets,
    )


def same(one: GameRecords, other: GameRecords) -> bool:
    return all(
        np.array_equal(value, getattr(other, name))
        for name, value in vars(one).items()
        if name != "nets"
    )
