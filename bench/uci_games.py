"""Games of ``vecchess uci`` under a clock that the referee keeps: nobody may overstep it.

    python bench/uci_games.py --games 200 --seconds 1 --increment 0.01 --at-a-time 2

The engine plays itself, or with ``--against stockfish --nodes 100`` a Stockfish that looks at so
many positions a move and has no clock. The referee's time is from the moment it sends a position to
the moment it has read the move, pipes and python-chess included. One JSON object on stdout.
"""

import argparse
import json
import random
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import monotonic

import chess
import chess.engine

MOST_PLIES = 400
RANDOM_PLIES = 6
TIMEOUT_S = 300.0


@dataclass
class Tally:
    """What happened. Times in s."""

    endings: Counter[str] = field(default_factory=Counter)
    results: Counter[str] = field(default_factory=Counter)
    plies: int = 0
    least_clock: float = float("inf")
    longest_move: float = 0.0
    losers: list[str] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Take another's figures in."""
        self.endings += other.endings
        self.results += other.results
        self.plies += other.plies
        self.least_clock = min(self.least_clock, other.least_clock)
        self.longest_move = max(self.longest_move, other.longest_move)
        self.losers += other.losers


@dataclass
class Player:
    """An engine, and the nodes of each of its moves; 0 for a clock."""

    engine: chess.engine.SimpleEngine
    nodes: int = 0


def opening(number: int) -> chess.Board:
    """A board after random moves: the same for games 2k and 2k + 1, which exchange colours."""
    chance = random.Random(number // 2)
    while True:
        board = chess.Board()
        for _ in range(RANDOM_PLIES):
            board.push(chance.choice(list(board.legal_moves)))
            if board.is_game_over():
                break
        else:
            return board


def play(number: int, players: list[Player], seconds: float, increment: float) -> Tally:
    """One game; the colours of ``players`` depend on its number."""
    board, tally, clocks = opening(number), Tally(), [seconds, seconds]
    sides = players if number % 2 == 0 else players[::-1]
    for player in sides:
        player.engine.ping()
    while board.outcome(claim_draw=True) is None and board.ply() < MOST_PLIES:
        side = 0 if board.turn == chess.WHITE else 1
        player = sides[side]
        start = monotonic()
        try:
            found = player.engine.play(
                board, limit(player, clocks, increment), game=number, info=chess.engine.INFO_BASIC
            )
        except chess.engine.EngineError as error:
            tally.endings[f"illegal: {error}"] += 1
            return tally
        taken = monotonic() - start
        if found.move is None or found.move not in board.legal_moves:
            tally.endings["illegal"] += 1
            tally.losers.append(board.fen())
            return tally
        if not player.nodes:
            tally.longest_move = max(tally.longest_move, taken)
            clocks[side] -= taken
            tally.least_clock = min(tally.least_clock, clocks[side])
            if clocks[side] < 0:
                tally.endings["time"] += 1
                known = found.info.get("time", 0.0)
                late = f"{board.fen()} took {taken:.3f} s, by the engine {known:.3f} s"
                print(late, file=sys.stderr, flush=True)
                tally.losers.append(late)
                return tally
            clocks[side] += increment
        board.push(found.move)
        tally.plies += 1
    outcome = board.outcome(claim_draw=True)
    tally.endings[outcome.termination.name.lower() if outcome else "plies"] += 1
    result = outcome.result() if outcome else "1/2-1/2"
    if players[1].nodes and number % 2:  # seen by the engine, not by White
        result = {"1-0": "0-1", "0-1": "1-0"}.get(result, result)
    tally.results[result] += 1
    return tally


def limit(player: Player, clocks: list[float], increment: float) -> chess.engine.Limit:
    """What a player is told."""
    if player.nodes:
        return chess.engine.Limit(nodes=player.nodes)
    return chess.engine.Limit(
        white_clock=clocks[0], black_clock=clocks[1], white_inc=increment, black_inc=increment
    )


def open_players(options: argparse.Namespace) -> list[Player]:
    """Two engines."""
    ours = [sys.executable, "-m", "vecchess_cli.main", "uci", *options.flags.split()]

    def start(command: list[str]) -> chess.engine.SimpleEngine:
        return chess.engine.SimpleEngine.popen_uci(command, timeout=TIMEOUT_S)

    first = Player(start(ours))
    if options.against:
        return [first, Player(start([options.against]), options.nodes)]
    return [first, Player(start(ours))]


def series(numbers: range, options: argparse.Namespace) -> Tally:
    """The games of one pair of engines, one after the other."""
    tally, players = Tally(), open_players(options)
    try:
        for number in numbers:
            tally.add(play(number, players, options.seconds, options.increment))
            done = sum(tally.endings.values())
            print(f"{done} of {len(numbers)}: {dict(tally.endings)}", file=sys.stderr, flush=True)
    finally:
        for player in players:
            player.engine.quit()
    return tally


def main() -> int:
    """Play, print, and return 3 where somebody overstepped the clock or played no legal move."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--increment", type=float, default=0.01)
    parser.add_argument("--at-a-time", type=int, default=1)
    parser.add_argument("--against", default="", help="another engine, without a clock")
    parser.add_argument("--nodes", type=int, default=100, help="of that engine")
    parser.add_argument("--flags", default="", help="of vecchess uci")
    options = parser.parse_args()
    shares = [range(first, options.games, options.at_a_time) for first in range(options.at_a_time)]
    tally, start = Tally(), monotonic()
    with ThreadPoolExecutor(options.at_a_time) as pool:
        for part in pool.map(lambda share: series(share, options), shares):
            tally.add(part)
    faults = sum(count for name, count in tally.endings.items() if name.startswith(("time", "ill")))
    facts = {
        "schema": 1,
        "games": sum(tally.endings.values()),
        "faults": faults,
        "endings": dict(tally.endings),
        "results": dict(tally.results),
        "plies": tally.plies,
        "least_clock_s": round(tally.least_clock, 3),
        "longest_move_s": round(tally.longest_move, 3),
        "seconds": round(monotonic() - start, 1),
        "lost": tally.losers,
    }
    print(json.dumps(facts))
    return 3 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
