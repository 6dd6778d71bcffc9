"""What holds in every tree, whatever was searched: counted by walking the arrays."""

from pathlib import Path

import numpy as np
import pytest

from tests.selfplay.playing import LoudBackend, server_of
from vecchess.config import GameConfig, TreeConfig
from vecchess.search.forest import Forest
from vecchess.search.tree import forest_layout as descriptor
from vecchess.search.tree import node_layout as layout
from vecchess.search.tree import tree_layout as record
from vecchess.selfplay.games.search_mover import SearchMover

SETTINGS = {
    "puct": TreeConfig(search="puct", sims=60),
    "puct, fresh trees": TreeConfig(search="puct", sims=30, reuse=False, cache_mb=0),
    "gumbel": TreeConfig(search="gumbel", sims=24),
    "fast": TreeConfig(search="puct", sims=50, fast_sims=7, full_share=0.3),
    "gumbel, fast": TreeConfig(search="gumbel", sims=20, fast_sims=3, full_share=0.5),
    "draws are bad": TreeConfig(search="puct", sims=20, draw_score=-0.5),
}


def walk(forest: Forest, root: int) -> list[int]:
    """Indices of all nodes of a tree; checks every node against its children on the way."""
    found, waiting = [], [(root, 0)]
    while waiting:
        index, depth = waiting.pop()
        found.append(index)
        node = forest.nodes[index]
        # a draw by repetition on the path repeats a position of the path: none before the root
        assert node.view(np.uint16)[layout.CYCLE] <= depth
        visits, value, draw = (1 if node[layout.VISITS] else 0), own_value(node), own_draw(node)
        for number, edge in opened_edges(forest, node):
            child = forest.nodes[edge[layout.CHILD]]
            assert child[layout.PARENT] == index
            assert child[layout.PARENT_EDGE] == number
            assert edge[layout.EDGE_VISITS] == child[layout.VISITS] + child[layout.PENDING]
            visits += child[layout.VISITS]
            value -= child.view(np.int64)[layout.VALUE_SUM]
            draw += child.view(np.int64)[layout.DRAW_SUM]
            waiting.append((int(edge[layout.CHILD]), depth + 1))
        if not node.view(np.uint16)[layout.STATE] & layout.OVER:
            assert visits == node[layout.VISITS]
            assert value == node.view(np.int64)[layout.VALUE_SUM]
            assert draw == node.view(np.int64)[layout.DRAW_SUM]
    return found


def own_value(node: np.ndarray) -> int:
    return int(node[layout.RAW_VALUE]) if node[layout.VISITS] else 0


def own_draw(node: np.ndarray) -> int:
    return int(node[layout.RAW_DRAW]) if node[layout.VISITS] else 0


def opened_edges(forest: Forest, node: np.ndarray) -> list[tuple[int, np.ndarray]]:
    shorts = node.view(np.uint16)
    if not shorts[layout.STATE] & layout.EXPANDED:
        return []
    first = int(node[layout.FIRST_EDGE])
    numbers = range(first, first + int(shorts[layout.NUM_OPENED]))
    edges = [(number, forest.edges[number]) for number in numbers]
    return [(number, edge) for number, edge in edges if edge[layout.CHILD] != layout.NO_NODE]


def num_free(forest: Forest, following: int, free: int) -> int:
    """Pages on a list of free pages."""
    count, page = 0, int(forest.words[free])
    links = forest.links[following]
    while page != layout.NO_PAGE:
        count, page = count + 1, int(links[page])
    return count


@pytest.mark.parametrize("name", SETTINGS)
def test_sums_and_links_hold_while_games_are_played(name: str, tmp_path: Path) -> None:
    """Endgames, so that repetitions and mates are met."""
    openings = tmp_path / "endgames.epd"
    openings.write_text("8/8/4k3/8/8/3QK3/8/8 w - -\n8/5k2/8/8/2R5/4K3/p7/8 b - -\n")
    game = GameConfig(max_plies=40, openings=openings)
    server = server_of(game, SETTINGS[name], LoudBackend(5), seats=6)
    server.numbers.add([(0, 12)])
    mover, engine = server.movers[0], server.engine
    assert isinstance(mover, SearchMover)
    ready, _ = mover.play(mover.rows)
    engine.submit(ready)
    while not engine.is_idle:
        answered = engine.step()
        if len(answered):
            engine.submit(mover.play(answered)[0])
            for tree in mover.forest.records:
                if tree[record.ROOT] != layout.NO_NODE:
                    found = walk(mover.forest, int(tree[record.ROOT]))
                    assert len(found) == tree[record.NUM_NODES]
    words = mover.forest.words
    for following, free, fresh in (
        (descriptor.NODE_FOLLOWING, descriptor.NODE_FREE, descriptor.NODE_FRESH),
        (descriptor.EDGE_FOLLOWING, descriptor.EDGE_FREE, descriptor.EDGE_FRESH),
    ):
        assert num_free(mover.forest, following, free) == words[fresh] > 0  # all came back
