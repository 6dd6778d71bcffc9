"""Positions of random games as requests, to try a device with."""

from vecchess.chess.planes import NUM_PLANES
from vecchess.chess.sample import random_games
from vecchess.inference.requests import Requests


def random_requests(num: int, seed: int, num_planes: int = NUM_PLANES) -> Requests:
    """R = ``num`` rows, each from its own random game; the same for the same seed.

    ``num_planes``: the network's input planes.
    """
    positions, past = random_games(num, seed)
    return Requests.at(positions, num_planes, past)
