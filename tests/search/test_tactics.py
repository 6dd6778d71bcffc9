"""Mates, stalemates and repetitions with an evaluator that sees men and nothing else."""

import chess
import numpy as np
import pytest

from tests.search.epd import read_epd
from vecchess.analysis.parse_position import position_after
from vecchess.chess.action import actions_to_moves
from vecchess.chess.uci_moves import move_to_uci
from vecchess.config import TreeConfig
from vecchess.inference.builtin import MaterialBackend
from vecchess.search.batch_search import BatchSearch, SearchResults
from vecchess.search.tree.layout import UNIT

# All moves are equally likely to this evaluator: having visited some says nothing of the others.
SETTINGS = TreeConfig(search="puct", sims=1600, fpu_reduction=0.0, root_fpu_reduction=0.0)


def searched(
    name: str, config: TreeConfig
) -> tuple[list[tuple[chess.Board, dict[str, object]]], list[chess.Move], SearchResults]:
    """The positions of a file, the moves found for them, and all else that was found."""
    entries = read_epd(name)
    set_up = [
        position_after(board.root().fen(), [move.uci() for move in board.move_stack])
        for board, _ in entries
    ]
    positions = np.concatenate([position for position, _, _ in set_up])
    keys = np.concatenate([history for _, history, _ in set_up])
    backend = MaterialBackend(len(entries))
    results = BatchSearch(config, backend, len(entries)).run(positions, keys)
    moves = actions_to_moves(positions, results.action)
    found = [
        chess.Move.from_uci(move_to_uci(position, move))
        for position, move in zip(positions, moves, strict=True)
    ]
    return entries, found, results


@pytest.mark.parametrize(("name", "count"), [("mate_in_1", 200), ("mate_in_2", 100)])
def test_every_mate_is_found_and_proved(name: str, count: int) -> None:
    entries, found, results = searched(name, SETTINGS)
    assert len(entries) == count
    for (board, operations), move in zip(entries, found, strict=True):
        assert move in operations["bm"], f"{operations['id']} {board.fen()}"
    assert (results.win == UNIT).all()


@pytest.mark.parametrize("search", ["puct", "gumbel"])
def test_mates_in_one_need_one_simulation(search: str) -> None:
    config = TreeConfig(search=search, sims=1)
    entries, found, results = searched("mate_in_1", config)
    assert all(
        move in operations["bm"] for (_, operations), move in zip(entries, found, strict=True)
    )
    assert (results.win == UNIT).all()


@pytest.mark.parametrize("name", ["stalemate_traps", "repetition_traps"])
def test_traps_are_avoided(name: str) -> None:
    entries, found, _ = searched(name, SETTINGS)
    for (board, operations), move in zip(entries, found, strict=True):
        assert move not in operations["am"], f"{operations['id']} {board.fen()}"


def test_a_lost_game_is_saved_by_repetition() -> None:
    entries, found, results = searched("repetition_saves", SETTINGS)
    for (board, operations), move in zip(entries, found, strict=True):
        assert move in operations["bm"], f"{operations['id']} {board.fen()}"
    assert (results.draw > UNIT // 2).all()
