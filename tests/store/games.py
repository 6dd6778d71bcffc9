"""Records for the tests of the store: made up, so that columns fit together and mean nothing, or of
random games of python-chess."""

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import Any

import chess
import numpy as np

from tests.chess.walks import boards, to_code
from vecchess.chess.action import moves_to_actions
from vecchess.chess.chess960 import chess960_positions
from vecchess.chess.fen import from_board
from vecchess.shapes import TARGET_UNIT
from vecchess.store.manifest import ShardEntry
from vecchess.store.records import PLY_COLUMNS, GameRecords, empty_search_columns
from vecchess.store.shard import NO_RUN, write_shard


def made_up(
    numbers: list[int],
    seed: int = 0,
    nets: tuple[str, ...] = ("a" * 64,),
    searched: bool = True,
) -> GameRecords:
    draw, witness = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    games = len(numbers)
    lengths = draw.integers(1, 90, games)
    plies = int(lengths.sum())
    win = draw.integers(0, 512, plies)
    return GameRecords(
        numbers=np.array(numbers, np.int64),
        start=chess960_positions(draw.integers(0, 2**63, (games, 8))[:, 0] % 960),
        result=draw.integers(-1, 2, games).astype(np.int8),
        termination=draw.integers(1, 9, games).astype(np.uint8),
        resign=draw.integers(0, 8, games).astype(np.uint8),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        action=draw.integers(0, 4672, plies).astype(np.uint16),
        steps=draw.integers(0, 5, plies).astype(np.uint8),
        win=win.astype(np.uint16),
        draw=(draw.integers(0, 512, plies) * (511 - win) // 511).astype(np.uint16),
        prob=draw.random(plies).astype(np.float32),
        fingerprint=witness.integers(1, 2**63, games).astype(np.uint64),
        tag=witness.integers(0, 29, plies).astype(np.uint8),
        span_offsets=np.arange(games + 1, dtype=np.int64),
        span_ply=np.zeros(games, np.int32),
        span_net=draw.integers(0, len(nets), games).astype(np.int32),
        nets=nets,
        **made_up_searches(draw, plies) if searched else empty_search_columns(plies),
    )


def made_up_searches(draw: np.random.Generator, plies: int) -> dict[str, Any]:
    """Two of three plies searched, a half of these in full, with targets of 1 to 40 moves."""
    searched = draw.random(plies) < 2 / 3
    counts = np.where(searched, draw.integers(1, 41, plies), 0)
    targets = [draw.dirichlet(np.ones(count)) for count in counts[counts > 0]]
    codes = [np.sort(draw.choice(4672, len(target), replace=False)) for target in targets]
    return {
        "visits": np.where(searched, draw.integers(1, 800, plies), 0).astype(np.uint32),
        "full": (searched & (draw.random(plies) < 0.5)).astype(np.uint8),
        "thought": np.where(searched, draw.integers(1, 5000, plies), 0).astype(np.uint32),
        "target_offsets": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        "target_action": np.concatenate([*codes, []]).astype(np.uint16),
        "target_prob": np.floor(np.concatenate([*targets, []]) * TARGET_UNIT + 0.5).astype("u2"),
    }


def same(one: GameRecords, other: GameRecords) -> bool:
    return all(
        np.array_equal(value, getattr(other, name))
        for name, value in vars(one).items()
        if name != "nets"
    )


def walked(num: int, seed: int = 1, plies: int = 40) -> tuple[GameRecords, list[chess.Board]]:
    """Random games of python-chess as records, and their last boards with the move stacks.

    Half of them are Chess960; numbers are 10, 11, ..., results turn about.
    """
    found = list(islice(_last_boards(seed, plies), num))
    starts, actions = [], []
    for board in found:
        again = board.root()
        starts.append(from_board(again))
        for move in board.move_stack:
            actions.append(moves_to_actions([to_code(again, move)])[0])
            again.push(move)
    lengths = [len(board.move_stack) for board in found]
    games = made_up(list(range(10, 10 + num)), searched=False)
    columns = {name: np.resize(getattr(games, name), sum(lengths)) for name in PLY_COLUMNS}
    columns |= empty_search_columns(sum(lengths)) | {"action": np.array(actions, np.uint16)}
    return replace(
        games,
        start=np.stack(starts),
        result=np.resize([1, 0, -1], num).astype(np.int8),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        **columns,
    ), found


def _last_boards(seed: int, plies: int) -> Iterator[chess.Board]:
    """Of one random game after the other, each cut after a number of plies of its own."""
    rng = random.Random(seed)
    for number in count():
        last = chess.Board()
        for board in boards(rng.randrange(2, plies), seed * 1000 + number):
            if last.move_stack and not board.move_stack:
                break
            last = board.copy()
        if last.move_stack:
            yield last


def shard(folder: Path, name: str, numbers: list[int], run_id: str = NO_RUN) -> ShardEntry:
    """The manifest entry of a new shard with made-up games of these numbers."""
    records = made_up(numbers, seed=sum(numbers))
    return ShardEntry.of(name, write_shard(folder / name, records, run_id), records)
