"""A session as a GUI sees it: searches, their ends, and what is said at other times."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import chess
import pytest

from tests.nets import FOUR_STEPS
from tests.uci.talk import Talk, facts, stockfish
from vecchess.chess.perft import perft
from vecchess.config import UciConfig
from vecchess.search.game_search import GameSearch
from vecchess.uci.engine_state import EngineState
from vecchess.uci.go_command import limit_of
from vecchess.uci.tasks import BENCH_FENS

SCHOLAR = "r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4"
MATE_IN_2 = "7k/8/8/8/8/8/R7/1R5K w - - 0 1"
MATED = "startpos moves f2f3 e7e5 g2g4 d8h4"
STALEMATE = "fen 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"
DEAD = "fen 7k/8/6K1/8/8/8/8/8 w - - 0 1"
FIFTY = "fen 7k/8/6K1/8/8/8/8/R7 w - - 120 90"
SHUFFLE = "startpos moves g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8"


@pytest.fixture(scope="module")
def open_talk() -> Iterator[Talk]:
    with Talk() as talk:
        yield talk


@pytest.fixture
def talk(open_talk: Talk) -> Talk:
    """A session in which nothing is set."""
    for name, value in (
        ("MultiPV", "1"), ("UCI_ShowWDL", "false"), ("UCI_Chess960", "false"), ("Search", "puct"),
        ("UCI_LimitStrength", "false"), ("ScoreType", "centipawn"), ("DrawScore", "0"),
        ("SyzygyPath", "<empty>"), ("WeightsFile", "material"), ("Hash", "16"),
        ("UCI_AnalyseMode", "false"), ("CPuct", str(UciConfig().c_puct)), ("MinibatchSize", "0"),
    ):  # fmt: skip
        open_talk.send(f"setoption name {name} value {value}")
    open_talk.send("stop", "debug off", "ucinewgame", "position startpos")
    open_talk.ready()
    return open_talk


def last_info(lines: list[str]) -> dict[str, str]:
    return facts([line for line in lines if line.startswith("info depth")][-1])


def test_who_it_is(talk: Talk) -> None:
    lines = talk.ask("uci", until="uciok")
    assert lines[0].startswith("id name vecchess ")
    assert lines[1].startswith("id author ")
    assert sum(line.startswith("option name ") for line in lines) == 26


@pytest.mark.parametrize(("one", "other"), [("NbkqbqRq", "RN1rnknb"), ("RN1rnknb", "NbkqbqRq")])
def test_positions_that_once_shared_a_key(talk: Talk, one: str, other: str) -> None:
    """The cache then had the moves of the first for the second: a move of the opponent's knight,
    or the end of the process."""
    for rank in (one, other):
        fen = f"{rank}/8/8/8/8/8/PP6/4K3 w - - 0 1"
        best = talk.best(f"position fen {fen}", "go nodes 50")
        assert chess.Move.from_uci(best) in chess.Board(fen).legal_moves


def test_a_move_that_loses_is_not_played_where_others_were_not_tried(talk: Talk) -> None:
    fen = "4r3/7k/R5pp/8/8/8/5PPP/7K w - - 0 1"  # Black threatens mate on e1
    talk.send("setoption name WeightsFile value constant")
    lines = talk.ask(f"position fen {fen}", "go nodes 1")
    best = lines[-1].split()[1]
    board = chess.Board(fen)
    board.push_uci(best)
    assert not any(board.is_checkmate() for _ in after_each_move(board)), best


def after_each_move(board: chess.Board) -> Iterator[None]:
    """``board`` after each legal move in turn."""
    for move in list(board.legal_moves):
        board.push(move)
        yield
        board.pop()


def test_nodes_are_simulations(talk: Talk) -> None:
    lines = talk.ask("go nodes 500")
    info = last_info(lines)
    assert int(info["nodes"]) == 500
    assert set(info) == {
        "depth", "seldepth", "multipv", "score", "nodes", "nps", "hashfull", "tbhits", "time", "pv",
    }  # fmt: skip
    assert int(info["seldepth"]) >= int(info["depth"]) >= 2
    assert lines[-1].split()[1] == info["pv"].split()[0]
    assert lines[-1].split()[3] == info["pv"].split()[1]


def test_the_same_again_from_the_beginning(talk: Talk) -> None:
    def search() -> tuple[str, str]:
        talk.send("ucinewgame")
        lines = talk.ask(f"position fen {BENCH_FENS[5]}", "go nodes 3000")
        return last_info(lines)["pv"], last_info(lines)["score"]

    assert search() == search()


def test_a_tree_is_kept_from_move_to_move(talk: Talk) -> None:
    first = talk.ask("position startpos moves e2e4", "go nodes 3000")
    move, reply = first[-1].split()[1::2]
    kept = last_info(talk.ask(f"position startpos moves e2e4 {move} {reply}", "go nodes 1"))
    assert int(kept["nodes"]) > 1, "what was searched of the expected reply is still there"
    again = last_info(talk.ask("go nodes 1"))
    assert again["nodes"] == kept["nodes"]
    other = last_info(talk.ask("position startpos moves d2d4", "go nodes 1"))
    assert int(other["nodes"]) == 1
    talk.ask("position startpos moves e2e4", "go nodes 3000")
    talk.send("setoption name Clear Hash")
    cleared = last_info(talk.ask(f"position startpos moves e2e4 {move} {reply}", "go nodes 1"))
    assert int(cleared["nodes"]) == 1


def test_several_lines_with_their_shares(talk: Talk) -> None:
    talk.send("setoption name MultiPV value 4", "setoption name UCI_ShowWDL value true")
    lines = talk.ask(f"position fen {BENCH_FENS[1]}", "go nodes 2000")
    infos = [facts(line) for line in lines if line.startswith("info depth")][-4:]
    assert [info["multipv"] for info in infos] == ["1", "2", "3", "4"]
    assert len({info["pv"].split()[0] for info in infos}) == 4
    for info in infos:
        assert sum(int(word) for word in info["wdl"].split()) == 1000


def test_mates_are_found_and_end_the_search(talk: Talk) -> None:
    lines = talk.ask(f"position fen {SCHOLAR}", "go depth 50")
    assert last_info(lines)["score"] == "mate 1"
    assert lines[-1] == "bestmove h5f7"
    lines = talk.ask(f"position fen {MATE_IN_2}", "go mate 2")
    assert last_info(lines)["score"] == "mate 2"
    lines = talk.ask("position startpos moves f2f3 e7e5 g2g4", "go nodes 10 movetime 100000")
    assert lines[-1] == "bestmove d8h4"


def test_a_depth_that_is_never_reached(talk: Talk) -> None:
    assert int(last_info(talk.ask(f"position {DEAD}", "go depth 9"))["depth"]) == 1


def test_depth_ends_a_search(talk: Talk) -> None:
    info = last_info(talk.ask("go depth 3"))
    assert int(info["depth"]) >= 3


@pytest.mark.parametrize(
    ("position", "score"), [(MATED, "mate 0"), (STALEMATE, "cp 0")], ids=["mate", "stalemate"]
)
def test_without_a_move_there_is_none(talk: Talk, position: str, score: str) -> None:
    assert talk.ask(f"position {position}", "go nodes 10") == [
        f"info depth 0 score {score}",
        "bestmove (none)",
    ]
    after = len(talk.said)
    talk.send("go infinite")
    talk.ask("d", until="Checkers")
    sleep(0.05)
    assert not any(line.startswith("bestmove") for line in talk.said[after:])
    assert talk.best("stop") == "(none)"
    assert talk.ask("eval", until="Final")[-1] == "Final evaluation: none (game over)"
    assert talk.ask("go perft 3", until="Nodes")[-1] == "Nodes searched: 0"


@pytest.mark.stockfish
@pytest.mark.parametrize(
    ("lines", "last"),
    [
        ((f"position {MATED}", "go depth 3"), "bestmove"),
        ((f"position {STALEMATE}", "go depth 3"), "bestmove"),
        (("position startpos", "go depth 3 searchmoves e2e5"), "bestmove"),
        (("foo bar",), "Unknown"),
        (("Go depth 3",), "Unknown"),
        (("setoption name Nope value 3",), "No such"),
        ((f"position {STALEMATE}", "go perft 2"), "Nodes searched"),
        (("position fen 8/8/8/8/8/5k2/8/6K1 w - - 0 1", "go perft 1"), "Nodes searched"),
    ],
)
def test_answers_are_those_of_stockfish(talk: Talk, lines: tuple[str, ...], last: str) -> None:
    theirs = [line for line in stockfish(*lines) if not line.startswith("info string")]
    ours = talk.ask(*lines, until=last)
    assert sorted(filter(None, ours)) == sorted(filter(None, theirs))


@pytest.mark.parametrize("position", [DEAD, FIFTY, SHUFFLE], ids=["dead", "fifty", "threefold"])
@pytest.mark.parametrize("limit", ["nodes 300", "movetime 40", "infinite"])
def test_a_draw_that_nobody_claimed_is_played_on(talk: Talk, position: str, limit: str) -> None:
    after = len(talk.said)
    talk.send(f"position {position}", f"go {limit}")
    sleep(0.05)
    talk.send("stop")
    assert len(talk.until("bestmove", after)[-1].split()[1]) == 4


def test_searchmoves(talk: Talk) -> None:
    for _ in range(2):
        lines = talk.ask("go nodes 300 searchmoves a2a3 h2h3 e2e5")
        assert lines[-1].split()[1] in ("a2a3", "h2h3")
    talk.send("setoption name MultiPV value 5")
    lines = talk.ask("go searchmoves a2a3 h2h3 nodes 200")
    assert max(int(facts(line)["multipv"]) for line in lines if line.startswith("info dep")) == 2
    assert talk.best("go nodes 50 searchmoves e2e5") == "(none)"
    assert talk.best(f"position fen {SCHOLAR}", "go nodes 50 searchmoves h5h4") == "h5h4"
    lines = talk.ask(f"position fen {SCHOLAR}", "go nodes 50")
    assert last_info(lines)["score"] == "mate 1", "the whole root is there again"


def test_infinite_waits_for_stop_also_with_nothing_left_to_search(talk: Talk) -> None:
    after = len(talk.said)
    talk.send(f"position fen {SCHOLAR}", "go infinite")
    talk.until("info depth", after)
    assert talk.ready()[-1] == "readyok"
    assert not any(line.startswith("bestmove") for line in talk.said[after:])
    assert talk.best("stop") == "h5f7"


def test_ready_while_searching(talk: Talk) -> None:
    after = len(talk.said)
    talk.send("go infinite")
    for _ in range(5):
        talk.ready()
    assert not any(line.startswith("bestmove") for line in talk.said[after:])
    assert talk.best("stop") != "(none)"


def test_pondering_holds_the_move_until_it_is_wanted(talk: Talk) -> None:
    after = len(talk.said)
    talk.send("position startpos moves e2e4 e7e5", "go ponder wtime 100 btime 100")
    sleep(0.3)
    talk.ready()
    assert not any(line.startswith("bestmove") for line in talk.said[after:])
    assert talk.best("ponderhit") != "(none)"
    assert talk.best("go ponder nodes 20", "ponderhit") != "(none)"
    assert talk.best("go ponder wtime 60000 btime 60000", "stop") != "(none)"


def test_a_new_go_ends_the_search_before_it(talk: Talk) -> None:
    after = len(talk.said)
    talk.send("go infinite", "go infinite", "go nodes 20")
    talk.ready()
    talk.send("stop")
    talk.ready()
    sleep(0.01)
    talk.session.wait()
    assert sum(line.startswith("bestmove") for line in talk.said[after:]) == 3


def test_clocks_end_searches(talk: Talk) -> None:
    assert talk.best("go wtime 200 btime 200 winc 5 binc 5") != "(none)"
    assert talk.best("go wtime -20 btime 0") != "(none)"
    assert talk.best("go movetime 30") != "(none)"
    assert talk.best("go wtime 300 btime 1 movestogo 1") != "(none)"


def test_debug_tells_the_plan(talk: Talk) -> None:
    lines = talk.ask("debug on", "go movetime 100")
    assert any("optimum 0.070 most 0.070 s" in line for line in lines)


def test_perft_is_the_librarys(talk: Talk) -> None:
    talk.send("setoption name UCI_Chess960 value true")
    for fen in (BENCH_FENS[1], BENCH_FENS[8]):
        lines = talk.ask(f"position fen {fen}", "go perft 3", until="Nodes searched")
        leaves = {line.split(":")[0]: int(line.split(":")[1]) for line in lines if line[4:5] == ":"}
        board = chess.Board(fen, chess960=True)
        assert set(leaves) == {move.uci() for move in board.legal_moves}
        assert int(lines[-1].split()[-1]) == sum(leaves.values()) == perft(fen, 3)
    lines = talk.ask(f"position fen {BENCH_FENS[11]}", "go perft 6", until="Nodes searched")
    assert int(lines[-1].split()[-1]) == perft(BENCH_FENS[11], 6)


def test_perft_can_be_stopped(talk: Talk) -> None:
    talk.send("go perft 60")
    assert talk.ask("stop", until="Nodes searched")
    assert talk.ask("go perft 101", until="info string")[-1].endswith("down to 100, not 101")


def test_planned_searches(talk: Talk) -> None:
    talk.send("setoption name Search value gumbel")
    assert int(last_info(talk.ask("go nodes 64"))["nodes"]) == 64
    assert talk.best("go movetime 60") != "(none)"
    assert talk.best("go infinite", "stop") != "(none)"


def test_draws_can_be_worth_something(talk: Talk) -> None:
    def value() -> int:
        talk.send("setoption name ScoreType value Q", f"position {DEAD}")
        return int(last_info(talk.ask("go nodes 100"))["score"].split()[1])

    assert value() == 0
    talk.send("setoption name DrawScore value -0.5")
    assert value() == -5000
    talk.send("setoption name UCI_AnalyseMode value true")
    assert value() == 0


def test_tablebases(talk: Talk) -> None:
    folder = Path(__file__).parent.parent / "data" / "syzygy"
    talk.send(f"setoption name SyzygyPath value {folder}")
    lines = talk.ask("position fen k7/8/8/4n3/3KP3/8/8/8 w - - 0 1", "go nodes 200")
    assert int(last_info(lines)["tbhits"]) > 0
    assert lines[-1].startswith("bestmove d4e5")


def test_chess960_castling(talk: Talk) -> None:
    moves = "position fen 4k3/8/8/8/8/8/8/4K2R w K - 0 1"
    assert talk.best(moves, "go nodes 50 searchmoves e1g1") == "e1g1"
    talk.send("setoption name UCI_Chess960 value true")
    assert talk.best(moves, "go nodes 50 searchmoves e1g1") == "e1h1"


def test_less_strength_takes_fewer_simulations_and_draws_its_moves(talk: Talk) -> None:
    talk.send("setoption name UCI_LimitStrength value true")
    talk.send("setoption name UCI_Elo value 700")
    few = int(last_info(talk.ask("go nodes 100000"))["nodes"])
    talk.send("setoption name UCI_Elo value 900", "ucinewgame")
    more = int(last_info(talk.ask("go nodes 100000"))["nodes"])
    wanted = limit_of(UciConfig(net="material", limit_strength=True, elo=900))
    assert wanted
    assert (few, more) == (300, wanted.sims)
    talk.send("setoption name UCI_AnalyseMode value true", "ucinewgame")
    assert int(last_info(talk.ask("go nodes 1000"))["nodes"]) == 1000


@pytest.mark.parametrize("plies", [0, 1])
def test_less_strength_takes_nothing_from_a_stronger_search(talk: Talk, plies: int) -> None:
    """Whether the position that was analysed, or one below it, is played on."""
    best = talk.ask("position startpos", "go nodes 20000")[-1].split()[1]
    talk.send("setoption name UCI_LimitStrength value true", "setoption name UCI_Elo value 700")
    played = f" moves {best}" * plies
    found = last_info(talk.ask(f"position startpos{played}", "go nodes 100000"))
    assert int(found["nodes"]) == 300


def test_a_full_tree_ends_or_waits(talk: Talk) -> None:
    talk.send("setoption name MinibatchSize value 128")
    lines = talk.ask(f"position fen {BENCH_FENS[1]}", "go nodes 1000000")
    info = last_info(lines)
    assert info["hashfull"] == "1000"
    assert 5000 < int(info["nodes"]) < 1_000_000
    after = len(talk.said)
    talk.send("go infinite")
    talk.until("info depth", after)
    assert talk.best("stop") == lines[-1].split()[1]


def test_what_is_wrong_is_said_in_a_line(talk: Talk) -> None:
    def said(line: str) -> str:
        return talk.ask(line, "d", until="Checkers")[0]

    assert said("foo bar") == "Unknown command: 'foo bar'. Type help for more information."
    assert said("setoption name Nope value 3") == "No such option: Nope"
    assert said("setoption name Hash value abc").startswith("info string Hash takes a whole number")
    assert said("setoption").startswith("info string setoption")
    assert said("position").startswith("info string position")
    assert said("position fen 8/8 w").startswith("info string bad FEN")
    assert said("position startpos moves e2e4 e2e5").startswith("info string e2e5 (move 2)")
    assert said("debug").startswith("info string debug")
    assert said("bench x").startswith("info string bench")
    assert said("help").startswith("vecchess is a chess engine")
    assert said("register later") == ""
    assert said("stop") == said("ponderhit") == said("# a comment") == ""


def test_a_wrong_position_leaves_the_one_before(talk: Talk) -> None:
    talk.send("position startpos moves e2e4", "position fen 8/8/8/8/8/8/8/K7 w - - 0 1")
    assert "Fen: rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1" in talk.ask(
        "d", until="Checkers"
    )


def test_what_cannot_be_opened_is_taken_back(talk: Talk, tmp_path: Path) -> None:
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"not a network")
    for name, value in (
        ("WeightsFile", "/nowhere/net.safetensors"), ("WeightsFile", str(broken)),
        ("SyzygyPath", "/nowhere"), ("Hash", "1048576"),
    ):  # fmt: skip
        talk.send(f"setoption name {name} value {value}")
        lines = talk.ready()
        assert lines[0].startswith("info string error: "), (name, lines)
        assert lines[1:] == ["readyok"]
        assert talk.ready() == ["readyok"]
        assert talk.best("go nodes 10") != "(none)"


def test_evaluation(talk: Talk) -> None:
    lines = talk.ask("position startpos moves e2e4 d7d5 e4d5", "eval", until="Final evaluation")
    assert lines[1] == "Network material, 1 time step"
    assert lines[-1].startswith("Final evaluation +")
    assert lines[-1].endswith("(white side)")
    assert sum(line.startswith("Policy ") for line in lines) == 8


def signature(talk: Talk, sims: int) -> int:
    lines = talk.ask(f"bench {sims}", until="Nodes/second")
    return int(lines[-2].split()[-1])


def test_the_signature_is_one_of_the_search(talk: Talk) -> None:
    first = signature(talk, 100)
    assert first == 3066, "a change of the search says so in its message"
    talk.ask("go nodes 500")
    assert signature(talk, 100) == first
    talk.send("setoption name CPuct value 2.5")
    assert signature(talk, 100) != first


def test_a_network_gives_the_same_signature_with_any_threads() -> None:
    found, others = set(), set()
    for threads in (1, 2):
        with Talk(net=FOUR_STEPS, gpus="cpu", threads=threads) as talk:
            found.add(signature(talk, 3))
            talk.send("setoption name EarlyExit value false")
            others.add(signature(talk, 3))
            assert f"Network {FOUR_STEPS}, 4 time steps" in talk.ask("eval", until="Final")
            assert others == {signature(talk, 3)}
    assert len(found) == 1


def test_ready_after_a_search_means_that_new_options_are_loaded(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the network still computes for the search that was answered."""
    loaded, load, compute = list[str](), EngineState.load, GameSearch.compute
    again, asked = Event(), count(1)

    def slow_load(engine: EngineState, config: UciConfig) -> UciConfig:
        found = load(engine, config)
        loaded.append(config.net)
        return found

    def slow_compute(search: GameSearch) -> Any:
        if (number := next(asked)) == 3:
            again.set()
        if number < 6:  # the next network's first search is not slow
            sleep(0.3)
        return compute(search)

    talk.ready()
    monkeypatch.setattr(GameSearch, "compute", slow_compute)
    monkeypatch.setattr(EngineState, "load", slow_load)
    talk.send("go infinite")
    assert again.wait(60)
    assert talk.best("stop") != "(none)"
    talk.send("setoption name WeightsFile value constant")
    talk.ready()
    assert loaded[-1] == "constant"


def test_less_strength_draws_the_moves_of_planned_searches_too(talk: Talk) -> None:
    talk.send("setoption name Search value gumbel", "setoption name UCI_LimitStrength value true")
    talk.send("setoption name UCI_Elo value 700")
    found = {
        talk.best("ucinewgame", f"position startpos moves {moves}", "go nodes 64")
        for moves in ("a2a3", "a2a4", "h2h3", "h2h4", "b2b3", "g2g3", "c2c3", "d2d3")
    }
    assert len(found) > 1
