"""What each player chooses in a position, alone and among others."""

import sys
from dataclasses import replace
from pathlib import Path

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.lc0.made import weight_file
from tests.nets import FOUR_STEPS
from tests.selfplay.test_swap_network import play
from vecchess.arena.match.game_scheduler import GameScheduler
from vecchess.arena.match.match_openings import random_openings
from vecchess.arena.player_protocol import MoveRequests, Player, choose_moves
from vecchess.arena.players.player_registry import PlayerResources, open_player
from vecchess.arena.players.simple import GreedyPlayer, material_balance
from vecchess.chess.action import moves_to_actions
from vecchess.chess.chess960 import start_positions
from vecchess.chess.fen import from_fens, to_fens
from vecchess.chess.game_arrays import Games
from vecchess.chess.planes import num_planes
from vecchess.chess.uci_moves import move_to_uci
from vecchess.config import GameConfig, SelfplayConfig, TreeConfig
from vecchess.errors import ConfigError, NetworkError
from vecchess.inference.backend_registry import open_backend
from vecchess.runtime.devices import CPU, Share
from vecchess.search.batch_search import BatchSearch
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.worker.setup import build_server
from vecchess.snn.create import InputSettings, create_network
from vecchess.snn.integer.net_file import load_net, save_net

WORTH = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9}


def balance_after(fen: str, uci: str) -> int:
    """Material of the side that moves minus theirs, after the move; 1000 for a mate."""
    board = chess.Board(fen)
    colour = board.turn
    board.push_uci(uci)
    if board.is_checkmate():
        return 1000
    return sum(
        worth * (len(board.pieces(kind, colour)) - len(board.pieces(kind, not colour)))
        for kind, worth in WORTH.items()
    )


def chosen(player: Player, fens: list[str], games: list[int] | None = None) -> list[str]:
    """What a player moves, asked about as many games at a time as it can do with."""
    numbers = np.array(games or range(len(fens)), np.int64)
    most = player.max_games or len(fens)
    moves: list[str] = []
    for first in range(0, len(fens), most):
        boards = Games.at(from_fens(fens[first : first + most]), 400)
        turns = MoveRequests.of(boards, boards.ongoing, numbers[first : first + most])
        found = choose_moves(player, turns).moves
        pairs = zip(boards.positions, found, strict=True)
        moves += [move_to_uci(position, move) for position, move in pairs]
    return moves


def open_with(text: str, seed: int = 0, max_games: int = 256) -> Player:
    return open_player(text, seed, PlayerResources(max_games))


def some_fens(plies: int, num: int = 40) -> list[str]:
    return to_fens(random_openings(num, plies, 5, 400).positions)


@pytest.mark.parametrize("plies", [3, 40, 81])
def test_greedy_takes_the_most(plies: int) -> None:
    fens = some_fens(plies)
    for fen, uci in zip(fens, chosen(GreedyPlayer(), fens), strict=True):
        board = chess.Board(fen)
        best = max(balance_after(fen, move.uci()) for move in board.legal_moves)
        assert balance_after(fen, uci) == best


def test_greedy_mates_rather_than_takes() -> None:
    fen = "6k1/5ppp/8/8/8/8/q7/R3R1K1 w - - 0 1"
    assert chosen(GreedyPlayer(), [fen]) == ["e1e8"]
    assert material_balance(from_fens(["4R1k1/5ppp/8/8/8/8/q7/R5K1 b - - 1 1"])).tolist() == [-1000]


def test_greedy_draws_among_what_is_alike() -> None:
    start = chess.STARTING_FEN
    moves = chosen(GreedyPlayer(), [start] * 400)
    assert set(moves) == {move.uci() for move in chess.Board().legal_moves}


def test_random_plays_every_move() -> None:
    moves = chosen(open_player("random"), [chess.STARTING_FEN] * 400)
    counts = [moves.count(move.uci()) for move in chess.Board().legal_moves]
    assert min(counts) > 4
    assert sum(counts) == 400


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("nets") / "net"
    save_net(create_network(FOUR_STEPS, 1), file)
    return str(file)


@pytest.fixture(scope="module")
def lc0_net(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("lc0") / "net.pb.gz"
    file.write_bytes(weight_file())
    return str(file)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "spelling",
    [
        "random",
        "greedy",
        "net:{}",
        "net:{}?temperature=1",
        "net:{}?T=2&exits=off",
        "minimax:2",
        "net:{}?search=gumbel&sims=4&temperature=1",
        "net:{}?search=puct&sims=4",
        "lc0:{lc0}",
        "lc0:{lc0}?temperature=1",
        "lc0:{lc0}?search=gumbel&sims=4",
        "lc0:{lc0}?search=puct&sims=4",
    ],
)
def test_a_choice_depends_on_the_game_alone(spelling: str, net: str, lc0_net: str) -> None:
    """Not on the other games, their order, how many are asked about at once, or earlier calls."""
    text, fens = spelling.format(net, lc0=lc0_net), some_fens(20, 24)
    player, other = open_with(text, 3, 24), open_with(text, 3, 5)
    moves = chosen(player, fens)
    for fen, move in zip(fens, moves, strict=True):
        assert chess.Board(fen).is_legal(chess.Move.from_uci(move))
    order = np.random.default_rng(0).permutation(24).tolist()
    mixed = chosen(other, [fens[game] for game in order], order)
    assert [mixed[order.index(game)] for game in range(24)] == moves
    assert chosen(player, fens) == moves
    assert player.name == text


def test_another_seed_makes_other_random_choices(net: str) -> None:
    fens = some_fens(20)
    for text in ("random", "greedy", f"net:{net}?temperature=1"):
        assert chosen(open_player(text, 1), fens) != chosen(open_player(text, 2), fens)


def test_a_policy_is_drawn_from_at_its_temperature(net: str) -> None:
    """Cold: nearly always the best move; hot: many others."""
    fens = [some_fens(12)[0]] * 200
    (best,) = set(chosen(open_player(f"net:{net}"), fens))
    cold = chosen(open_player(f"net:{net}?temperature=0.01"), fens)
    hot = chosen(open_player(f"net:{net}?temperature=2"), fens)
    assert cold.count(best) > 150 > hot.count(best)
    assert len(set(hot)) > 10


def test_steps_and_exits_are_those_asked_for(net: str) -> None:
    """What a network says after 2 steps is what it says when it has no more."""
    network = load_net(Path(net))
    short = replace(
        network, config=network.config.model_copy(update={"time_steps": 2}), exit_rule=None
    )
    file = Path(net).with_name("short")
    save_net(short, file)
    fens = some_fens(20)
    wanted = chosen(open_player(f"net:{file}?exits=off"), fens)
    assert chosen(open_player(f"net:{net}?T=2&exits=off"), fens) == wanted
    assert chosen(open_player(f"net:{net}?exits=off"), fens) != wanted


@pytest.fixture(scope="module")
def net_of_three(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A network that sees three positions."""
    file = tmp_path_factory.mktemp("nets") / "three"
    save_net(create_network(FOUR_STEPS, 1, InputSettings(history=3)), file)
    return str(file)


@pytest.mark.thorough
@pytest.mark.thorough
@pytest.mark.parametrize("temperature", ["0", "1", "0.7"])
@pytest.mark.parametrize("name", ["net", "net_of_three"])
def test_a_policy_plays_the_games_of_self_play(
    temperature: str, name: str, request: pytest.FixtureRequest
) -> None:
    """Number by number: the same seed, network and temperature draw the same moves."""
    net = request.getfixturevalue(name)
    config = SelfplayConfig(seed=3, game=GameConfig(max_plies=60, temperature=temperature))
    server = build_server(config, net, CPU, Share(8, 8, 1, 1), GameIdPool())
    server.start()
    records = play(server, 0, 8)
    server.close()
    player = open_player(f"net:{net}?temperature={temperature}", seed=3)
    table = GameScheduler((player, player), Games.at(start_positions(4), 60), range(8), 3)
    games = {game.number: game for ended in table.games() for game in ended}
    table.close()
    for number in range(8):
        plies = slice(records.offsets[number], records.offsets[number + 1])
        assert moves_to_actions(games[number].moves).tolist() == records.action[plies].tolist()
        assert games[number].ending == records.termination[number]


def test_a_search_sees_the_positions_before(net_of_three: str) -> None:
    text = f"net:{net_of_three}?search=puct&sims=6"
    boards = random_openings(12, 9, 5, 400)
    player, tree = open_with(text, 3, 12), TreeConfig(search="puct", sims=6)
    moves = choose_moves(player, MoveRequests.of(boards, boards.ongoing, boards.ongoing)).moves
    network = load_net(Path(net_of_three))
    search = BatchSearch(
        tree, open_backend("cpu", network, 12), 12, num_planes=num_planes(3, tactical=True)
    )
    game = {"seed": 3, "numbers": boards.ongoing, "plies": boards.plies}
    known = search.run(boards.positions, boards.keys, boards.past, **game)
    assert moves_to_actions(moves).tolist() == known.action.tolist()
    unknown = search.run(boards.positions, boards.keys, None, **game)
    assert not np.array_equal(known.edge_prior, unknown.edge_prior)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("gready", "there is no player 'gready': choose random, greedy, minimax:2, net:FILE"),
        ("net:tiny?sim=3", "unknown setting 'sim'; give temperature, T, exits, search, sims"),
        ("net:tiny?search=alphabeta", 'search must be "none", "gumbel" or "puct"'),
        ("net:tiny?search=puct&sims=0", "sims must be at least 1"),
        ("net:tiny?sims=5", "sims needs a search"),
        ("net:tiny?T=0", "T must be at least 1"),
        ("net:tiny?T=255", "time_steps must be at most 64"),
        ("net:tiny?exits=perhaps", "exits takes true or false"),
        ("net:tiny?T=4&T=3", "T is given twice"),
        ("net:tiny?search=puct&tree_mb=5", "unknown setting 'tree_mb'"),
        ("lc0:", "there is no player 'lc0:'"),
        ("lc0:x?T=2", "unknown setting 'T'; give temperature, search, sims"),
        ("lc0:x?sims=5", "sims needs a search"),
        ("minimax:", "plies from 1 to"),
        ("net:tiny?temperature=-1", "temperature must be at least 0"),
        ("net:tiny?search=gumbel&sims=16000000", "gumbel takes"),
    ],
)
def test_spellings_that_are_not_understood(text: str, part: str) -> None:
    with pytest.raises(ConfigError, match=part) as raised:
        open_player(text)
    assert "\n" not in str(raised.value)


def test_a_network_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match="no network file"):
        open_player(f"net:{tmp_path / 'none'}")
    with pytest.raises(NetworkError, match="none is not there"):
        open_player(f"lc0:{tmp_path / 'none'}")


def test_draws_of_choices_are_even() -> None:
    def shares(player: Player) -> NDArray[np.int64]:
        fens = [chess.STARTING_FEN] * 1000
        _, counts = np.unique(chosen(player, fens), return_counts=True)
        return counts

    counts = shares(open_player("net:constant?temperature=1"))
    assert len(counts) == 20
    assert counts.min() > 25


def test_a_function_of_the_user_makes_a_player(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "players_of_a_user.py").write_text(
        "from vecchess.arena.players.simple import RandomPlayer\n"
        "def make_player(seed, name='user'):\n"
        "    player = RandomPlayer(seed)\n"
        "    player.name = name\n"
        "    return player\n"
        "def make_nothing(seed): return None\n"
        "class Failing(RandomPlayer):\n"
        "    def choose(self, requests): raise SystemExit('no move')\n"
        "def make_failing(seed): return Failing(seed)\n"
    )
    player = open_player("players_of_a_user:make_player?name=own", seed=7)
    assert (player.name, player.seed) == ("own", 7)
    failing, place = open_player("players_of_a_user:make_failing"), r"\(players_of_a_user.py:8\)"
    with pytest.raises(ConfigError, match=f"replies fails: SystemExit: no move {place}"):
        chosen(failing, [chess.STARTING_FEN])
    with pytest.raises(ConfigError, match="makes no player: it has no name"):
        open_player("players_of_a_user:make_nothing")
    with pytest.raises(ConfigError, match=r"cannot be called so: .*depth"):
        open_player("players_of_a_user:make_player?depth=3")
    with pytest.raises(ConfigError, match="cannot import no_such_players"):
        open_player("no_such_players:make_player")
