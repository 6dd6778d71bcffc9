"""A position of a game as a request to a network."""

from vecchess.analysis.parse_position import PlacedPosition
from vecchess.chess.action import moves_to_actions
from vecchess.chess.movegen import legal_moves
from vecchess.chess.planes import encode_planes
from vecchess.errors import ConfigError
from vecchess.inference.requests import Requests


def request_at(place: PlacedPosition, history: int) -> Requests:
    """R = 1 row: the request for a network that sees ``history`` positions.

    Raises ConfigError where the position has no legal move.
    """
    moves, num_moves = legal_moves(place.position)
    count = int(num_moves[0])
    if count == 0:
        raise ConfigError("a network cannot evaluate a position without a legal move")
    planes = encode_planes(place.position, place.repetitions, place.past, history)
    requests = Requests.empty(1, planes.shape[1])
    requests.planes[:] = planes
    requests.num_legal[0] = count
    requests.legal[0, :count] = moves_to_actions(moves[0, :count])
    return requests
