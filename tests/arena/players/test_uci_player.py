"""UCI engines as players: what they play, and what becomes of those that break the rules."""

import subprocess
import sys

import pytest

from vecchess.arena.match.play_match import MatchResult, NoPairFinished, play_match
from vecchess.arena.players.player_registry import PlayerResources, open_player
from vecchess.arena.players.simple import GreedyPlayer, RandomPlayer
from vecchess.config import MatchConfig
from vecchess.errors import ConfigError

ENGINE = """
import sys, time, chess

trick, board, moves, root = sys.argv[1], chess.Board(), 0, None
for line in sys.stdin:
    words = line.split()
    if not words:
        continue
    if words[0] == "uci":
        print("id name Tricky")
        print("option name Strength type spin default 1 min 0 max 9")
        print("uciok", flush=True)
    elif words[0] == "isready":
        print("readyok", flush=True)
    elif words[0] == "ucinewgame":
        root = None
        if trick == "preparing":
            time.sleep(0.4)
    elif words[0] == "position":
        at = words.index("moves") if "moves" in words else len(words)
        if trick == "whole" and root not in (None, words[1:at]):
            sys.exit(1)
        root = words[1:at]
        board = chess.Board() if words[1] == "startpos" else chess.Board(" ".join(words[2:at]))
        for move in words[at + 1:]:
            board.push_uci(move)
    elif words[0] == "go":
        moves += 1
        late = moves == 3
        if trick == "crash" and late:
            sys.exit(1)
        if trick == "hang" and late:
            time.sleep(1000)
        if trick == "slow" and late:
            time.sleep(0.4)
        best = sorted(move.uci() for move in board.legal_moves)[0]
        if trick == "illegal" and late:
            best = "e1e8"
        if trick == "nothing" and late:
            best = "(none)"
        print("info depth 1 nodes 7 score cp 50")
        print("bestmove " + best, flush=True)
    elif words[0] == "quit":
        break
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> str:
    program = tmp_path_factory.mktemp("engine") / "engine.py"
    program.write_text(ENGINE)
    return f"uci:{sys.executable} {program}"


def match(spelling: str, games: int = 2) -> MatchResult:
    player = open_player(spelling, resources=PlayerResources(processes=2))
    try:
        settings = MatchConfig(games=games, random_plies=4, max_plies=61)
        return play_match(player, RandomPlayer(), settings)
    finally:
        player.close()


def test_an_engine_plays_whole_games(engine: str) -> None:
    result = match(f"{engine} good?nodes=7")
    assert result.stopped_by == "games"
    assert result.counter.facts()["forfeits"] == []
    game = result.counter.games[0]
    own = slice(game.opening_plies, None, 2)  # the first player moves first in even games
    assert (game.visits[own] == 7).all()
    assert (game.values[own] > 0.5).all()
    assert game.visits[game.opening_plies + 1] == 0


@pytest.mark.parametrize(
    ("trick", "why"),
    [
        ("crash?nodes=7", "crash"),
        ("hang?nodes=7&timeout=0.2", "stall"),
        ("illegal?depth=1", "illegal_move"),
        ("nothing?depth=1", "illegal_move"),
        ("slow?tc=0.2+0", "time"),
    ],
)
def test_who_breaks_the_rules_has_lost(engine: str, trick: str, why: str) -> None:
    result = match(f"{engine} {trick}")
    assert result.score.losses == 2
    assert result.counter.facts()["forfeits"][0] == {"game": 0, "loser": "first", "why": why}
    assert result.counter.facts()["terminations"] == {why: 2}


@pytest.mark.parametrize("trick", ["whole?tc=9+0", "whole?movetime=50", "preparing?tc=0.2+1"])
def test_an_engine_on_a_clock_knows_its_game_and_may_prepare_for_it(
    engine: str, trick: str
) -> None:
    assert match(f"{engine} {trick}").counter.facts()["forfeits"] == []


@pytest.mark.parametrize(
    ("player", "part"),
    [
        ("uci:no-such-engine?nodes=1", 'there is no engine "no-such-engine"'),
        ("uci:{} good", "nothing limits its thinking: give nodes, depth, movetime, tc"),
        ("uci:{} good?nodes=0", "nodes must be at least 1"),
        ("uci:{} good?tc=x", '"x" is not BASE'),
        ("uci:{} good?tc=1&movetime=5", "two clocks"),
        ("uci:{} good?nodes=1&Strenth=3", 'has an option "Strenth"; did you mean "Strength"'),
        ("uci:{} good?nodes=1&Strength=99", "Strength"),
        ("uci:{} good?nodes=1&elo=1500", "cannot limit its strength"),
        ("uci:true?nodes=1", "does not answer as a UCI engine"),
        ("uci:'?nodes=1", "cannot be read as a command"),
    ],
)
def test_engines_that_will_not_do(engine: str, player: str, part: str) -> None:
    with pytest.raises(ConfigError, match=part) as raised:
        open_player(player.format(engine.removeprefix("uci:")))
    assert "\n" not in str(raised.value)


def processes_of(spelling: str) -> list[str]:
    command = spelling.removeprefix("uci:").partition("?")[0]
    found = subprocess.run(["ps", "-ww", "-eo", "args="], capture_output=True, text=True)
    return [line for line in found.stdout.splitlines() if line.strip() == command]


@pytest.mark.parametrize("trick", ["hang?nodes=7&timeout=30", "crash?nodes=7"])
def test_a_match_can_be_left_and_leaves_no_process(engine: str, trick: str) -> None:
    player = open_player(f"{engine} {trick}")
    assert len(processes_of(f"{engine} {trick}")) == 1
    with pytest.raises(NoPairFinished):
        play_match(player, RandomPlayer(), MatchConfig(games=2, random_plies=4), lambda _: True)
    player.close()
    assert processes_of(f"{engine} {trick}") == []


@pytest.mark.stockfish
def test_stockfish_repeats_its_games_at_fixed_nodes() -> None:
    """Whatever else it plays meanwhile: each game is new to it."""
    found = []
    for lanes, processes in ((4, 2), (1, 1)):
        player = open_player(
            "uci:stockfish?nodes=50&hash=1", resources=PlayerResources(lanes, processes=processes)
        )
        settings = MatchConfig(games=4, random_plies=4, concurrency=lanes)
        found.append(play_match(player, GreedyPlayer(), settings))
        player.close()
    games = [[game.moves.tolist() for game in result.counter.games] for result in found]
    assert games[0] == games[1]
    assert found[0].score.wins == 4


def test_a_number_that_comes_again_is_another_game(engine: str) -> None:
    """Another match numbers its games from 0 too."""
    player = open_player(f"{engine} good?depth=1")
    try:
        for seed in (1, 2):
            settings = MatchConfig(games=2, seed=seed, random_plies=4, max_plies=61)
            result = play_match(player, RandomPlayer(), settings)
            assert result.counter.facts()["forfeits"] == []
    finally:
        player.close()
