"""Searches in which most positions share a key, to show that a false hit does no harm.

``python -m tests.search.shared_keys`` with a cache of kernels of its own: they take keys in when
they are compiled, so the key is exchanged before. Prints JSON.
"""

import json
from itertools import pairwise
from typing import Any

import numpy as np

from tests.search.table_backend import TableBackend
from vecchess.chess.action import actions_to_moves, moves_to_actions
from vecchess.chess.bitboards.bits import load
from vecchess.chess.make import make
from vecchess.chess.movegen import legal_moves
from vecchess.chess.rules import Termination, terminations
from vecchess.chess.sample import random_positions
from vecchess.config import GameConfig, TreeConfig
from vecchess.jit import inline
from vecchess.search.kernels import search_path
from vecchess.store.id_set import IdSet

MAX_PLIES = 130


@inline
def few_keys(forest: Any, board: Any, repetitions: Any) -> Any:
    """``evaluation_key`` with 16 keys, all with the same check."""
    return load(board, 0) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(60), np.uint64(0)


def main() -> None:
    search_path.evaluation_key = few_keys
    print(json.dumps({"searches": searches(), "selfplay": selfplay()}))


def searches() -> dict[str, int]:
    """Games of moves that searches choose, as the engine and the analysis search."""
    from vecchess.search.batch_search import BatchSearch  # takes the key in

    search = BatchSearch(TreeConfig(search="puct", sims=200, cache_mb=1), TableBackend(16), 64)
    positions, hits, edges, illegal = random_positions(64, 1), 0, 0, 0
    while len(positions):
        found = search.run(positions)
        hits += search.forest.counters()["cache_hits"]
        moves, counts = legal_moves(positions)
        for row, (first, end) in enumerate(pairwise(found.edge_offsets)):
            actions = set(found.edge_action[first:end].tolist())
            legal = set(moves_to_actions(moves[row, : counts[row]]).tolist())
            edges += len(actions)
            illegal += len(actions - legal)
        positions = make(positions, actions_to_moves(positions, found.action))
        positions = positions[terminations(positions, max_plies=MAX_PLIES) == Termination.ONGOING]
    return {"cache_hits": hits, "edges": edges, "illegal": illegal}


def selfplay() -> dict[str, int]:
    """Games of self-play, each replayed by python-chess, which refuses illegal moves."""
    from tests.selfplay.playing import replay, server_of
    from vecchess.selfplay.games.finished_games import finished_records

    hits = plies = 0
    for tree in (TreeConfig(search="puct", sims=100), TreeConfig(search="gumbel", sims=32)):
        tree = tree.model_copy(update={"cache_mb": 1})
        server = server_of(GameConfig(max_plies=MAX_PLIES), tree, TableBackend(16))
        server.start()
        server.pool.add(IdSet([(0, 24)]))
        while not server.is_idle:
            server.step()
        hits += sum(mover.search_counters()["cache_hits"] for mover in server.movers)
        boards = replay(finished_records(server.take_finished()))
        plies += sum(len(board.move_stack) for board in boards)
        server.close()
    return {"cache_hits": hits, "plies": plies}


if __name__ == "__main__":
    main()
