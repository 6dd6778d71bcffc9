"""The command ``spikes``: what the neurons of the network do at a position, as one line of JSON.

    spikes startpos moves e2e4           or: spikes fen FEN moves ...
    info string spikes {"neuron": "lif", "time_steps": 4, "steps": 3, "layers": [...], ...}
    info string spikes {"error": "one line"}

It is no part of UCI; the play page of the dashboard asks for it, also during a search. torch is
imported with the first one.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from vecchess.errors import ConfigError, VecchessError
from vecchess.uci.parse_command import parse_position

if TYPE_CHECKING:
    import chess

    from vecchess.analysis.spike_trace import LayerSpikes, SpikeTrace, SpikeTracer
    from vecchess.inference.requests import Requests

ANSWER = "spikes "
"""What an answer begins with, after ``info string``."""
TOP_MOVES = 5
DIGITS = 4


def answer_spikes(words: Sequence[str], net: str) -> str:
    """The answer to ``spikes`` with the words after it, about the network file ``net``."""
    try:
        found = trace_spikes(words, net)
    except (VecchessError, OSError) as error:
        found = {"error": " ".join(str(error).split())}
    except MemoryError:
        found = {"error": "out of memory"}
    return ANSWER + json.dumps(found, separators=(",", ":"))


def trace_spikes(words: Sequence[str], net: str) -> dict[str, Any]:
    """Spikes, values and first choices of ``net`` at the position of ``words``, as plain values.

    Squares are the board's own, a1 = 0; values are White's. Raises ConfigError where there is no
    such position or no move to choose, NetworkError for a file that is no spiking network.
    """
    from vecchess.analysis.parse_position import position_reached, request_at
    from vecchess.uci.uci_board import set_up

    asked = parse_position(words)
    if asked is None:
        raise ConfigError("write spikes startpos or spikes fen FEN, then moves ...")
    game = set_up(asked)
    if (played := len(game.moves)) < len(asked.moves):
        raise ConfigError(f"{asked.moves[played]} (move {played + 1}) is not legal")
    tracer, num_planes, neuron = _tracer(net)
    fen = game.start.shredder_fen(en_passant="fen")
    reached = position_reached(fen, [move.uci() for move in game.moves])
    question = request_at(reached, num_planes)
    seen = tracer.look(question)
    return {
        "neuron": neuron,
        "time_steps": len(seen.wdl),
        "steps": seen.steps,
        "layers": [_layer(layer, game.board.turn) for layer in seen.layers],
        "values": [_value(values, game.board.turn) for values in seen.outlooks.tolist()],
        "policy": _top_moves(seen, question, game.board),
    }


@lru_cache(1)
def _tracer(net: str) -> "tuple[SpikeTracer, int, str]":
    """The network file, its number of input planes and its kind of neuron."""
    from vecchess.analysis.spike_trace import SpikeTracer
    from vecchess.snn.integer.net_file import load_net

    network = load_net(net)
    return SpikeTracer(network), network.config.num_planes, network.config.neuron


def _layer(layer: "LayerSpikes", turn: bool) -> dict[str, Any]:
    turned = [square ^ (0 if turn else 56) for square in range(64)]
    return {
        "name": layer.name,
        "channels": layer.channels,
        "shares": [round(share, DIGITS) for share in layer.shares.tolist()],
        "squares": layer.counts[:, turned].tolist(),
    }


def _value(outlook: list[float], turn: bool) -> dict[str, float]:
    win, draw, loss = outlook if turn else outlook[::-1]
    return {"win": round(win, DIGITS), "draw": round(draw, DIGITS), "loss": round(loss, DIGITS)}


def _top_moves(
    seen: "SpikeTrace", question: "Requests", board: "chess.Board"
) -> list[dict[str, Any]]:
    """The likeliest moves at the time step at which the position exits."""
    from vecchess.chess.uci_moves import action_to_chess_move

    shares = seen.policies[seen.steps - 1]
    found = []
    for index in (-shares).argsort(kind="stable")[:TOP_MOVES].tolist():
        move = action_to_chess_move(board, int(question.legal[0, index]))
        assert move is not None
        share = round(float(shares[index]), DIGITS)
        found.append({"uci": move.uci(), "san": board.san(move), "share": share})
    return found
