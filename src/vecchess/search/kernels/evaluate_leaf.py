"""A new position at the end of a simulation: over, known to the cache, or to be evaluated.

A position with a mate in one needs no evaluation (decision 62: it is won); only moves that may give
check are tried, few of a position's moves.
"""

from typing import Any

import numpy as np

from vecchess.chess.action import LEGAL_BYTES, move_to_action, write_actions
from vecchess.chess.bitboards import tables as lookup
from vecchess.chess.bitboards.attacks import BISHOP, ROOK, line_attacks
from vecchess.chess.bitboards.bits import load, load_u16, popcount, tz
from vecchess.chess.make import make_move_into
from vecchess.chess.movegen import generate_moves
from vecchess.chess.position import (
    CASTLING,
    FILE_A,
    FILE_H,
    RANK_1,
    RANK_6,
    RANK_8,
    clock_of,
    colour_of,
    copy_position,
    pieces_of,
)
from vecchess.chess.rules import FIFTY_MOVES_PLIES, is_dead, plies_since_repeated, push_key
from vecchess.jit import inline, part, paste
from vecchess.search.kernels.backup import back_up, propagate_proof, utility_of
from vecchess.search.kernels.evaluation_cache import prefetch_evaluation, probe_evaluation
from vecchess.search.kernels.expand import expand_node
from vecchess.search.kernels.search_path import (
    evaluation_key,
    planes_of,
    restore_board,
    save_board,
    write_request_planes,
)
from vecchess.search.tree.edge_word import encode_prior
from vecchess.search.tree.layout import (
    AWAITED,
    BLACK,
    LANE_ANSWERED,
    LANE_PROBED,
    LANE_REQUESTED,
    LOST,
    NO_NODE,
    PROVEN,
    TERMINAL,
    UNIT,
    WON,
)

NO_MOVE = -1
_MATED = 1 << 16
"""The result of move generation for a position in check without moves."""
TABLEBASE_PLIES = 1000
"""Distance of an outcome from a tablebase: beyond every mate that a tree finds (decision 60)."""
IS_OVER, IN_LANE = 1, 2
UNKNOWN_OUTCOME = 2
"""Outcome of a position that has no tablebase."""
_U = np.uint64
_ZERO, _ONE = _U(0), _U(1)


@paste
def evaluate_leaf(forest, tree, row, leaf, depth):  # type: ignore[no-untyped-def]
    """Evaluate the position on the board, new after ``depth`` moves from the root.

    Its node (index ``leaf``) gives its value at once (IS_OVER), or takes the lane of the request
    ``row`` (IN_LANE). A root (depth 0) is a position of the game and not over.
    """
    board, keys, node = forest.board, forest.path_keys, forest.nodes[leaf]
    if colour_of(board) != _U(0):
        node.state = BLACK
    repetitions = push_key(board, keys)
    if depth > 0:
        if repetitions > 0:
            cycle = plies_since_repeated(board, keys)
            if repetitions > 1 or cycle <= depth:  # decision 57
                if repetitions == 1:
                    node.cycle = cycle
                return _end(forest, tree, node, np.int64(0), TERMINAL)
        if is_dead(board):
            return _end(forest, tree, node, np.int64(0), TERMINAL)
        if clock_of(board) >= FIFTY_MOVES_PLIES:
            return _end_at_fifty(forest, tree, node, board)
        if is_in_tablebase(forest, board):
            return _probe_leaf(forest, tree, row, leaf, board)
    return _request(forest, tree, row, leaf, board, repetitions, depth)


@paste
def _probe_leaf(forest: Any, tree: Any, row: Any, leaf: Any, board: Any) -> Any:
    """Let the row wait for a tablebase, its position in the place of its planes."""
    node = forest.nodes[leaf]
    num_moves, in_check = _generate(forest, board)
    if num_moves == 0:
        return _end_without_moves(forest, tree, node, in_check)
    mate = _find_mate(forest, board, num_moves)
    if mate != NO_MOVE:
        return _take_mate(forest, tree, row, leaf, mate, np.int64(1))
    save_board(forest, row, board)
    return _take_lane(forest, row, leaf, node, LANE_PROBED)


@part
def probe_game_position(forest, row, board):  # type: ignore[no-untyped-def]
    """Let a row wait for the tablebase's outcome of the game's own position, at ``board``."""
    lane = forest.lanes[row]
    lane.leaf = NO_NODE
    lane.state = LANE_PROBED
    copy_position(board, planes_of(forest, row))
    _list_probed(forest, row)


@part
def request_evaluation(forest, tree, row, leaf):  # type: ignore[no-untyped-def]
    """Request the network's evaluation of a position that no tablebase has.

    The position is not over and has no mate.
    """
    restore_board(forest, row, forest.board)
    _request(forest, tree, row, leaf, forest.board, np.int64(0), np.int64(1))


@part
def _request(forest, tree, row, leaf, board, repetitions, depth):  # type: ignore[no-untyped-def]
    """Take the evaluation from the cache, or request it; a position without moves is over.

    One with a mate is won: its evaluation is never requested, so the cache never has it.
    """
    node, evaluation, lane = forest.nodes[leaf], forest.evaluation, forest.lanes[row]
    key, check = evaluation_key(forest, board, repetitions)
    if forest.cache != 0:
        prefetch_evaluation(forest.cache, key)
    num_moves, in_check = _generate(forest, board)
    if num_moves == 0:
        return _end_without_moves(forest, tree, node, in_check)
    legal = forest.legal + row * LEGAL_BYTES
    write_actions(forest.tables, forest.moves, num_moves, legal)
    if forest.cache != 0:
        forest.cache_probes += 1
        if probe_evaluation(forest.cache, key, check, legal, num_moves, evaluation):
            forest.cache_hits += 1
            apply_evaluation(forest, tree, node, evaluation)
            return _take_lane(forest, row, leaf, node, LANE_ANSWERED)
    mate = _find_mate(forest, board, num_moves)
    if mate != NO_MOVE:
        return _take_mate(forest, tree, row, leaf, mate, depth)
    forest.num_legal[row] = num_moves
    write_request_planes(forest, row, board, repetitions, num_moves, in_check)
    lane.key, lane.check = key, check
    return _take_lane(forest, row, leaf, node, LANE_REQUESTED)


@inline
def _find_mate(forest: Any, board: Any, num_moves: Any) -> Any:
    """A mating move among those listed, where the settings look for one; NO_MOVE for none."""
    if forest.see_mates == 0:
        return np.int64(NO_MOVE)
    return mating_move(
        forest.tables, board, forest.moves, num_moves, forest.trial_board, forest.trial_moves
    )


@inline
def _take_mate(forest: Any, tree: Any, row: Any, leaf: Any, move: Any, depth: Any) -> Any:
    """A position with a mating move: a leaf is won; a root has this one move."""
    node = forest.nodes[leaf]
    action = np.int64(move_to_action(forest.tables, move))
    if depth > 0:
        node.distance = 1
        node.mating_action = action
        return _end(forest, tree, node, np.int64(UNIT), TERMINAL | WON)
    evaluation = forest.evaluation
    evaluation.value = UNIT
    evaluation.draw = 0
    evaluation.num_steps = 0
    evaluation.num_moves = 1
    evaluation.moves[0] = encode_prior(np.float32(1.0)) << 16 | action
    apply_evaluation(forest, tree, node, evaluation)
    return _take_lane(forest, row, leaf, node, LANE_ANSWERED)


@inline
def _take_lane(forest: Any, row: Any, leaf: Any, node: Any, state: Any) -> Any:
    """Let the lane of the row wait for this leaf; put the row on the list it belongs to."""
    lane = forest.lanes[row]
    lane.leaf = leaf
    lane.state = state
    node.state |= AWAITED
    if state == LANE_REQUESTED:
        forest.requested_rows[forest.num_requested] = row
        forest.num_requested += 1
        forest.evaluations += 1
    elif state == LANE_PROBED:
        _list_probed(forest, row)
    return np.int64(IN_LANE)


@inline
def _list_probed(forest: Any, row: Any) -> None:
    forest.probed_rows[forest.num_probed] = row
    forest.num_probed += 1


@part
def apply_evaluation(forest, tree, node, evaluation):  # type: ignore[no-untyped-def]
    """Give a node the value and the edges of an evaluation."""
    draw = evaluation.draw
    node.raw_value = utility_of(forest, tree, node, evaluation.value, draw)
    node.raw_draw = draw
    tree.num_steps += evaluation.num_steps
    expand_node(forest, tree, node, evaluation)


@inline
def _end_without_moves(forest: Any, tree: Any, node: Any, in_check: Any) -> Any:
    """Checkmate or stalemate."""
    if in_check == 0:
        return _end(forest, tree, node, np.int64(0), TERMINAL)
    return _end(forest, tree, node, np.int64(-UNIT), _proof(forest, LOST))


@paste
def _end_at_fifty(forest: Any, tree: Any, node: Any, board: Any) -> Any:
    """A draw, unless the last move gave mate."""
    num_moves, in_check = _generate(forest, board)
    is_mate = num_moves == 0 and in_check != 0
    return _end_without_moves(forest, tree, node, np.int64(is_mate))


@inline
def _proof(forest: Any, outcome: Any) -> Any:
    """State bits of a node whose outcome is certain."""
    return TERMINAL | outcome if forest.solve else np.int64(TERMINAL)


@part
def _end(forest, tree, node, value, state):  # type: ignore[no-untyped-def]
    """The game is over at the node: its value goes up the tree."""
    _set_outcome(forest, tree, node, value, state)
    forest.terminals += 1
    finish_simulation(forest, node)
    return np.int64(IS_OVER)


@inline
def _set_outcome(forest: Any, tree: Any, node: Any, value: Any, state: Any) -> None:
    """Give a node a certain value, in 2**-24, and these state bits."""
    draw = np.int64(UNIT) - abs(value)
    node.raw_value = utility_of(forest, tree, node, value, draw)
    node.raw_draw = draw
    node.state |= state


@part
def finish_simulation(forest, node):  # type: ignore[no-untyped-def]
    """End a simulation at a node: its value goes up the tree, and what it proves."""
    forest.simulations += 1
    back_up(forest, node)
    if node.state & PROVEN:
        propagate_proof(forest, node)


@part
def _generate(forest, board):  # type: ignore[no-untyped-def]
    """(number of legal moves, 1 in check else 0); the moves are in the forest's list.

    One function for all callers here, because move generation takes long to compile.
    """
    packed = generate_moves(forest.tables, board, forest.moves)
    return packed & 0xFFFF, packed >> 16


@inline
def is_in_tablebase(forest: Any, board: Any) -> Any:
    """Whether a tablebase may have the position (decision 61): few men, no castling, clock 0."""
    most = forest.tablebase_men
    if most == 0 or clock_of(board) != 0:
        return False
    if load(board, CASTLING) & (RANK_1 | RANK_8) != _U(0):
        return False
    _, pawns, knights, diagonal, orthogonal, kings = pieces_of(board)
    return np.int64(popcount(pawns | knights | diagonal | orthogonal | kings)) <= most


@part
def apply_tablebase_outcome(forest, tree, node, outcome):  # type: ignore[no-untyped-def]
    """Give a node the outcome of a tablebase: 1 won, 0 drawn, -1 lost."""
    state = np.int64(TERMINAL)
    if outcome != 0:
        state = _proof(forest, WON if outcome > 0 else LOST)
        node.distance = TABLEBASE_PLIES
    _set_outcome(forest, tree, node, np.int64(outcome) * UNIT, state)


@part
def mating_move(tables, board, moves, count, trial_board, trial_moves):  # type: ignore[no-untyped-def]
    """The first of ``count`` legal moves at the address ``moves`` that mates; NO_MOVE if none.

    ``trial_board`` (uint64[8]) and ``trial_moves`` (uint16[256]) are scratch memory.
    """
    own, pawns, knights, diagonal, orthogonal, kings = pieces_of(board)
    occupied = pawns | knights | diagonal | orthogonal | kings
    square = _U(tz(kings & ~own))
    king = _ONE << square
    straight = line_attacks(tables, square, occupied, ROOK)
    slant = line_attacks(tables, square, occupied, BISHOP)
    hop = load(tables, lookup.KNIGHT + np.int64(square))
    below = (king & ~FILE_A) >> _U(9) | (king & ~FILE_H) >> _U(7)
    special = own | load(board, CASTLING) & RANK_6  # castling, en passant
    behind = _uncovers(tables, square, occupied, own, straight, orthogonal, ROOK)
    behind |= _uncovers(tables, square, occupied, own, slant, diagonal, BISHOP)
    for index in range(count):
        move = load_u16(moves, index)
        start, goal = _ONE << _U(move & 63), _ONE << _U(move >> 6 & 63)
        gives = (behind & start) | (special & goal) | _U(move >> 12)
        gives |= _if(knights & start, hop & goal) | _if(diagonal & start, slant & goal)
        gives |= _if(orthogonal & start, straight & goal) | _if(pawns & start, below & goal)
        if gives != _ZERO:
            make_move_into(tables, board, trial_board, move)
            if generate_moves(tables, trial_board, trial_moves) == _MATED:
                return np.int64(move)
    return np.int64(NO_MOVE)


@inline
def _if(condition: Any, value: Any) -> Any:
    """``value`` where ``condition`` has a bit set, else 0."""
    return value if condition != _ZERO else _ZERO


@inline
def _uncovers(
    tables: Any, square: Any, occupied: Any, own: Any, seen: Any, sliders: Any, kind: Any
) -> Any:
    """Own men in sight of the enemy king, where one of them may hide a slider behind it."""
    blockers = seen & own
    beyond = line_attacks(tables, square, occupied ^ blockers, kind)
    return blockers if beyond & ~seen & own & sliders != _ZERO else _ZERO
