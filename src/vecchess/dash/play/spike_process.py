"""A process that traces the spikes of networks: requests on stdin, answers on stdout, in lines.

    {"net": file, "start": FEN or "startpos", "moves": [UCI, ...]}
    {"seen": {...}} or {"error": "one line"}

It ends with stdin. torch is imported here, so that the server needs none.
"""

import json
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import chess
import numpy as np

from vecchess.errors import VecchessError

if TYPE_CHECKING:
    from vecchess.analysis.spike_trace import LayerSpikes, SpikeTrace, SpikeTracer
    from vecchess.inference.requests import Requests
    from vecchess.uci.uci_board import UciGame

KEPT_NETWORKS = 2
TOP_MOVES = 5
DIGITS = 4


def main() -> None:
    """Answer until stdin ends."""
    for line in sys.stdin:
        try:
            answer: dict[str, Any] = {"seen": observe(**json.loads(line))}
        except VecchessError as error:
            answer = {"error": " ".join(str(error).split())}
        except MemoryError:
            answer = {"error": "out of memory"}
        print(json.dumps(answer), flush=True)


def observe(net: str, start: str, moves: list[str]) -> dict[str, Any]:
    """Spikes, values and first choices of the network file ``net`` after ``moves``, plain values.

    Squares are the board's own, a1 = 0; values are White's. Raises ConfigError where there is no
    move to choose, NetworkError for a file that is none.
    """
    from vecchess.analysis.parse_position import position_reached
    from vecchess.analysis.request import request_at
    from vecchess.chess.planes import history_of
    from vecchess.dash.play.play_game import read_game

    observer, num_planes, neuron = _observer(net)
    game = read_game(start, moves)
    fen = game.start.shredder_fen(en_passant="fen")
    place = position_reached(fen, [move.uci() for move in game.moves])
    question = request_at(place, history_of(num_planes))
    seen = observer.look(question)
    return {
        "neuron": neuron,
        "time_steps": len(seen.wdl),
        "steps": seen.steps,
        "layers": [_layer(layer, game.board.turn) for layer in seen.layers],
        "values": [_value(values, game.board.turn) for values in seen.outlooks.tolist()],
        "policy": _top_moves(seen, question, game),
    }


@lru_cache(KEPT_NETWORKS)
def _observer(net: str) -> "tuple[SpikeTracer, int, str]":
    """The network file, its number of input planes and its kind of neuron."""
    from pathlib import Path

    import torch

    from vecchess.analysis.spike_trace import SpikeTracer
    from vecchess.snn.integer.net_file import load_net

    torch.set_num_threads(1)
    network = load_net(Path(net))
    return SpikeTracer(network), network.config.num_planes, network.config.neuron


def _layer(layer: "LayerSpikes", turn: chess.Color) -> dict[str, Any]:
    turned = np.arange(64) ^ (0 if turn else 56)
    return {
        "name": layer.name,
        "channels": layer.channels,
        "shares": [round(share, DIGITS) for share in layer.shares.tolist()],
        "squares": layer.counts[:, turned].tolist(),
    }


def _value(outlook: list[float], turn: chess.Color) -> dict[str, float]:
    win, draw, loss = outlook if turn else outlook[::-1]
    return {"win": round(win, DIGITS), "draw": round(draw, DIGITS), "loss": round(loss, DIGITS)}


def _top_moves(seen: "SpikeTrace", question: "Requests", game: "UciGame") -> list[dict[str, Any]]:
    """The likeliest moves at the time step at which the position exits."""
    from vecchess.chess.action import actions_to_moves
    from vecchess.chess.fen import from_board
    from vecchess.chess.uci_moves import to_chess_move

    shares = seen.policies[seen.steps - 1]
    best = np.argsort(-shares, kind="stable")[:TOP_MOVES]
    position = from_board(game.board)[None].repeat(len(best), 0)
    moves = actions_to_moves(position, question.legal[0, best])
    found = []
    for move, share in zip(moves.tolist(), shares[best].tolist(), strict=True):
        played = to_chess_move(game.board, move)
        found.append(
            {"uci": played.uci(), "san": game.board.san(played), "share": round(share, DIGITS)}
        )
    return found


if __name__ == "__main__":
    main()
