"""Suites of positions with known best moves: a game of one ply each."""

from pathlib import Path
from typing import Any

import numpy as np

from vecchess.arena.match_game import MatchGame
from vecchess.arena.player_protocol import Player
from vecchess.chess.fen import is_chess960
from vecchess.chess.game_arrays import Games
from vecchess.chess.uci_moves import move_to_uci
from vecchess.suites.epd import read_best_moves
from vecchess.suites.suite_result import Figure

MOVES, PUZZLES = "moves.epd", "puzzles.epd"
"""Files of positions that come with the package."""


class BestMoveSuite:
    """Counts the positions in which a player makes the best move; see ``run_suite.Suite``.

    Of players that give a value, ``value_error`` is its RMS error, of win - loss.
    """

    def __init__(self, file: Path | str, limit: int | None = None, skip_bad: bool = False) -> None:
        """The positions of an EPD file, or of one of the package, by its name.

        limit: so many of the first. A line that cannot be read raises ConfigError, or is left out
        and counted with ``skip_bad``.
        """
        place = Path(__file__).with_name(file) if isinstance(file, str) else file
        whole = read_best_moves(place, skip_bad)
        self.best_moves = whole.first(limit)
        """The positions and what is asked of them."""
        self.games = Games.at(self.best_moves.positions, max_plies=1)
        self.groups = self.best_moves.sources
        self.facts: dict[str, Any] = {"suite": Path(file).name, "sha256": whole.sha256}
        if whole.left_out:
            self.facts["left_out"] = whole.left_out

    def opponent(self, seed: int) -> Player | None:
        """None: each game is one move."""
        return None

    def is_hit(self, game: MatchGame) -> bool:
        """Whether its move is one of the best."""
        best, is_960 = self.best_moves.moves[game.number // 2], is_chess960(game.start)
        return len(game.moves) > 0 and move_to_uci(game.start, int(game.moves[0]), is_960) in best

    def figures(self, games: list[MatchGame]) -> dict[str, Figure]:
        """The errors of values."""
        scores = np.array([[*game.values, np.nan][0] for game in games])
        return {"value_error": Figure(2 * scores - 1 - self.best_moves.values, is_rms=True)}
