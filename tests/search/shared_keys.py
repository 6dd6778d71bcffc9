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
from vecchess.config import TreeConfig
from vecchess.jit import inline
from vecchess.search.kernels import search_path

MAX_PLIES = 130


@inline
def few_keys(forest: Any, board: Any, repetitions: Any) -> Any:
    """``evaluation_key`` with 16 keys, all with the same check."""
    return load(board, 0) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(60), np.uint64(0)


def main() -> None:
    search_path.evaluation_key = few_keys
    from vecchess.search.batch_search import BatchSearch  # takes the key in

    searches = BatchSearch(TreeConfig(search="puct", sims=200, cache_mb=1), TableBackend(16), 64)
    positions, hits, edges, illegal = random_positions(64, 1), 0, 0, 0
    while len(positions):
        found = searches.run(positions)
        hits += searches.forest.counters()["cache_hits"]
        moves, counts = legal_moves(positions)
        for row, (first, end) in enumerate(pairwise(found.edge_offsets)):
            actions = set(found.edge_action[first:end].tolist())
            legal = set(moves_to_actions(moves[row, : counts[row]]).tolist())
            edges += len(actions)
            illegal += len(actions - legal)
        positions = make(positions, actions_to_moves(positions, found.action))
        positions = positions[terminations(positions, max_plies=MAX_PLIES) == Termination.ONGOING]
    print(json.dumps({"cache_hits": hits, "edges": edges, "illegal": illegal}))


if __name__ == "__main__":
    main()
