"""The letters of all docstrings, and the sizes that several packages share.

    B  positions in a batch        T  time steps of the network     N  tree nodes
    S  slots of the network        L  legal moves of a position     E  tree edges
    G  games                       P  input planes                  W  workers
    R  request rows                C  channels

The batch dimension comes first and is always there, but in the functions that kernels are made of
(``jit.inline``, ``part`` and ``paste``): they take the address of one item. A move is ``uint16``:
from | to << 6 | promotion << 12, squares a1 = 0 ... h8 = 63 as the mover sees the board (the mover
always plays up the board).
"""

NUM_SQUARES = 64
POSITION_WORDS = 8
"""A position is eight ``uint64`` words, one cache line; see ``chess/position.py``."""
MAX_MOVES = 218
"""The most legal moves any reachable chess position has; the capacity of L."""
NUM_MOVE_PLANES = 73
NUM_ACTIONS = NUM_MOVE_PLANES * NUM_SQUARES
"""AlphaZero's action code: plane * 64 + from-square, 4672 in all; see ``chess/action.py``."""
TARGET_UNIT = 65535
"""Probabilities of a policy target are stored as integers out of this."""
MAX_TIME_STEPS = 64
"""Most time steps T of a network."""
NUM_OUTCOMES = 3
"""Win, draw, loss, in this order, from the mover's point of view."""
