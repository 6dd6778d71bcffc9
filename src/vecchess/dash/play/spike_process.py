"""A process that traces the spikes of networks: requests on stdin, answers on stdout, in lines.

    {"kind": "trace", "net": file, "start": FEN or "startpos", "moves": [UCI, ...]}
    {"kind": "seen", "seen": {...}} or {"kind": "error", "line": "..."}

The first line says "ready": then the kernels are compiled. It ends with stdin. torch is imported
here, so that the server needs none.

Decision 170.
"""

import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import chess
import numpy as np
import torch

from vecchess.analysis.parse_position import STARTPOS, position_reached, request_at
from vecchess.analysis.spike_trace import LayerSpikes, SpikeTrace, SpikeTracer
from vecchess.chess.planes import NUM_PLANES
from vecchess.chess.uci_moves import action_to_chess_move
from vecchess.dash.play.play_game import read_game
from vecchess.errors import VecchessError
from vecchess.inference.requests import Requests
from vecchess.runtime.json_pipe import decode_message, encode_message
from vecchess.snn.integer.net_file import load_net

KEPT_NETWORKS = 2
TOP_MOVES = 5
DIGITS = 4


def main() -> None:
    """Answer until stdin ends."""
    torch.set_num_threads(1)
    request_at(position_reached(STARTPOS, ["e2e4"]), NUM_PLANES)  # compiles
    _send("ready")
    for line in sys.stdin.buffer:
        request = decode_message(line)
        try:
            _send("seen", seen=observe(request["net"], request["start"], request["moves"]))
        except VecchessError as error:
            _send("error", line=" ".join(str(error).split()))
        except MemoryError:
            _send("error", line="out of memory")


def observe(net: str, start: str, moves: list[str]) -> dict[str, Any]:
    """Spikes, values and first choices of the network file ``net`` after ``moves``, plain values.

    Squares are the board's own, a1 = 0; values are White's. Raises ConfigError where there is no
    move to choose, NetworkError for a file that is none.
    """
    observer, num_planes, neuron = _observer(net)
    game = read_game(start, moves)
    fen = game.start.shredder_fen(en_passant="fen")
    place = position_reached(fen, [move.uci() for move in game.moves])
    question = request_at(place, num_planes)
    seen = observer.look(question)
    return {
        "neuron": neuron,
        "time_steps": len(seen.wdl),
        "steps": seen.steps,
        "layers": [_layer(layer, game.board.turn) for layer in seen.layers],
        "values": [_value(values, game.board.turn) for values in seen.outlooks.tolist()],
        "policy": _top_moves(seen, question, game.board),
    }


@lru_cache(KEPT_NETWORKS)
def _observer(net: str) -> tuple[SpikeTracer, int, str]:
    """The network file, its number of input planes and its kind of neuron."""
    network = load_net(Path(net))
    return SpikeTracer(network), network.config.num_planes, network.config.neuron


def _layer(layer: LayerSpikes, turn: chess.Color) -> dict[str, Any]:
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


def _top_moves(seen: SpikeTrace, question: Requests, board: chess.Board) -> list[dict[str, Any]]:
    """The likeliest moves at the time step at which the position exits."""
    shares = seen.policies[seen.steps - 1]
    found = []
    for index in np.argsort(-shares, kind="stable")[:TOP_MOVES].tolist():
        move = action_to_chess_move(board, int(question.legal[0, index]))
        assert move is not None
        share = round(float(shares[index]), DIGITS)
        found.append({"uci": move.uci(), "san": board.san(move), "share": share})
    return found


def _send(kind: str, **values: Any) -> None:
    sys.stdout.buffer.write(encode_message(kind, **values))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
