"""Collates drawn plies into rows of samples: replays each game up to the ply.

Every move was checked when its block was made, so no moves are generated on the way: the kernel
makes the moves, and records the position keys that decide repetitions and, where the network sees
earlier positions, these positions.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.bitboards import tables as lookup
from vecchess.chess.bitboards.bits import load_f32, load_i32, load_u8, load_u16
from vecchess.chess.game_cursor import (
    begin_game,
    cursor_memory,
    cursor_of,
    play_action,
    write_question,
)
from vecchess.chess.movegen import generate_moves
from vecchess.chess.planes import NUM_PLANES, history_length
from vecchess.chess.position import colour_of
from vecchess.chess.rules import push_key
from vecchess.jit import inline, kernel
from vecchess.shapes import MAX_MOVES, NUM_ACTIONS, POSITION_WORDS
from vecchess.store.records import GameRecords
from vecchess.store.targets import action_index, index_actions, target_weight
from vecchess.train.data.returns import wdl_value
from vecchess.train.data.sample_rules import PLAIN_RULES, SampleRules
from vecchess.train.data.samples import Samples, empty_samples
from vecchess.train.data.shard_block import (
    COLUMN,
    HAS_POLICY,
    HAS_TARGET,
    HAS_VALUE,
    NUM_GAMES_PLACE,
    ShardBlock,
    address_table,
)

_START, _RESULT, _OFFSETS = COLUMN["start"], COLUMN["result"], COLUMN["offsets"]
_ACTION, _WIN, _DRAW = COLUMN["action"], COLUMN["win"], COLUMN["draw"]
_PROB, _STEPS, _FACTS = COLUMN["prob"], COLUMN["steps"], COLUMN["facts"]
_RETURNED, _TARGET_OFFSETS = COLUMN["returned"], COLUMN["target_offsets"]
_TARGET_ACTION, _TARGET_PROB = COLUMN["target_action"], COLUMN["target_prob"]
_LEGAL_BYTES = 2 * MAX_MOVES


def collate(
    table: NDArray[np.int64],
    blocks: NDArray[np.int64],
    plies: NDArray[np.int64],
    rows: Samples[NDArray[Any]],
) -> None:
    """Fill row i of ``rows`` with ply ``plies[i]`` of block ``blocks[i]``, both int64[B].

    ``table``: int64[blocks, columns] of ``address_table``, whose blocks the caller keeps alive.
    ``rows`` hold zeros before: columns that a position lacks are not written.
    """
    columns = (
        (rows.planes, rows.legal, rows.num_legal, rows.played, rows.policy, rows.has_policy),
        (rows.outcome, rows.value, rows.has_value, rows.prob, rows.steps),
        (rows.advantage, rows.returned),
    )
    places = np.empty(NUM_ACTIONS, np.uint16)
    _collate(lookup.address(), table, blocks, plies, cursor_memory(), places, columns)


def make_samples(
    records: GameRecords,
    plies: NDArray[np.int64],
    rules: SampleRules = PLAIN_RULES,
    planes: int = NUM_PLANES,
) -> Samples[NDArray[Any]]:
    """The positions before ``plies``: int64[B], indices into the ply columns, in any order.

    ``planes`` is the number of input planes.
    Raises DataError where a recorded move is illegal or a target does not fit its position, in any
    game of ``records``.
    """
    block = ShardBlock.of(records, rules)
    rows = empty_samples(len(plies), planes)
    blocks = np.zeros(len(plies), np.int64)
    collate(address_table([block]), blocks, np.asarray(plies, np.int64), rows)
    return rows


@kernel
def _collate(tables, table, blocks, plies, memory, places, columns):  # type: ignore[no-untyped-def]
    cursor, history = cursor_of(memory), history_length(columns[0][0].shape[1])
    index = np.int64(places.ctypes.data)
    for row in range(len(plies)):
        block, ply = table[blocks[row]], plies[row]
        game = _game_of(block[_OFFSETS], block[NUM_GAMES_PLACE], ply)
        first = load_i32(block[_OFFSETS], game)
        _replay_to(tables, block, game, first, ply, cursor, history)
        _write_inputs(tables, block[_ACTION], ply, cursor, index, columns[0], row)
        _write_policy(block, ply, index, columns[0], row)
        outcome = np.int64(np.int8(load_u8(block[_RESULT], game)))
        is_black = colour_of(cursor[0]) != np.uint64(0)
        _write_values(block, ply, -outcome if is_black else outcome, columns[1], columns[2], row)


@inline
def _game_of(offsets: Any, num_games: Any, ply: Any) -> Any:
    """The last game that begins at ``ply`` or before."""
    low, high = np.int64(0), np.int64(num_games)
    while high - low > 1:
        middle = (low + high) >> 1
        if load_i32(offsets, middle) <= ply:
            low = middle
        else:
            high = middle
    return low


@inline
def _replay_to(
    tables: Any, block: Any, game: Any, first: Any, last: Any, cursor: Any, history: Any
) -> None:
    """Set up the game and make its moves ``first`` .. ``last`` - 1; of the positions on the way
    only the last ``history`` - 1 are stored."""
    begin_game(cursor, block[_START] + game * 8 * POSITION_WORDS, history)
    for ply in range(first, last):
        play_action(tables, cursor, load_u16(block[_ACTION], ply), last - ply < history)


@inline
def _write_inputs(
    tables: Any, actions: Any, ply: Any, cursor: Any, places: Any, columns: Any, row: Any
) -> None:
    """Write planes, legal moves, and the index of the move played."""
    planes, legal, num_legal, played, _, _ = columns
    position, keys, _, moves = cursor
    generated = generate_moves(tables, position, moves)
    count = np.int64(generated & 0xFFFF)
    listed = np.int64(legal.ctypes.data) + row * _LEGAL_BYTES
    inputs = np.int64(planes.ctypes.data) + row * 8 * planes.shape[1]
    repetitions, rows = push_key(position, keys), (inputs, listed)
    write_question(tables, cursor, generated, repetitions, planes.shape[1], rows)
    index_actions(listed, count, places)
    num_legal[row] = count
    played[row] = action_index(listed, count, places, load_u16(actions, ply))


@inline
def _write_policy(block: Any, ply: Any, places: Any, columns: Any, row: Any) -> None:
    """Write the target policy: the recorded one, or one-hot on the move played (decision 21)."""
    _, legal, num_legal, played, policy, has_policy = columns
    facts = load_u8(block[_FACTS], ply)
    has_policy[row] = facts & HAS_POLICY != 0
    if facts & HAS_TARGET == 0:
        policy[row, played[row]] = 1.0
        return
    listed, count = np.int64(legal.ctypes.data) + row * _LEGAL_BYTES, np.int64(num_legal[row])
    actions, weights = block[_TARGET_ACTION], block[_TARGET_PROB]
    first = load_i32(block[_TARGET_OFFSETS], ply)
    end = load_i32(block[_TARGET_OFFSETS], ply + 1)
    total = target_weight(listed, count, places, (actions, weights, first, end))
    for item in range(first, end):
        place = action_index(listed, count, places, load_u16(actions, item))
        policy[row, place] = load_u16(weights, item) / total


@inline
def _write_values(
    block: Any, ply: Any, result: Any, evaluation: Any, returns: Any, row: Any
) -> None:
    """Write ``result``, the game's for the mover, the recorded value, the return and advantage."""
    outcome, value, has_value, prob, steps = evaluation
    advantage, returned = returns
    outcome[row] = result
    prob[row] = load_f32(block[_PROB], ply)
    steps[row] = load_u8(block[_STEPS], ply)
    win, loss = load_f32(block[_RETURNED], 2 * ply), load_f32(block[_RETURNED], 2 * ply + 1)
    returned[row, 0], returned[row, 1], returned[row, 2] = win, 1.0 - win - loss, loss
    if load_u8(block[_FACTS], ply) & HAS_VALUE == 0:
        return
    recorded = wdl_value(load_u16(block[_WIN], ply), load_u16(block[_DRAW], ply))
    has_value[row] = True
    for index in range(3):
        value[row, index] = recorded[index]
    advantage[row] = win - loss - recorded[0] + recorded[2]
