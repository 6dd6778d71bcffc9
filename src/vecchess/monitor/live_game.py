"""One game as people see it: moves in UCI and SAN, and what was thought of each position."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LiveGame:
    """A game that is being played, or one that is recorded.

    Lists over plies speak of the position before the ply; ``win`` and ``draw`` are the mover's,
    out of 511, as recorded (``store/records.py``), and mean nothing where ``white_score`` is None.
    """

    number: int
    """In its run."""
    machine: int
    """Who plays it, or played it; 0 is the first."""
    worker: int | None
    """Index on that machine; None for recorded games, which do not say."""
    seat: int
    """Its place among those that the worker shows; -1 for recorded games."""
    start_fen: str
    fen: str
    """After the last move."""
    ucis: list[str]
    """Castling is king takes rook where ``chess960``, else a step of two."""
    sans: list[str]
    white_score: list[float | None]
    """White's expected score, 0 to 1; None where nobody judged the position."""
    win: list[int]
    draw: list[int]
    steps: list[int]
    """Time steps the network took; 0 where it was not asked."""
    visits: list[int]
    """Simulations of the search; 0 where there was none."""
    result: str
    """ "1-0", "0-1", "1/2-1/2", or "*" of a game that goes on."""
    termination: str
    """``chess.rules.Termination`` in lower case: "checkmate", "ongoing", ..."""
    is_live: bool
    net: str
    """Who chose the last moves: sha256 of a network, or the name of another judge."""
    chess960: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dict(vars(self))
