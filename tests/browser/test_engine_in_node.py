"""The engine of a page in node: its games, answers, searches, spikes and facts are the server's."""

import io
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chess
import chess.pgn
import numpy as np
import pytest

from tests.browser.engine import NodeEngine, played_run, require_engine, server_hash, settings
from tests.nets import TRAINED
from vecchess.analysis.parse_position import position_reached, request_at
from vecchess.config import TreeConfig, build
from vecchess.dash.play.parse_requests import PgnRequest
from vecchess.dash.play.play_game import (
    MOST_PLIES,
    game_facts,
    read_game,
    read_text,
    with_typed,
)
from vecchess.dash.play.service import game_as_pgn
from vecchess.errors import ConfigError
from vecchess.inference.engine import answer_all
from vecchess.inference.open_network import OpenNetwork, open_network
from vecchess.search.batch_search import BatchSearch
from vecchess.search.principal_variations import best_lines
from vecchess.uci.spikes import trace_spikes

Game = dict[str, Any]
STARTS = (
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "rnbq1bnr/pPpp1kpp/8/4p3/8/8/1PPPPPPP/RNBQKBNR w KQ - 1 5",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 b - - 3 40",
    "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
    "7k/4P3/5K2/8/8/8/8/8 w - - 0 1",
)


def random_games(count: int, seed: int, longest: int = 60) -> Iterator[Game]:
    """Games of random moves, none of them over."""
    rng = random.Random(seed)
    while count:
        start = rng.choice(STARTS)
        board = chess.Board(start, chess960=True)
        moves = []
        for _ in range(rng.randrange(longest)):
            legal = list(board.legal_moves)
            if not legal or board.is_game_over(claim_draw=True):
                break
            move = rng.choice(legal)
            moves.append(move.uci())
            board.push(move)
        if any(board.legal_moves) and not board.is_game_over(claim_draw=True):
            count -= 1
            yield {"start": start, "moves": moves}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> NodeEngine:
    require_engine()
    return NodeEngine(tmp_path_factory.mktemp("engine"))


@pytest.fixture(scope="module")
def network() -> OpenNetwork:
    return open_network(TRAINED, slots=1)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["policy", "gumbel", "puct"])
def test_games_are_those_of_the_server(node: NodeEngine, name: str) -> None:
    count = 24 if name == "policy" else 1
    seen = node.ask(name, "games", count=count)
    plies, digest = server_hash(settings(name), count)
    assert (seen["games"], seen["plies"]) == (count, plies)
    assert seen["sha256"] == digest


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("policy", 1000), ("gumbel", 100), ("puct", 40)])
def test_many_games_are_those_of_the_server(node: NodeEngine, name: str, count: int) -> None:
    seen = node.ask(name, "games", count=count)
    assert seen["sha256"] == server_hash(settings(name), count)[1]


def test_answers_have_the_same_sums(node: NodeEngine, network: OpenNetwork) -> None:
    games = list(random_games(60, 1))
    for game, seen in zip(games, node.all_of("policy", "sums", games=games), strict=True):
        request = request_at(position_reached(game["start"], game["moves"]), network.num_planes)
        answer_all(network.backend, request)
        count = int(request.num_legal[0])
        assert seen["legal"] == request.legal[0, :count].tolist()
        assert seen["policy"] == request.policy[0, :count].tolist()
        assert seen["wdl"] == request.wdl[0].tolist()
        assert seen["steps"] == request.steps[0]


@pytest.mark.parametrize("sims", [1, 16, 200])
def test_searches_find_the_same(node: NodeEngine, network: OpenNetwork, sims: int) -> None:
    games = list(random_games(6, sims))
    tree = build(TreeConfig, {"search": "puct", "sims": sims, "cache_mb": 0})
    ours = BatchSearch(tree, network.backend, 1, num_planes=network.num_planes)
    answers = node.all_of("policy", "search", games=games, sims=sims)
    for game, seen in zip(games, answers, strict=True):
        reached, tree = position_reached(game["start"], game["moves"]), np.zeros(1, np.int64)
        ours.begin(tree, reached.positions, reached.keys, reached.past)
        while not ours.is_idle:
            ours.step()
        results, found = ours.results(tree), best_lines(ours.forest, 0, 3)
        ours.free(tree)
        board = read_game(game["start"], game["moves"]).board
        white = board.turn
        move = chess.Move(seen["move"]["from"], seen["move"]["to"])
        action = int(results.action[0])
        assert action & 63 == move.from_square ^ (0 if white else 56)
        assert len(seen["lines"]) == len(found)
        for line, theirs in zip(found, seen["lines"], strict=True):
            win, loss = (line.estimate.win, line.estimate.loss)[:: 1 if white else -1]
            assert theirs["win"] == pytest.approx(win, abs=1e-12)
            assert theirs["loss"] == pytest.approx(loss, abs=1e-12)
            assert theirs["sims"] == results.visits[0]
            assert len(theirs["san"]) == min(len(line.actions), 12)
            assert theirs["mate"] == (line.mate if white or line.mate is None else -line.mate)


def test_spikes_values_and_first_choices_are_those_of_the_server(node: NodeEngine) -> None:
    games = list(random_games(5, 3))
    for game, seen in zip(games, node.all_of("policy", "trace", games=games), strict=True):
        words = ["fen", *game["start"].split(), "moves", *game["moves"]]
        server = trace_spikes(words, TRAINED)
        assert seen["steps"] == server["steps"]
        assert [move["san"] for move in seen["policy"]] == [m["san"] for m in server["policy"]]
        for mine, theirs in zip(seen["values"], server["values"], strict=True):
            assert mine == pytest.approx(theirs, abs=1e-4)
        spiking = [layer for layer in server["layers"] if layer["name"] != "value.outcome"]
        for mine, theirs in zip(seen["layers"], spiking, strict=True):
            assert (mine["name"], mine["channels"]) == (theirs["name"], theirs["channels"])
            assert np.array_equal(mine["squares"], theirs["squares"]), mine["name"]


@pytest.mark.thorough
def test_facts_of_games_are_those_of_the_server(node: NodeEngine) -> None:
    games = list(random_games(40, 4, 120))
    mates = [
        {"start": chess.STARTING_FEN, "moves": ["f2f3", "e7e5", "g2g4", "d8h4"]},
        {"start": chess.STARTING_FEN, "moves": ["g1f3", "g8f6", "f3g1", "f6g8"] * 2},
        {"start": "7k/8/6Q1/8/8/8/8/K7 b - - 0 1", "moves": []},
        {"start": "7k/8/8/8/8/8/8/KB6 b - - 0 1", "moves": []},
        {"start": "7k/8/8/8/8/8/8/KR6 b - - 99 70", "moves": ["h8h7"]},
    ]
    games += mates
    for game, seen in zip(games, node.all_of("policy", "facts", games=games), strict=True):
        ours = game_facts(read_game(game["start"], game["moves"]))
        assert seen.pop("targets").keys() == ours.pop("targets").keys()
        assert seen == ours


def test_texts_are_read_and_written(node: NodeEngine) -> None:
    pgn = '[Event "a"]\n\n1. e4 {x} e5 (1... c5 2. Nf3) 2. Nf3 Nc6 3. Bb5 a6 4. O-O *\n'
    texts = [STARTS[1], pgn]
    seen = node.ask("policy", "read", texts=texts)
    for text, found in zip(texts, seen, strict=True):
        assert [ply["fen"] for ply in found["plies"]] == [
            ply["fen"] for ply in game_facts(read_text(text))["plies"]
        ]
    moves = [ply["uci"] for ply in seen[1]["plies"][1:]]
    game = {"start": "startpos", "moves": moves, "white": "You", "black": "it", "result": "*"}
    written = node.ask("policy", "pgn", game=game)
    assert "4. O-O *" in written
    assert '[White "You"]' in written
    starts = node.ask("policy", "chess960")
    assert [fen.split()[0] for fen in starts] == [
        chess.Board.from_chess960_pos(number).fen().split()[0] for number in range(960)
    ]


@pytest.mark.parametrize(
    "start", ["startpos", STARTS[1], STARTS[4], "4k3/8/8/8/8/8/8/4K2R w K - 0 1", STARTS[5] + " "]
)
def test_headers_of_a_pgn_are_those_of_the_server(node: NodeEngine, start: str) -> None:
    asked = {"start": start, "moves": [], "white": "You", "date": "2026.11.28", "result": "0-1"}
    ours = game_as_pgn(PgnRequest.model_validate(asked))["pgn"]
    theirs = node.ask("policy", "pgn", game=asked)
    assert headers_of(theirs) == headers_of(ours)


def headers_of(pgn: str) -> dict[str, str]:
    game = chess.pgn.read_game(io.StringIO(pgn))
    assert game is not None
    return dict(game.headers)


@pytest.mark.parametrize("typed", ["0-0", "0-0-0", "0-0+", "O-O", "e1g1", "o-o"])
def test_castling_is_typed_as_on_the_server(node: NodeEngine, typed: str) -> None:
    start = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    (seen,) = node.all_of("policy", "typed", games=[{"start": start, "typed": typed}])
    try:
        expected = with_typed(read_game(start, []), typed)
    except ConfigError as error:
        expected = [str(error)]
    assert seen == expected


def test_a_game_may_be_as_long_as_on_the_server(node: NodeEngine) -> None:
    moves = (["g1f3", "g8f6", "f3g1", "f6g8"] * MOST_PLIES)[:MOST_PLIES]
    games = [
        {"start": "startpos", "moves": moves},
        {"start": "startpos", "moves": [*moves, "e2e4"]},
    ]
    games += [{"start": "startpos", "moves": moves, "typed": "e4"}]
    seen = node.all_of("policy", "typed", games=games)
    assert seen[0] == moves
    assert all("1200 plies are the most" in refusal for (refusal,) in seen[1:])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "nothing to read"),
        ("1. e5", "cannot be read"),
        ("x", "neither a FEN nor a PGN"),
        ('[Variant "Crazyhouse"]\n\n1. e4 *', "Crazyhouse is not chess"),
        ('[Variant "Unheard of"]\n\n1. e4 *', "Unheard of is not chess"),
        ("8/8/8/8/8/8/8/8 w - - 0 1", "no game goes on"),
    ],
)
def test_what_is_no_game_is_refused(node: NodeEngine, text: str, said: str) -> None:
    assert said in node.ask("policy", "read", texts=[text])["error"]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["policy", pytest.param("gumbel", marks=pytest.mark.slow)])
def test_recorded_games_are_played_again(node: NodeEngine, name: str, tmp_path: Path) -> None:
    run = played_run(tmp_path, name, TRAINED)
    (shard,) = run.glob("games/*.npz")
    for file in (shard, run / "games.pgn"):
        seen = node.ask(name, "replay", path=str(file))
        assert seen["games"] == seen["done"] == seen["identical"] > 0, seen
    text = (run / "games.pgn").read_text()
    first = text.index("[%bits ") + len("[%bits ")
    comma = text.index(",", first) + 1
    forged = tmp_path / "forged.pgn"
    forged.write_text(text[:comma] + "1f" + text[text.index(",", comma) :])
    assert node.ask(name, "replay", path=str(forged))["differences"]
    other = "gumbel" if name == "policy" else "policy"
    assert "other rules" in node.ask(other, "replay", path=str(run / "games.pgn"))["error"]
