"""Rows of samples: their layout, how drawn plies are collated into them, and their mirror images.

Collating replays each game up to the ply. Every move was checked when its block was made, so no
moves are generated on the way: the kernel makes the moves, and records the position keys that
decide repetitions and, where the network sees earlier positions, these positions.

The left-right mirror preserves the value of positions without castling. a-file <-> h-file,
e1 <-> d1: the bits of every byte of a plane are reversed, moves to the west become moves to the
east. No other rule of chess distinguishes left from right.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.action import LEGAL_BYTES
from vecchess.chess.bitboards import tables as lookup
from vecchess.chess.bitboards.bits import load_f32, load_i32, load_u8, load_u16
from vecchess.chess.bitboards.directions import UNDERPROMOTION_PLANE, plane_steps
from vecchess.chess.game_cursor import (
    begin_game,
    cursor_memory,
    cursor_of,
    play_action,
    write_question,
)
from vecchess.chess.movegen import generate_moves
from vecchess.chess.planes import NUM_PLANES, history_length, planes_among
from vecchess.chess.position import POSITION_BYTES, colour_of
from vecchess.chess.rules import push_key
from vecchess.jit import inline, kernel
from vecchess.rng import random_u64
from vecchess.shapes import MAX_MOVES, NUM_ACTIONS, NUM_OUTCOMES
from vecchess.store.records import GameRecords
from vecchess.store.targets import action_index, index_actions, target_weight
from vecchess.train.data.shard_block import (
    COLUMN,
    HAS_POLICY,
    HAS_TARGET,
    HAS_VALUE,
    NUM_GAMES_PLACE,
    ShardBlock,
    address_table,
)
from vecchess.train.data.value_targets import PLAIN_RULES, SampleRules, wdl_value

ArrayT = TypeVar("ArrayT")
OtherT = TypeVar("OtherT")

_START, _RESULT, _OFFSETS = COLUMN["start"], COLUMN["result"], COLUMN["offsets"]
_ACTION, _WIN, _DRAW = COLUMN["action"], COLUMN["win"], COLUMN["draw"]
_PROB, _STEPS, _FACTS = COLUMN["prob"], COLUMN["steps"], COLUMN["facts"]
_RETURNED, _TARGET_OFFSETS = COLUMN["returned"], COLUMN["target_offsets"]
_TARGET_ACTION, _TARGET_PROB = COLUMN["target_action"], COLUMN["target_prob"]
CASTLING_PLANES = (12, 16)
"""First and end of the planes of castling rights, see ``chess/planes.py``."""
_STREAM = 0x6D6972726F72
"""Keeps these draws apart from others with the same seed: the word "mirror"."""
_U = np.uint64
_HALF = _U(1 << 63)
_COLUMNS: dict[str, tuple[tuple[int, ...], Any]] = {
    "played": ((), np.int64),
    "steps": ((), np.int64),
    "policy": ((MAX_MOVES,), np.float32),
    "value": ((NUM_OUTCOMES,), np.float32),
    "returned": ((NUM_OUTCOMES,), np.float32),
    "advantage": ((), np.float32),
    "prob": ((), np.float32),
    "num_legal": ((), np.int32),
    "legal": ((MAX_MOVES,), np.uint16),
    "outcome": ((), np.int8),
    "has_policy": ((), np.bool_),
    "has_value": ((), np.bool_),
}
"""Shape of one row and dtype of each column but ``planes``."""


class Samples(NamedTuple, Generic[ArrayT]):
    """B positions, mover's view; numpy arrays or torch tensors.

    planes: uint64[B, P]      input words; int64 of the same bits as a tensor
    legal: uint16[B, L]       actions of the legal moves; the first num_legal are valid
    num_legal: int32[B]       1 to 218
    played: int64[B]          index in ``legal`` of the move played
    policy: float32[B, L]     target policy over ``legal``; sums to 1
    has_policy: bool[B]       False after a fast search and for a random move: ``policy`` is not to
                              be learnt; in a step float32[B], its weight, see ``copy_batch``
    outcome: int8[B]          the game's result for the mover: 1 won, 0 drawn, -1 lost
    value: float32[B, 3]      recorded win, draw, loss of the position; the root's if searched
    has_value: bool[B]        False: nothing evaluated the position, ``value`` is not valid
    prob: float32[B]          probability with which the move was drawn
    steps: int64[B]           time steps the network took; 0: it did not evaluate the position
    advantage: float32[B]     ``returned`` less ``value``, win minus loss; 0 without a value
    returned: float32[B, 3]   return as win, draw, loss: see ``value_targets.py``

    The policy is the recorded target of a search where there is one. Otherwise it is one-hot on
    the move played: the whole recommendation of a full search without a target (an engine's), and
    all that can be learnt from a move that was not searched (decision 21).
    """

    planes: ArrayT
    legal: ArrayT
    num_legal: ArrayT
    played: ArrayT
    policy: ArrayT
    has_policy: ArrayT
    outcome: ArrayT
    value: ArrayT
    has_value: ArrayT
    prob: ArrayT
    steps: ArrayT
    advantage: ArrayT
    returned: ArrayT

    def map(self, change: Callable[[ArrayT], OtherT]) -> "Samples[OtherT]":
        """The samples with ``change`` applied to every column, e.g. a slice of the rows."""
        return Samples(*map(change, self))


def empty_samples(num_rows: int, planes: int = NUM_PLANES) -> Samples[NDArray[Any]]:
    """Rows of zeros, with P = ``planes``."""
    columns = {"planes": ((planes,), np.uint64)} | _COLUMNS
    zeros = {name: np.zeros((num_rows, *row), kind) for name, (row, kind) in columns.items()}
    return Samples(**zeros)


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
    begin_game(cursor, block[_START] + game * POSITION_BYTES, history)
    for ply in range(first, last):
        play_action(tables, cursor, load_u16(block[_ACTION], ply), last - ply < history)


@inline
def _write_inputs(
    tables: Any, actions: Any, ply: Any, cursor: Any, places: Any, columns: Any, row: Any
) -> None:
    """Write input words, legal moves, and the index of the move played."""
    planes, legal, num_legal, played, _, _ = columns
    position, keys, _, moves = cursor
    generated = generate_moves(tables, position, moves)
    count = np.int64(generated & 0xFFFF)
    listed = np.int64(legal.ctypes.data) + row * LEGAL_BYTES
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
    listed, count = np.int64(legal.ctypes.data) + row * LEGAL_BYTES, np.int64(num_legal[row])
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


@cache
def mirrored_actions() -> NDArray[np.uint16]:
    """uint16[4672]: the mirror image of each action."""
    steps = plane_steps() * (-1, 1)
    kinds = [_kind(plane, *step) for plane, step in enumerate(plane_steps())]
    mirrored = [kinds.index(_kind(plane, *step)) for plane, step in enumerate(steps)]
    planes, squares = np.divmod(np.arange(NUM_ACTIONS), 64)
    actions: NDArray[np.uint16] = (np.array(mirrored)[planes] * 64 + (squares ^ 7)).astype(
        np.uint16
    )
    return actions


def _kind(plane: int, files: int, ranks: int) -> tuple[int, int, int]:
    """Underpromotion piece (-1: none) and step in files and ranks of a move plane."""
    under = plane - UNDERPROMOTION_PLANE
    return (under // 3 if under >= 0 else -1), int(files), int(ranks)


def mirror(
    planes: NDArray[np.uint64],
    legal: NDArray[np.uint16],
    num_legal: NDArray[np.int32],
    seed: int,
    step: int,
    first_row: int = 0,
) -> None:
    """Mirror a random half of the rows without castling rights, in place.

    planes: uint64[B, P]; legal: uint16[B, L], of which num_legal: int32[B] are valid; they keep
    their order, and moves their inputs. (seed, step, first_row + i) alone decides row i. Only the
    newest position's rights count, and earlier positions are mirrored with it (decision 14).
    """
    _mirror(planes, legal, num_legal, mirrored_actions(), seed ^ _STREAM, step, first_row)


@kernel
def _mirror(planes, legal, num_legal, actions, seed, step, first_row):  # type: ignore[no-untyped-def]
    for row in range(len(num_legal)):
        rights = _U(0)
        for plane in range(CASTLING_PLANES[0], CASTLING_PLANES[1]):
            rights |= planes[row, plane]
        if rights != _U(0) or random_u64(seed, step, first_row + row) < _HALF:
            continue
        for plane in range(planes_among(planes.shape[1])):
            planes[row, plane] = mirror_board(planes[row, plane])
        for index in range(num_legal[row]):
            legal[row, index] = actions[legal[row, index]]


@inline
def mirror_board(board: Any) -> Any:
    """``uint64``: a bitboard with its files mirrored, i.e. the bits of every byte reversed."""
    board = (board >> _U(1) & _U(0x5555555555555555)) | (board & _U(0x5555555555555555)) << _U(1)
    board = (board >> _U(2) & _U(0x3333333333333333)) | (board & _U(0x3333333333333333)) << _U(2)
    return (board >> _U(4) & _U(0x0F0F0F0F0F0F0F0F)) | (board & _U(0x0F0F0F0F0F0F0F0F)) << _U(4)
