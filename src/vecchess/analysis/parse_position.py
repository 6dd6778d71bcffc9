"""The position to analyse, with the game that led to it; as a request to a network."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.chess960 import start_positions
from vecchess.chess.fen import from_fens
from vecchess.chess.game_arrays import Games
from vecchess.chess.history import Pasts
from vecchess.chess.position import Positions
from vecchess.chess.rules import Termination
from vecchess.chess.uci_moves import uci_to_move
from vecchess.errors import ConfigError
from vecchess.inference.requests import Requests

STARTPOS = "startpos"


def position_reached(fen: str, moves: Sequence[str]) -> Games:
    """One game at the position after UCI moves, whether it is over there or not.

    Raises ConfigError for a bad FEN and a move that is not legal.
    """
    start = start_positions(1) if fen == STARTPOS else from_fens([fen])
    game = Games.at(start, len(moves) + 1)
    for number, uci in enumerate(moves, 1):
        try:
            move = uci_to_move(game.positions[0], uci)
        except ConfigError as error:
            raise ConfigError(f"moves: {error} (number {number} of {len(moves)})") from None
        game.play(np.zeros(1, np.int64), np.array([move], np.uint16))
    return game


def position_after(fen: str, moves: Sequence[str]) -> tuple[Positions, NDArray[np.uint64], Pasts]:
    """The position after UCI moves, ``uint64[1, 8]``, its history of keys, ``uint64[1, 102]``, and
    the positions before it, ``uint64[1, 8, 8]``.

    Raises ConfigError for a bad FEN, a move that is not legal, a game that is over.
    """
    game = position_reached(fen, moves)
    over = Termination(int(game.codes[0]))
    if over is not Termination.ONGOING:
        words = over.name.replace("_", " ").lower()
        raise ConfigError(f"there is nothing to search, the game is over: {words}")
    return game.positions, game.keys, game.past


def request_at(game: Games, num_planes: int) -> Requests:
    """R = 1 row: the request for a network with so many input planes at the position of one game.

    Raises ConfigError where the position has no legal move.
    """
    request = Requests.at(game.positions, num_planes, game.past, game.repetitions)
    if not request.num_legal[0]:
        raise ConfigError("a network cannot evaluate a position without a legal move")
    return request
