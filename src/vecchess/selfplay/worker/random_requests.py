"""Positions of random games as requests, to try a device with."""

import numpy as np

from vecchess.chess.action import moves_to_actions
from vecchess.chess.history import Pasts
from vecchess.chess.movegen import legal_moves
from vecchess.chess.planes import NUM_PLANES, encode_planes
from vecchess.chess.position import Positions
from vecchess.chess.sample import random_games
from vecchess.inference.requests import Requests


def random_requests(num: int, seed: int, num_planes: int = NUM_PLANES) -> Requests:
    """R = ``num`` rows, each from its own random game; the same for the same seed.

    ``num_planes``: the network's input planes.
    """
    return position_requests(*random_games(num, seed), num_planes)


def position_requests(
    positions: Positions, past: Pasts | None, num_planes: int = NUM_PLANES
) -> Requests:
    """A row for each of ``positions: uint64[R, 8]``, none of which occurred before.

    past: the positions before each; None: there are none.
    """
    moves, num_moves = legal_moves(positions)
    planes = encode_planes(positions, past=past, num_planes=num_planes)
    requests = Requests.empty(len(positions), planes.shape[1])
    requests.planes[:] = planes
    requests.num_legal[:] = num_moves
    listed = np.arange(moves.shape[1]) < num_moves[:, None]
    requests.legal[listed] = moves_to_actions(moves[listed])
    return requests
