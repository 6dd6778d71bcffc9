"""The position to analyse, with the game that led to it; as a request to a network."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.chess960 import start_positions
from vecchess.chess.fen import from_fens
from vecchess.chess.history import Pasts, no_past, push_positions
from vecchess.chess.make import make
from vecchess.chess.position import Positions
from vecchess.chess.rules import KEY_HISTORY, Termination, note_position, terminations
from vecchess.chess.uci_moves import uci_to_move
from vecchess.errors import ConfigError
from vecchess.inference.requests import Requests

STARTPOS = "startpos"


class PlacedPosition(NamedTuple):
    """The present position of a game.

    position: uint64[1, 8]; keys: uint64[1, 102], its history of keys; past: uint64[1, 8, 8], the
    positions before it; repetitions: earlier occurrences of the position.
    """

    position: Positions
    keys: NDArray[np.uint64]
    past: Pasts
    repetitions: int


def position_reached(fen: str, moves: Sequence[str]) -> PlacedPosition:
    """The position after UCI moves, whether the game is over there or not.

    Raises ConfigError for a bad FEN and a move that is not legal.
    """
    position = start_positions(1) if fen == STARTPOS else from_fens([fen])
    keys, past = np.zeros((1, KEY_HISTORY), np.uint64), no_past(1)
    repetitions = note_position(position, keys)
    for number, uci in enumerate(moves, 1):
        try:
            move = uci_to_move(position[0], uci)
        except ConfigError as error:
            raise ConfigError(f"moves: {error} (number {number} of {len(moves)})") from None
        push_positions(position, past, np.zeros(1, np.int64), repetitions)
        position = make(position, [move])
        repetitions = note_position(position, keys)
    return PlacedPosition(position, keys, past, repetitions)


def position_after(fen: str, moves: Sequence[str]) -> tuple[Positions, NDArray[np.uint64], Pasts]:
    """The position after UCI moves, ``uint64[1, 8]``, its history of keys, ``uint64[1, 102]``, and
    the positions before it, ``uint64[1, 8, 8]``.

    Raises ConfigError for a bad FEN, a move that is not legal, a game that is over.
    """
    position, keys, past, repetitions = position_reached(fen, moves)
    over = Termination(int(terminations(position, repetitions)[0]))
    if over is not Termination.ONGOING:
        words = over.name.replace("_", " ").lower()
        raise ConfigError(f"there is nothing to search, the game is over: {words}")
    return position, keys, past


def request_at(place: PlacedPosition, num_planes: int) -> Requests:
    """R = 1 row: the request for a network with so many input planes.

    Raises ConfigError where the position has no legal move.
    """
    request = Requests.at(place.position, num_planes, place.past, place.repetitions)
    if not request.num_legal[0]:
        raise ConfigError("a network cannot evaluate a position without a legal move")
    return request
