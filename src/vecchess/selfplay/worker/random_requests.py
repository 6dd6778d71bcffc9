"""Positions of random games as requests, to try a device with."""

import numpy as np

from vecchess.chess.action import moves_to_actions
from vecchess.chess.movegen import legal_moves
from vecchess.chess.planes import NUM_PLANES, encode_planes
from vecchess.chess.sample import random_games
from vecchess.inference.requests import Requests


def random_requests(num: int, seed: int, num_planes: int = NUM_PLANES) -> Requests:
    """R = ``num`` rows, each from its own random game; the same for the same seed.

    ``num_planes``: the network's input planes.
    """
    positions, past = random_games(num, seed)
    moves, num_moves = legal_moves(positions)
    planes = encode_planes(positions, past=past, num_planes=num_planes)
    requests = Requests.empty(num, planes.shape[1])
    requests.planes[:] = planes
    requests.num_legal[:] = num_moves
    listed = np.arange(moves.shape[1]) < num_moves[:, None]
    requests.legal[listed] = moves_to_actions(moves[listed])
    return requests
