"""A new position at the end of a simulation: over, known to the cache, or a question."""

from typing import Any

import numpy as np

from vecchess.chess.action import move_to_action, write_actions
from vecchess.chess.bitboards.bits import (
    load,
    load_i32,
    load_i64,
    popcount,
    store,
    store8,
    store16,
    store_i32,
)
from vecchess.chess.movegen import generate_moves
from vecchess.chess.position import (
    CASTLING,
    DIAGONAL,
    KINGS,
    KNIGHTS,
    ORTHOGONAL,
    PAWNS,
    RANK_1,
    RANK_8,
    clock_of,
    colour_of,
    copy_position,
)
from vecchess.chess.rules import (
    FIFTY_MOVES_PLIES,
    is_dead,
    plies_since_repeated,
    push_key,
)
from vecchess.inference.requests import LEGAL_BYTES
from vecchess.jit import inline, part, paste
from vecchess.search.kernels.backup import back_up, propagate_proof, utility_of
from vecchess.search.kernels.evaluation_cache import (
    ENTRY_DRAW,
    ENTRY_MOVES,
    ENTRY_STEPS,
    ENTRY_VALUE,
    ENTRY_WORDS,
    probe_evaluation,
)
from vecchess.search.kernels.expand import expand_node
from vecchess.search.kernels.mate_in_one import NO_MOVE, mating_move
from vecchess.search.kernels.priors import encode_prior
from vecchess.search.kernels.search_path import (
    evaluation_key,
    planes_of,
    restore_board,
    save_board,
    write_request_planes,
)
from vecchess.search.tree import forest_layout as descriptor
from vecchess.search.tree import tree_layout as record
from vecchess.search.tree.node_layout import (
    ASKED,
    BLACK,
    CYCLE,
    DISTANCE,
    LANE_ANSWERED,
    LANE_ASKED,
    LANE_KEY,
    LANE_LEAF,
    LANE_PROBED,
    LANE_STATE,
    LOST,
    MATING_ACTION,
    NO_NODE,
    RAW_DRAW,
    RAW_VALUE,
    STATE,
    TERMINAL,
    UNIT,
    WON,
    lane_at,
    node_at,
    state_of,
)
from vecchess.search.tree.node_pool import count_up

TABLEBASE_PLIES = 1000
"""Distance of an outcome from a tablebase: beyond every mate that a tree finds."""
IS_OVER, IN_LANE = 1, 2
UNKNOWN_OUTCOME = 2
"""Outcome of a position that has no tablebase."""
_U = np.uint64


@paste
def evaluate_leaf(forest, tree, row, leaf, depth):  # type: ignore[no-untyped-def]
    """Judge the position on the scratch board, new after ``depth`` moves from the root.

    Its node (index ``leaf``) gives its value at once (IS_OVER), or takes the lane of the request
    ``row`` (IN_LANE). A root (depth 0) is a position of the game and not over.
    """
    board, keys = load_i64(forest, descriptor.BOARD), load_i64(forest, descriptor.HISTORY)
    node = node_at(forest, leaf)
    if colour_of(board) != _U(0):
        store16(node, STATE, BLACK)
    repetitions = push_key(board, keys)
    if depth > 0:
        if repetitions > 0:
            cycle = plies_since_repeated(board, keys)
            if repetitions > 1 or cycle <= depth:
                if repetitions == 1:
                    store16(node, CYCLE, cycle)
                return _end(forest, tree, node, np.int64(0), TERMINAL)
        if is_dead(board):
            return _end(forest, tree, node, np.int64(0), TERMINAL)
        if clock_of(board) >= FIFTY_MOVES_PLIES:
            return _end_at_fifty(forest, tree, node, board)
        if is_in_tablebase(forest, board):
            return _look_up(forest, tree, row, leaf, board)
    return _ask(forest, tree, row, leaf, board, repetitions, depth)


@paste
def _look_up(forest: Any, tree: Any, row: Any, leaf: Any, board: Any) -> Any:
    """Let the row wait for a tablebase, its position in the place of its planes."""
    node, moves = node_at(forest, leaf), load_i64(forest, descriptor.MOVES)
    packed = _generate(load_i64(forest, descriptor.TABLES), board, moves)
    if packed & 0xFFFF == 0:
        return _end_without_moves(forest, tree, node, packed >> 16)
    mate = _see_mate(forest, board, moves, packed & 0xFFFF)
    if mate != NO_MOVE:
        return _take_mate(forest, tree, row, leaf, mate, np.int64(1))
    save_board(forest, row, board)
    return _take_lane(forest, row, leaf, node, LANE_PROBED, _U(0))


@part
def probe_game_position(forest, row, board):  # type: ignore[no-untyped-def]
    """Let a row wait for the tablebase's verdict on the game's own position, at ``board``."""
    lane = lane_at(forest, row)
    store_i32(lane, LANE_LEAF, NO_NODE)
    store_i32(lane, LANE_STATE, LANE_PROBED)
    copy_position(board, planes_of(forest, row))
    _list_row(forest, row, descriptor.PROBE_ROWS, descriptor.NUM_PROBES)


@part
def request_evaluation(forest, tree, row, leaf):  # type: ignore[no-untyped-def]
    """Ask the network about a position that no tablebase knows: not over, and without a mate."""
    board = load_i64(forest, descriptor.BOARD)
    restore_board(forest, row, board)
    _ask(forest, tree, row, leaf, board, np.int64(0), np.int64(1))


@part
def _ask(forest, tree, row, leaf, board, repetitions, depth):  # type: ignore[no-untyped-def]
    """Answer from the cache, or write the question; a position without moves is over.

    One with a mate is won: it is never asked about, so the cache does not know it either.
    """
    node = node_at(forest, leaf)
    key = evaluation_key(forest, board, repetitions)
    cache, entry = load_i64(forest, descriptor.CACHE), load_i64(forest, descriptor.ENTRY)
    if cache != 0:
        count_up(forest, descriptor.CACHE_PROBES, 1)
        if probe_evaluation(cache, key, entry) > 0:
            count_up(forest, descriptor.CACHE_HITS, 1)
            apply_evaluation(forest, tree, node, entry)
            return _take_lane(forest, row, leaf, node, LANE_ANSWERED, key)
    tables, moves = load_i64(forest, descriptor.TABLES), load_i64(forest, descriptor.MOVES)
    packed = _generate(tables, board, moves)
    num_moves, in_check = packed & 0xFFFF, packed >> 16
    if num_moves == 0:
        return _end_without_moves(forest, tree, node, in_check)
    mate = _see_mate(forest, board, moves, num_moves)
    if mate != NO_MOVE:
        return _take_mate(forest, tree, row, leaf, mate, depth)
    legal = load_i64(forest, descriptor.LEGAL) + row * LEGAL_BYTES
    write_actions(tables, moves, num_moves, legal)
    store8(load_i64(forest, descriptor.NUM_LEGAL), row, num_moves)
    write_request_planes(forest, row, board, repetitions, in_check)
    return _take_lane(forest, row, leaf, node, LANE_ASKED, key)


@inline
def _see_mate(forest: Any, board: Any, moves: Any, num_moves: Any) -> Any:
    """A mating move among those listed, if it is wanted; NO_MOVE if there is none."""
    if load_i64(forest, descriptor.SEE_MATES) == 0:
        return np.int64(NO_MOVE)
    return mating_move(
        load_i64(forest, descriptor.TABLES), board, moves, num_moves,
        load_i64(forest, descriptor.TRIAL_BOARD), load_i64(forest, descriptor.TRIAL_MOVES),
    )  # fmt: skip


@inline
def _take_mate(forest: Any, tree: Any, row: Any, leaf: Any, move: Any, depth: Any) -> Any:
    """A position with a mating move: a leaf is won; a root has this one move."""
    node = node_at(forest, leaf)
    action = np.int64(move_to_action(load_i64(forest, descriptor.TABLES), move))
    if depth > 0:
        store16(node, DISTANCE, 1)
        store_i32(node, MATING_ACTION, action)
        return _end(forest, tree, node, np.int64(UNIT), TERMINAL | WON)
    entry = load_i64(forest, descriptor.ENTRY)
    store_i32(entry, ENTRY_VALUE, UNIT)
    store_i32(entry, ENTRY_DRAW, 0)
    store_i32(entry, ENTRY_STEPS, 0)
    store_i32(entry, ENTRY_MOVES, 1)
    store_i32(entry, ENTRY_WORDS, encode_prior(np.float32(1.0)) << 16 | action)
    apply_evaluation(forest, tree, node, entry)
    return _take_lane(forest, row, leaf, node, LANE_ANSWERED, _U(0))


@inline
def _take_lane(forest: Any, row: Any, leaf: Any, node: Any, state: Any, key: Any) -> Any:
    """Let the lane of the row wait for this leaf; put the row on the list it belongs to."""
    lane = lane_at(forest, row)
    store_i32(lane, LANE_LEAF, leaf)
    store_i32(lane, LANE_STATE, state)
    store(lane, LANE_KEY, key)
    store16(node, STATE, state_of(node) | ASKED)
    if state == LANE_ASKED:
        _list_row(forest, row, descriptor.ASKED_ROWS, descriptor.NUM_ASKED)
        count_up(forest, descriptor.EVALUATIONS, 1)
    elif state == LANE_PROBED:
        _list_row(forest, row, descriptor.PROBE_ROWS, descriptor.NUM_PROBES)
    return np.int64(IN_LANE)


@inline
def _list_row(forest: Any, row: Any, rows: Any, number: Any) -> None:
    store_i32(load_i64(forest, rows), load_i64(forest, number), row)
    count_up(forest, number, 1)


@part
def apply_evaluation(forest, tree, node, entry):  # type: ignore[no-untyped-def]
    """Give the node at address ``node`` the value and the edges of an entry."""
    value, draw = load_i32(entry, ENTRY_VALUE), load_i32(entry, ENTRY_DRAW)
    store_i32(node, RAW_VALUE, utility_of(forest, tree, node, value, draw))
    store_i32(node, RAW_DRAW, draw)
    count_up(tree, record.THOUGHT, load_i32(entry, ENTRY_STEPS))
    expand_node(forest, tree, node, entry)


@inline
def _end_without_moves(forest: Any, tree: Any, node: Any, in_check: Any) -> Any:
    """Checkmate or stalemate."""
    if in_check == 0:
        return _end(forest, tree, node, np.int64(0), TERMINAL)
    return _end(forest, tree, node, np.int64(-UNIT), _proof(forest, LOST))


@paste
def _end_at_fifty(forest: Any, tree: Any, node: Any, board: Any) -> Any:
    """A draw, unless the last move gave mate."""
    moves = load_i64(forest, descriptor.MOVES)
    packed = _generate(load_i64(forest, descriptor.TABLES), board, moves)
    mated = packed == 1 << 16
    return _end_without_moves(forest, tree, node, np.int64(mated))


@inline
def _proof(forest: Any, outcome: Any) -> Any:
    """State bits of a node whose outcome is certain."""
    return TERMINAL | outcome if load_i64(forest, descriptor.SOLVE) else np.int64(TERMINAL)


@part
def _end(forest, tree, node, value, state):  # type: ignore[no-untyped-def]
    """The game is over at the node: its value goes up the tree."""
    draw = np.int64(UNIT) - abs(value)
    store_i32(node, RAW_VALUE, utility_of(forest, tree, node, value, draw))
    store_i32(node, RAW_DRAW, draw)
    store16(node, STATE, state_of(node) | state)
    count_up(forest, descriptor.TERMINALS, 1)
    finish_simulation(forest, node)
    return np.int64(IS_OVER)


@part
def finish_simulation(forest, node):  # type: ignore[no-untyped-def]
    """A simulation ends at the node: its value goes up, and what it proves."""
    count_up(forest, descriptor.SIMULATIONS, 1)
    back_up(forest, node)
    if state_of(node) & (WON | LOST):
        propagate_proof(forest, node)


@part
def _generate(tables, board, moves):  # type: ignore[no-untyped-def]
    """Move generation, in one place for all who need it here: it is long to compile."""
    return generate_moves(tables, board, moves)


@inline
def is_in_tablebase(forest: Any, board: Any) -> Any:
    """Whether a tablebase may know the position: few men, no castling, the clock at 0."""
    most = load_i64(forest, descriptor.TABLEBASE_MEN)
    if most == 0 or clock_of(board) != 0:
        return False
    if load(board, CASTLING) & (RANK_1 | RANK_8) != _U(0):
        return False
    men = load(board, PAWNS) | load(board, KNIGHTS) | load(board, KINGS)
    men |= load(board, DIAGONAL) | load(board, ORTHOGONAL)
    return np.int64(popcount(men)) <= most


@part
def apply_tablebase_outcome(forest, tree, node, outcome):  # type: ignore[no-untyped-def]
    """Give the node at address ``node`` the outcome of a tablebase: 1 won, 0 drawn, -1 lost."""
    value = np.int64(outcome) * UNIT
    draw = np.int64(UNIT) - abs(value)
    store_i32(node, RAW_VALUE, utility_of(forest, tree, node, value, draw))
    store_i32(node, RAW_DRAW, draw)
    state = np.int64(TERMINAL)
    if outcome != 0:
        state = _proof(forest, WON if outcome > 0 else LOST)
        store16(node, DISTANCE, TABLEBASE_PLIES)
    store16(node, STATE, state_of(node) | state)
