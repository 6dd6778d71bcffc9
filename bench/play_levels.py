"""Games between two ratings of the page "Play", through the requests that the page itself sends.

    python -m bench.play_levels --games 40 --weak 900 --strong 2050

Games 2k and 2k + 1 begin after the same six random moves, with colours exchanged. The page chooses
no seed, so another run plays other games. One JSON object on stdout: the weak player's score, and
the simulations a move of each rating in ``--asked`` at the initial position and during the games.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import chess
import numpy as np
from bench.dash_client import PROGRAM
from bench.uci_games import opening
from tests.dash.serving import dashboard

from vecchess.arena.ratings.score import Score

NETWORK = "default"
MOST_PLIES = 400
TIMEOUT_S = 300.0


def main() -> None:
    """Play, and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=40)
    parser.add_argument("--weak", type=int, default=900)
    parser.add_argument("--strong", type=int, default=2050)
    parser.add_argument("--asked", type=int, nargs="*", default=[900, 1500, 2050])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"  # a dashboard needs one
        flags = ["--games", "1", "--max-plies", "4", "--net", "material", "--gpus", "cpu"]
        subprocess.run([*PROGRAM, "selfplay", "--run-dir", run, *flags, "--quiet"], check=True)
        with dashboard(run) as (url, _):
            page = Page(url)
            first = {elo: page.move("startpos", [], elo)[1] for elo in asked.asked}
            results = [
                page.game(opening(number).fen(), (asked.weak, asked.strong)[:: 1 - number % 2 * 2])
                for number in range(asked.games)
            ]
    print(json.dumps(summary(results, asked.weak, first, page.sims)))


class Page:
    """A client of the page's requests."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.sims: dict[int, list[int]] = defaultdict(list)
        """Simulations of each move, by rating."""

    def move(self, start: str, moves: list[str], elo: int) -> tuple[dict[str, Any], int]:
        """The game after the move of an opponent of that rating, and its simulations."""
        body = {"network": NETWORK, "start": start, "moves": moves, "sims": 0, "elo": elo}
        request = Request(
            f"{self._url}/api/play/move",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urlopen(request, timeout=TIMEOUT_S) as answer:
            events = [json.loads(line[6:]) for line in answer if line.startswith(b"data: ")]
        if "game" not in events[-1]:
            raise SystemExit(f"no move at {elo}: {events[-1]}")
        return events[-1]["game"], (events[-1]["line"] or {"sims": 0})["sims"]

    def game(self, start: str, players: tuple[int, int]) -> dict[str, Any]:
        """A game of two ratings, White's first, until the page says that it is over."""
        moves: list[str] = []
        side = int(chess.Board(start).turn == chess.BLACK)
        outcome = None
        while outcome is None and len(moves) < MOST_PLIES:
            elo = players[(side + len(moves)) % 2]
            game, sims = self.move(start, moves, elo)
            self.sims[elo].append(sims)
            moves = [ply["uci"] for ply in game["plies"][1:]]
            outcome = game["outcome"]
        result = outcome["result"] if outcome else "1/2-1/2"
        print(f"{players[0]} - {players[1]}: {result}, {len(moves)} plies", file=sys.stderr)
        return {"white": players[0], "result": result, "plies": len(moves)}


def summary(
    games: list[dict[str, Any]], weak: int, first: dict[int, int], sims: dict[int, list[int]]
) -> dict[str, Any]:
    """The figures, for JSON."""
    won = ("1-0" if game["white"] == weak else "0-1" for game in games)
    points = [
        0.5 if game["result"] == "1/2-1/2" else float(game["result"] == win)
        for game, win in zip(games, won, strict=True)
    ]
    return {
        "schema": 1,
        "weak": Score.of(np.array(points)).to_dict(),
        "first_move_sims": first,
        "sims_a_move": {
            elo: {"least": min(all_), "median": statistics.median(all_), "most": max(all_)}
            for elo, all_ in sorted(sims.items())
        },
        "mean_plies": statistics.mean(game["plies"] for game in games),
    }


if __name__ == "__main__":
    main()
