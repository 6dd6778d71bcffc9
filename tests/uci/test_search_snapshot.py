"""What the clock and the choice of a move read of a tree."""

from time import monotonic

import chess
import numpy as np

from vecchess.chess.fen import from_board
from vecchess.config import UciConfig
from vecchess.runtime.reporting import no_report
from vecchess.search.tree.edge_word import ACTION_MASK, EDGE_LOST
from vecchess.uci.engine_options import Options
from vecchess.uci.engine_state import EngineState
from vecchess.uci.parse_command import Position
from vecchess.uci.search_snapshot import SearchSnapshot
from vecchess.uci.uci_board import set_up


def snapshot() -> SearchSnapshot:
    """A search of the usual position that has gone on for a while."""
    config = UciConfig(hash_mb=16, net="material")
    session = EngineState(Options(config), no_report, no_report).session(config)
    session.set_up(from_board(chess.Board()))
    game = set_up(Position(chess.STARTING_FEN, ()))
    found = SearchSnapshot(session, game, config, monotonic(), speed=100.0)
    session.begin(400)
    while not session.is_over:
        session.advance(session.compute())
    return found


def test_a_move_that_is_proven_to_lose_is_no_rival() -> None:
    found = snapshot()
    edges = found._session.root_edges
    order = np.argsort(-edges["visits"], kind="stable")
    before = found.clock_state
    assert (before.first, before.second) == tuple(edges["visits"][order[:2]])
    edges["word"][order[0]] |= EDGE_LOST
    after = found.clock_state
    assert (after.first, after.second) == tuple(edges["visits"][order[1:3]])


def test_no_move_that_is_proven_to_lose_is_drawn() -> None:
    found = snapshot()
    edges = found._session.root_edges
    order = np.argsort(-edges["visits"], kind="stable")
    edges["word"][order[1:]] |= EDGE_LOST
    only = int(edges["word"][order[0]]) & ACTION_MASK
    assert found.choice(is_planned=False, power=0.5) == only
