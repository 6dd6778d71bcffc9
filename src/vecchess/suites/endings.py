"""Won endings against a bare king, which defends itself as long as it can."""

from hashlib import sha256
from typing import Any

import chess
import numpy as np
from numpy.typing import NDArray

from vecchess.arena.match_game import MatchGame
from vecchess.arena.player_protocol import ImmediatePlayer, MoveRequests, Player
from vecchess.arena.players.simple import best_by_children
from vecchess.chess.fen import from_board
from vecchess.chess.game_arrays import Games
from vecchess.chess.position import DIAGONAL, KINGS, KNIGHTS, ORTHOGONAL, OWN, PAWNS, Positions
from vecchess.chess.rules import Termination
from vecchess.rng import random_word
from vecchess.suites.endgame_table import HOMES, NEVER, solve
from vecchess.suites.suite_result import Figure

ENDINGS = {"KQK": "Q", "KRK": "R", "KBBK": "BB", "KPK": "P"}
"""Name -> White's pieces beside its king."""
EACH = 200
"""Positions of an ending."""
MOST_PLIES = 100
"""Fifty moves; a pawn's move gives no more."""


class EndingSuite:
    """Counts the won endings that a player mates in within fifty moves; see ``run_suite.Suite``.

    White is to move and wins, from positions drawn among all such; the player has White. ``moves``
    is the mean until its mates, ``shortest`` that of perfect play in the same positions.
    """

    def __init__(self, limit: int | None = None) -> None:
        """limit: so many of the first positions of each ending."""
        num = min(limit or EACH, EACH)
        positions = [won_positions(pieces, num) for pieces in ENDINGS.values()]
        self.groups = [name for name in ENDINGS for _ in range(num)]
        self.games = Games.at(np.concatenate(positions), MOST_PLIES)
        self._shortest = moves_to_mate(self.games.begun)
        digest = sha256(self.games.begun.tobytes()).hexdigest()
        self.facts: dict[str, Any] = {"suite": "endings", "sha256": digest}

    def opponent(self, seed: int) -> Player | None:
        """The other side of the games (``Suite.opponent``)."""
        return LongestDefence(seed)

    def is_hit(self, game: MatchGame) -> bool:
        """Whether the game was won by mate."""
        return game.ending == Termination.CHECKMATE

    def figures(self, games: list[MatchGame]) -> dict[str, Figure]:
        """The moves that its mates took."""
        mated = np.array([self.is_hit(game) for game in games])
        moves = np.array([(len(game.moves) + 1) // 2 for game in games])
        figures = {"moves": moves, "shortest": self._shortest}
        return {name: Figure(np.where(mated, num, np.nan)) for name, num in figures.items()}


class LongestDefence(ImmediatePlayer):
    """Plays a bare king: draws if it can, else lives as long as it can; ties by the seed."""

    def __init__(self, seed: int = 0) -> None:
        """``seed`` chooses among equal moves."""
        super().__init__("longest defence")
        self._seed = seed

    def choose(self, requests: MoveRequests) -> NDArray[np.uint16]:
        """The move that lives longest, for each request: uint16[K]."""
        return best_by_children(requests, self._seed, moves_to_mate)


def moves_to_mate(positions: Positions) -> NDArray[np.int64]:
    """Moves until White, to move, mates a bare king: ``uint64[K, 8] -> int64[K]``.

    NEVER where it cannot, and for pieces that no table is of.
    """
    white, king = positions[:, OWN], positions[:, KINGS]
    pawns, diagonal, straight = (positions[:, word] for word in (PAWNS, DIAGONAL, ORTHOGONAL))
    of_kind = {
        "P": pawns, "B": diagonal & ~straight, "R": straight & ~diagonal, "Q": diagonal & straight
    }  # fmt: skip
    others = (pawns | diagonal | straight | positions[:, KNIGHTS]) & ~white == 0
    found = np.full(len(positions), NEVER)
    for pieces, homes in HOMES.items():
        is_it = others & (positions[:, KNIGHTS] == 0)
        for kind, places in of_kind.items():
            is_it &= np.bitwise_count(places) == pieces.count(kind)
        sets = [of_kind[kind] & np.uint64(home) for kind, home in zip(pieces, homes, strict=True)]
        for places in sets:
            is_it &= np.bitwise_count(places) == 1
        if is_it.any():
            squares = [_square(places[is_it]) for places in (king & white, *sets, king & ~white)]
            found[is_it] = solve(pieces).moves_to_mate(tuple(squares))
    return found


def won_positions(pieces: str, num: int) -> Positions:
    """``num`` different positions that White, to move, wins with ``pieces`` beside its king:
    uint64[num, 8], drawn among all of them and always the same."""
    won = solve(pieces).won[-1]
    boards: dict[int, NDArray[np.uint64]] = {}
    number, attempt = list(HOMES).index(pieces), 0
    while len(boards) < num:
        word = random_word(0, number, attempt)
        attempt += 1
        *white, bare = (word >> 6 * piece & 63 for piece in range(len(pieces) + 2))
        if int(won[tuple(white)]) >> bare & 1:
            kinds = [chess.KING, *(chess.PIECE_SYMBOLS.index(kind.lower()) for kind in pieces)]
            pieces_at = {s: chess.Piece(k, chess.WHITE) for s, k in zip(white, kinds, strict=True)}
            board = chess.Board(None)
            board.set_piece_map(pieces_at | {bare: chess.Piece(chess.KING, chess.BLACK)})
            boards[word & (1 << 6 * len(kinds) + 6) - 1] = from_board(board)
    return np.stack(list(boards.values()))


def _square(places: NDArray[np.uint64]) -> NDArray[np.int64]:
    """uint64[K] of one bit each -> int64[K]"""
    below: NDArray[np.uint8] = np.bitwise_count(places - np.uint64(1))
    return below.astype(np.int64)
