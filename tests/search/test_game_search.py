"""The tree an engine keeps: the same as a new one where it must be, and never in the way."""

import chess
import numpy as np
import pytest

from vecchess.chess.action import actions_to_moves
from vecchess.chess.fen import from_board
from vecchess.chess.history import REPEATED_SHIFT
from vecchess.chess.position import COUNTERS
from vecchess.chess.uci_moves import uci_to_move
from vecchess.config import TreeConfig
from vecchess.inference.builtin import MaterialBackend
from vecchess.search.batch_search import BatchSearch
from vecchess.search.game_search import STALE, GameSearch
from vecchess.search.principal_variations import best_lines
from vecchess.search.tree.edge_word import pack_words, word_actions, word_priors
from vecchess.search.tree_memory import TreeLimits
from vecchess.shapes import MAX_MOVES

CONFIG = TreeConfig(search="puct")
DEAD = "7k/8/6K1/8/8/8/8/8 w - - 0 1"
KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"


def new_session(lanes: int = 4, megabytes: int = 64, config: TreeConfig = CONFIG) -> GameSearch:
    backend = MaterialBackend(lanes)
    return GameSearch(config, TreeLimits.of_memory(megabytes << 20), backend, lanes)


def search(
    session: GameSearch, sims: int, lanes: int = 0, actions: list[int] | None = None
) -> None:
    session.begin(sims, lanes, actions or ())
    while not session.is_over:
        session.advance(session.compute())


def play_best(session: GameSearch) -> int:
    line = best_lines(session.forest, 0, 1)[0]
    session.play(int(actions_to_moves(session.position[None], [line.actions[0]])[0]))
    return line.visits


@pytest.mark.parametrize("lanes", [1, 5])
def test_a_search_is_that_of_a_batch(lanes: int) -> None:
    session, position = new_session(lanes), from_board(chess.Board(KIWIPETE))
    session.set_up(position)
    search(session, 700)
    backend = MaterialBackend(lanes)
    batch = BatchSearch(TreeConfig(search="puct", sims=700), backend, 1, lanes=lanes)
    found = batch.run(position[None])
    edges = session.root_edges
    assert session.visits == found.visits[0] == 700
    assert edges["visits"].tolist() == found.edge_visits.tolist()
    assert session.decision == found.action[0]


def test_fewer_lanes_than_there_could_be() -> None:
    visits = []
    for most in (2, 32):
        session = new_session(most)
        session.set_up(from_board(chess.Board(KIWIPETE)))
        for _ in range(2):
            session.forget()
            search(session, 300, lanes=2)
            visits.append(session.root_edges["visits"].tolist())
    assert visits[0] == visits[1] == visits[2] == visits[3]


def test_what_is_kept_counts_and_the_rest_is_given_back() -> None:
    session = new_session()
    session.set_up(from_board(chess.Board()))
    lost = []
    for _ in range(30):
        search(session, 2000)
        kept = play_best(session) - 1  # the first visit of a move is its own answer
        lost.append(kept - session.visits)
    assert min(lost) == 0
    assert lost.count(0) > 25, "draws that are none any more are taken out (decision 57), no more"
    touched = session.forest.bytes_touched
    for _ in range(30):
        search(session, 2000)
        play_best(session)
    assert session.forest.bytes_touched <= 2 * touched


def test_moves_that_were_not_searched_begin_anew() -> None:
    session = new_session()
    session.set_up(from_board(chess.Board()))
    search(session, 5)
    seen = {line.actions[0] for line in best_lines(session.forest, 0, MAX_MOVES)}
    actions = word_actions(session.root_edges["word"])
    other = next(int(action) for action in actions if int(action) not in seen)
    session.play(int(actions_to_moves(session.position[None], [other])[0]))
    assert session.visits == 0
    search(session, 10)
    assert session.visits == 10


def test_a_root_with_some_moves_only() -> None:
    session = new_session()
    session.set_up(from_board(chess.Board(KIWIPETE)))
    search(session, 50)
    chosen = word_actions(session.root_edges["word"])[[3, 7, 11]].tolist()
    search(session, 200, actions=chosen)
    words = session.root_edges["word"]
    assert sorted(word_actions(words)) == sorted(chosen)
    assert word_priors(words).sum() == pytest.approx(1.0, abs=1e-3)
    assert session.root_edges["visits"].sum() == session.visits == 200


def test_priors_are_encoded_as_by_the_kernel() -> None:
    priors = np.maximum(np.random.default_rng(0).random(1000) ** 8, 2.0**-31)
    actions = np.arange(1000, dtype=np.uint16)
    words = pack_words(priors, actions)
    assert np.abs(word_priors(words) / priors - 1).max() <= 2**-11
    assert pack_words(word_priors(words), actions).tolist() == words.tolist()
    assert word_actions(words).tolist() == actions.tolist()
    assert pack_words(np.zeros(1), actions[:1]).tolist() == [1 << 16]


def test_it_can_be_stopped_where_nothing_asks_the_network() -> None:
    """All moves of a dead position are draws: simulations without a question, any number."""
    session = new_session()
    session.set_up(from_board(chess.Board(DEAD)))
    session.begin(1 << 30)
    for _ in range(20):
        session.advance(session.compute())
    assert not session.is_over
    session.end()
    session.advance(session.compute())
    assert session.is_over


def test_it_ends_where_every_line_does() -> None:
    session = new_session()
    session.set_up(from_board(chess.Board(DEAD)))
    for _ in range(2):
        search(session, 1 << 30)
        assert not session.is_proven
    assert 2 * STALE < session.visits < 3 * STALE


def test_a_full_tree_ends_the_search() -> None:
    session = new_session(megabytes=1)
    session.set_up(from_board(chess.Board(KIWIPETE)))
    search(session, 1 << 30)
    assert session.fullness == pytest.approx(1.0, abs=0.02)
    search(session, 1 << 30)
    assert session.visits > 500


def test_clocks_beyond_the_fifty_moves() -> None:
    for clock in (99, 100, 101, 5000):
        session = new_session()
        session.set_up(from_board(chess.Board(f"7k/8/6K1/8/8/8/P7/R7 w - - {clock} 90")))
        search(session, 200)
        play_best(session)
        if chess.Board(f"7k/8/6K1/8/8/8/P7/R7 w - - {clock} 90").is_game_over():
            continue
        search(session, 50)
        assert session.visits >= 50 or session.is_proven


def test_repeated_positions_before_are_marked() -> None:
    """A pawn move, and a FEN's clock, begin another history."""
    session, marks = new_session(), []
    session.set_up(from_board(chess.Board("7k/8/8/8/8/8/4P3/R3K3 w - - 3 9")))
    before, after = "a1a2 h8g8 a2a1 g8h8 a1a2 h8g8", "g8h8 a2a1 h8g8 a1a2 g8h8 a2a1 h8g8"
    for uci in f"{before} e2e4 {after}".split():
        session.play(uci_to_move(session.position, uci))
        marked = session.past[..., COUNTERS] >> np.uint64(REPEATED_SHIFT) & np.uint64(1)
        marks.append(int(marked.sum()))
    assert marks == [0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 4, 4, 4]


def test_gumbel_decides_the_same_again() -> None:
    """Its moves are drawn anew; those of a tree that is there already have an order."""
    session = new_session(config=TreeConfig(search="gumbel", sims=128))
    fen = "r3b1nr/pBp1b2p/1k6/1p1p2pQ/1PPNp3/1n3P1P/P1NP2q1/3K2RR w - - 4 31"
    session.set_up(from_board(chess.Board(fen)))
    decided = []
    for _ in range(2):
        search(session, 128)
        edges = session.root_edges
        opened = edges[edges["child"] >= 0]
        nodes = session.forest.nodes[opened["child"]]
        assert nodes["visits"].tolist() == opened["visits"].tolist()
        decided.append((session.decision, session.visits, edges["visits"].tolist()))
    assert decided[0] == decided[1]
