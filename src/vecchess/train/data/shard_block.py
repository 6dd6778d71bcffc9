"""The games of one shard in memory: checked, with returns, in few bytes."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.action import action_to_move, write_actions
from vecchess.chess.bitboards import tables as lookup
from vecchess.chess.bitboards.bits import load
from vecchess.chess.game_cursor import begin_game, cursor_memory, cursor_of
from vecchess.chess.make import make_move
from vecchess.chess.movegen import generate_moves
from vecchess.chess.position import COLOUR_SHIFT, COUNTERS, POSITION_BYTES, balance_of
from vecchess.chess.rules import Termination
from vecchess.errors import DataError
from vecchess.jit import kernel
from vecchess.shapes import MAX_MOVES, NUM_ACTIONS
from vecchess.store.records import TARGET_COLUMNS, GameRecords
from vecchess.store.replay_positions import illegal_move_error
from vecchess.store.targets import (
    NOT_LEGAL,
    action_index,
    index_actions,
    target_error,
    target_weight,
)
from vecchess.train.data.value_targets import SampleRules, lambda_returns

HAS_VALUE, HAS_POLICY, HAS_TARGET = 1, 2, 4
"""Bits of ``facts``."""
_GOOD, _ILLEGAL, _MISFIT = range(3)


@dataclass(frozen=True)
class ShardBlock:
    """G games in narrow columns, every move checked to be legal and every target to fit.

    numbers: int64[G], start: uint64[G, 8], result: int8[G], offsets: int32[G + 1]   as in
                               ``GameRecords``
    action, win, draw: uint16[plies], prob: float32[plies], steps: uint8[plies]   the same
    facts: uint8[plies]        bits HAS_VALUE, HAS_POLICY, HAS_TARGET
    returned: float32[plies, 2]    win and loss of the return, see ``value_targets.py``
    target_offsets: int32[plies + 1], target_action, target_prob: uint16[E]   the same; no
                               offsets where the shard has no target at all
    trainable: int32[K]        the plies to learn from, ascending
    """

    numbers: NDArray[np.int64]
    start: NDArray[np.uint64]
    result: NDArray[np.int8]
    offsets: NDArray[np.int32]
    action: NDArray[np.uint16]
    win: NDArray[np.uint16]
    draw: NDArray[np.uint16]
    prob: NDArray[np.float32]
    steps: NDArray[np.uint8]
    facts: NDArray[np.uint8]
    returned: NDArray[np.float32]
    target_offsets: NDArray[np.int32]
    target_action: NDArray[np.uint16]
    target_prob: NDArray[np.uint16]
    trainable: NDArray[np.int32]

    @classmethod
    def of(cls, records: GameRecords, rules: SampleRules) -> "ShardBlock":
        """The block of ``records``, checked.

        Raises DataError where a recorded move is illegal or a target does not fit.
        """
        if max(len(records.target_action), len(records.action)) >= 2**31:
            raise DataError("a shard of more than 2**31 plies or moves in targets is too large")
        records = rules.taught(records, *_check(records))
        chosen = newest_plies if rules.newest_only else trainable_plies
        counts = np.diff(records.target_offsets)
        offsets = records.target_offsets if counts.any() else records.target_offsets[:0]
        same = ("numbers", "start", "result", "action", "win", "draw", "prob", "steps")
        columns: dict[str, Any] = {
            n: np.ascontiguousarray(getattr(records, n)) for n in (*same, *TARGET_COLUMNS)
        }
        return cls(
            offsets=records.offsets.astype(np.int32),
            facts=_facts(records, counts > 0),
            returned=np.ascontiguousarray(lambda_returns(records, rules.trace)[:, ::2]),
            target_offsets=offsets.astype(np.int32),
            trainable=chosen(records).astype(np.int32),
            **columns,
        )


COLUMN = {field.name: index for index, field in enumerate(fields(ShardBlock))}
"""Index of each column in a row of ``address_table``."""
NUM_GAMES_PLACE = len(COLUMN)
"""Index of G there."""


def address_table(blocks: Sequence[ShardBlock]) -> NDArray[np.int64]:
    """int64[blocks, columns + 1]: the address of each column, and G, for kernels.

    Valid as long as the blocks are alive.
    """
    rows = [
        [*(getattr(block, name).ctypes.data for name in COLUMN), len(block.result)]
        for block in blocks
    ]
    return np.array(rows, np.int64).reshape(len(rows), NUM_GAMES_PLACE + 1)


def trainable_plies(records: GameRecords) -> NDArray[np.int64]:
    """int64[K], ascending: the plies to learn from.

    Plies whose position was evaluated; in games without any evaluation, all plies.
    """
    evaluated = records.evaluated()
    before = np.concatenate([[0], np.cumsum(evaluated)])
    none_evaluated = before[records.offsets[1:]] == before[records.offsets[:-1]]
    return np.flatnonzero(evaluated | np.repeat(none_evaluated, records.lengths))


def newest_plies(records: GameRecords) -> NDArray[np.int64]:
    """int64[K], ascending: the plies that the last network of each game was asked about.

    Without the last ply of a game that goes on: its value is the return of the others.
    """
    firsts = records.offsets[:-1] + records.span_ply[records.span_offsets[1:] - 1]
    ends = records.offsets[1:] - (records.termination == Termination.ONGOING)
    ply, game = np.arange(len(records.action)), np.repeat(np.arange(len(firsts)), records.lengths)
    is_newest = (ply >= firsts[game]) & (ply < ends[game])
    return np.flatnonzero(is_newest & records.evaluated())


def _facts(records: GameRecords, has_target: NDArray[np.bool_]) -> NDArray[np.uint8]:
    evaluated = records.evaluated()
    is_fast = (records.visits > 0) & (records.full == 0) & ~has_target
    is_random = ~evaluated & (records.prob < 1)
    facts = np.zeros(len(is_fast), np.uint8)
    for bit, is_set in (
        (HAS_VALUE, evaluated),
        (HAS_POLICY, ~is_fast & ~is_random),
        (HAS_TARGET, has_target),
    ):
        facts |= is_set * np.uint8(bit)
    return facts


def _check(records: GameRecords) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
    """Replay all games, and return White's lead at the end of each, in pawns: int64[G], and the
    mover's before each ply: int16[plies].

    Raises DataError at the first illegal move or wrong target.
    """
    leads = np.zeros(records.num_games, np.int64)
    balances = np.zeros(len(records.action), np.int16)
    fault = np.zeros(2, np.int64)
    _find_fault(
        lookup.address(),
        np.ascontiguousarray(records.start),
        records.offsets,
        records.action,
        (records.target_offsets, records.target_action, records.target_prob),
        cursor_memory(),
        (np.empty(MAX_MOVES, np.uint16), np.empty(NUM_ACTIONS, np.uint16)),
        fault,
        leads,
        balances,
    )
    verdict, ply = int(fault[0]), int(fault[1])
    if verdict == _MISFIT:
        raise target_error(records, ply)
    if verdict == _ILLEGAL:
        raise illegal_move_error(records, ply)
    return leads, balances


@kernel
def _find_fault(tables, starts, offsets, actions, targets, memory, scratch, fault, leads, balances):  # type: ignore[no-untyped-def]
    """Write the verdict and the ply of the first fault into ``fault``: int64[2], and ``leads``."""
    target_offsets, target_actions, target_probs = targets
    cursor = cursor_of(memory)
    position, _, _, moves = cursor
    legal, places = np.int64(scratch[0].ctypes.data), np.int64(scratch[1].ctypes.data)
    codes, weights = np.int64(target_actions.ctypes.data), np.int64(target_probs.ctypes.data)
    for game in range(len(offsets) - 1):
        begin_game(cursor, np.int64(starts.ctypes.data) + game * POSITION_BYTES, 1)
        for ply in range(offsets[game], offsets[game + 1]):
            fault[1] = ply
            balances[ply] = balance_of(position)
            count = np.int64(generate_moves(tables, position, moves) & 0xFFFF)
            fault[0] = _ILLEGAL
            if count > MAX_MOVES:
                return
            write_actions(tables, moves, count, legal)
            index_actions(legal, count, places)
            if action_index(legal, count, places, np.int64(actions[ply])) == NOT_LEGAL:
                return
            first, end = target_offsets[ply], target_offsets[ply + 1]
            fault[0] = _MISFIT
            target = (codes, weights, first, end)
            if first < end and target_weight(legal, count, places, target) == 0:
                return
            move = action_to_move(tables, position, actions[ply])
            make_move(tables, position, move)
        is_black = load(position, COUNTERS) >> np.uint64(COLOUR_SHIFT)
        leads[game] = -balance_of(position) if is_black else balance_of(position)
    fault[0] = _GOOD
