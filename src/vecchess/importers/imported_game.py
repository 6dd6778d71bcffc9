"""One game of another program, move by move, and its conversion to records."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.chess.rules import FIFTY_MOVES_PLIES, Termination
from vecchess.ragged import offsets_of
from vecchess.store.records import (
    VALUE_UNIT,
    GameRecords,
    empty_fingerprint_columns,
    empty_search_columns,
)

Targets = tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.uint16]]
"""Number of moves of each labelled ply, then their action codes, ascending in a ply, and shares in
1/TARGET_UNIT."""


@dataclass(frozen=True)
class PlyLabel:
    """The label of a position. Point of view: the mover's."""

    nodes: int
    """Positions the engine looked at, above 0."""
    win: float
    """Probability, 0 to 1."""
    draw: float
    target: tuple[tuple[int, int], ...] = ()
    """Action codes, ascending, and their shares in 1/TARGET_UNIT; empty: the move played."""


def label_columns(
    num_plies: int,
    plies: NDArray[np.int64],
    nodes: NDArray[np.uint32] | int,
    values: NDArray[np.floating],
    targets: Targets,
) -> dict[str, NDArray[Any]]:
    """The search columns, ``win`` and ``draw`` of so many plies, of which ``plies``: int64[B],
    ascending, have labels: the nodes, of each or of all, and win and draw, float[B, 2].

    A ply with a label counts as searched in full, its nodes as visits.
    """
    columns = empty_search_columns(num_plies)
    columns["visits"][plies] = nodes
    win, draw = np.zeros((2, num_plies), np.uint16)
    win[plies], draws = np.rint(values * VALUE_UNIT).T
    draw[plies] = np.minimum(draws, VALUE_UNIT - win[plies])
    counts = np.zeros(num_plies, np.int64)
    counts[plies], actions, shares = targets
    return columns | {
        "win": win,
        "draw": draw,
        "full": (columns["visits"] > 0).astype(np.uint8),
        "target_offsets": offsets_of(counts),
        "target_action": actions,
        "target_prob": shares,
    }


def columns_of_labels(labels: Sequence[PlyLabel | None]) -> dict[str, NDArray[Any]]:
    """``label_columns`` of as many plies; None: a ply without a label."""
    given = [label for label in labels if label is not None]
    pairs = np.array([pair for label in given for pair in label.target], np.uint16).reshape(-1, 2)
    return label_columns(
        len(labels),
        np.flatnonzero([label is not None for label in labels]),
        np.array([min(label.nodes, 2**32 - 1) for label in given], np.uint32),
        np.array([(label.win, label.draw) for label in given], np.float64).reshape(-1, 2),
        (np.array([len(label.target) for label in given]), pairs[:, 0].copy(), pairs[:, 1].copy()),
    )


@dataclass
class ImportedGame:
    """One finished game, move by move."""

    number: int
    start: NDArray[np.uint64]
    """uint64[8]"""
    result: int
    """1 White won, 0 draw, -1 Black won"""
    termination: Termination
    actions: list[int] = field(default_factory=list)
    """Action codes, mover's view"""
    labels: list[PlyLabel | None] = field(default_factory=list)
    """One a ply where an engine chose; None, or no entries at all, without one."""
    probs: list[float] = field(default_factory=list)
    """Probability with which each move was drawn; 1 where there is no entry."""


def termination_of(board: chess.Board) -> Termination:
    """Why the game on ``board`` is over by the rules of ``chess/rules.py``; ONGOING if it is not.

    The order is that of ``chess/rules.py``; repetitions need the board's move stack.
    """
    has_moves = any(board.generate_legal_moves())
    if not has_moves and board.is_check():
        return Termination.CHECKMATE
    if board.is_insufficient_material():
        return Termination.INSUFFICIENT_MATERIAL
    if not has_moves:
        return Termination.STALEMATE
    if board.halfmove_clock >= FIFTY_MOVES_PLIES:
        return Termination.FIFTY_MOVES
    if board.is_repetition(3):
        return Termination.THREEFOLD
    return Termination.ONGOING


def to_records(games: list[ImportedGame], source: str) -> GameRecords:
    """The games in the order given; ``source`` stands in ``nets`` for what chose the moves.

    A label without a target recommends the move played.
    """
    offsets = offsets_of([len(game.actions) for game in games])
    labels = [label for game in games for label in game.labels or [None] * len(game.actions)]
    probs = [prob for game in games for prob in game.probs or [1.0] * len(game.actions)]
    columns = columns_of_labels(labels) | empty_fingerprint_columns(len(games), len(labels))
    return GameRecords(
        numbers=np.array([game.number for game in games], np.int64),
        start=np.stack([game.start for game in games]),
        result=np.array([game.result for game in games], np.int8),
        termination=np.array([game.termination for game in games], np.uint8),
        resign=np.zeros(len(games), np.uint8),
        offsets=offsets,
        action=np.concatenate([np.array(game.actions, np.uint16) for game in games]),
        steps=np.zeros(offsets[-1], np.uint8),
        prob=np.array(probs, np.float32),
        span_offsets=np.arange(len(games) + 1, dtype=np.int64),
        span_ply=np.zeros(len(games), np.int32),
        span_net=np.zeros(len(games), np.int32),
        nets=(source,),
        **columns,
    )
