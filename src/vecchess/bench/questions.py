"""Real positions as questions: what the inference benchmark and the exit patterns ask."""

import numpy as np

from vecchess.chess.action import moves_to_actions
from vecchess.chess.movegen import legal_moves
from vecchess.chess.planes import NUM_PLANES, encode_planes
from vecchess.chess.sample import random_positions
from vecchess.inference.requests import Requests


def real_questions(num: int, seed: int) -> Requests:
    """R = ``num`` rows of positions from random games, each from its own game; answers are 0."""
    positions = random_positions(num, seed)
    moves, num_moves = legal_moves(positions)
    requests = Requests.empty(num, NUM_PLANES)
    requests.planes[:] = encode_planes(positions)
    requests.num_legal[:] = num_moves
    for row, count in enumerate(num_moves):
        requests.legal[row, :count] = moves_to_actions(moves[row, :count])
    return requests


def unanswered(questions: Requests, num: int | None = None) -> Requests:
    """The first ``num`` rows (all by default) as a copy, without answers."""
    rows = slice(num)
    return Requests(
        planes=questions.planes[rows].copy(),
        legal=questions.legal[rows].copy(),
        num_legal=questions.num_legal[rows].copy(),
        policy=np.zeros_like(questions.policy[rows]),
        wdl=np.zeros_like(questions.wdl[rows]),
        steps=np.zeros_like(questions.steps[rows]),
    )
