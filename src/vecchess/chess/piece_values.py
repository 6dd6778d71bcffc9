"""What men are worth, in pawns, by the planes they stand on: see ``planes.py``."""

import numpy as np

from vecchess.chess.planes import NUM_PLANES

MEN = (1, 3, 3, 5, 9, 0)
"""Pawn, knight, bishop, rook, queen, king."""

MATERIAL_WEIGHTS = np.zeros(NUM_PLANES, np.int32)
"""``int32[P]``: own men above 0, theirs below, planes of other things 0; mover's view."""
MATERIAL_WEIGHTS[:6] = MEN
MATERIAL_WEIGHTS[6:12] = np.negative(MEN)
MATERIAL_WEIGHTS.flags.writeable = False
