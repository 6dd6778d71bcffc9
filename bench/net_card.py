"""The card of a network: NeuroBench's metrics, at the positions of a suite of best moves.

    python -m bench.net_card default
    python -m bench.net_card my.safetensors --limit 500 --json

Complexity is what the network costs by itself, whatever computes it: memory, connections, spikes
and synaptic operations (``synaptic_operations``); correctness is the share of best moves by the
policy alone.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from bench.synaptic_operations import StepCounts, SynapseCounter
from numpy.typing import NDArray

from vecchess.arena.ratings.score import wilson
from vecchess.chess.movegen import legal_moves
from vecchess.chess.uci_moves import move_to_uci
from vecchess.errors import VecchessError
from vecchess.inference.requests import Requests
from vecchess.snn.integer.integer_net import IntegerNet, tensors_of
from vecchess.snn.integer.net_file import load_net
from vecchess.suites.best_moves import MOVES, BestMoveSuite
from vecchess.suites.epd import BestMoves
from vecchess_cli.output import print_result

SCHEMA = 1


def main() -> int:
    """Measure the network that the command names, and print its card."""
    parser = argparse.ArgumentParser(description="Measure a network by NeuroBench's metrics.")
    parser.add_argument("net", help="a network file, or default")
    parser.add_argument("--limit", type=int, help="so many of the first positions")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    options = parser.parse_args()
    try:
        print_result(net_card(options.net, limit=options.limit), options.json)
    except VecchessError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def net_card(net: str | Path, limit: int | None = None) -> dict[str, Any]:
    """Measure a network; plain values, for JSON.

    net: as for ``load_net``; limit: as for ``BestMoveSuite``. Raises NetworkError and ConfigError.
    """
    network, suite = load_net(net), BestMoveSuite(MOVES, limit)
    asked = suite.best_moves
    requests = Requests.at(asked.positions, network.config.num_planes)
    total = requests.num_rows
    counts = SynapseCounter(network).count(requests)
    hits = _hits(asked, counts)
    rows, steps = np.arange(total), network.config.time_steps
    return {
        "schema": SCHEMA,
        "net": str(net),
        "sha256": network.sha256,
        "suite": suite.facts,
        "positions": total,
        "footprint": footprint(network),
        "connection_sparsity": connection_sparsity(network),
        "all_steps": _workload(counts, hits[-1], np.full(total, steps)),
        "with_exits": _workload(counts, hits[counts.exits - 1, rows], counts.exits),
    }


def footprint(net: IntegerNet) -> int:
    """Bytes of weights, shifts and biases as they are stored and computed with."""
    return sum(tensor.nbytes for tensor in tensors_of(net).values())


def connection_sparsity(net: IntegerNet) -> float:
    """The share of weights that are 0, of 4 decimals; biases do not count."""
    zeros = sum(int((layer.weight == 0).sum()) for layer in net.layers.values())
    return round(zeros / sum(layer.weight.size for layer in net.layers.values()), 4)


def _hits(asked: BestMoves, counts: StepCounts) -> NDArray[np.bool_]:
    """bool[T, N]: whether the best move after each step is one that is asked for."""
    moves, _ = legal_moves(asked.positions)
    hits = np.zeros(counts.best.shape, np.bool_)
    for row, best in enumerate(asked.moves):
        for step, place in enumerate(counts.best[:, row]):
            position = asked.positions[row]
            hits[step, row] = move_to_uci(position, int(moves[row, place])) in best
    return hits


def _workload(
    counts: StepCounts, hits: NDArray[np.bool_], steps: NDArray[np.int64]
) -> dict[str, Any]:
    """NeuroBench's workload metrics where position n takes ``steps[n]`` time steps."""
    num = len(steps)
    taken = np.arange(len(counts.dense))[:, None] < steps
    share = float(hits.mean())
    low, high = wilson(share, num)
    return {
        "time_steps": round(float(steps.mean()), 4),
        "activation_sparsity": 1 - _mean(counts.active, taken) / counts.neurons / steps.mean(),
        "synaptic_operations": {
            "Effective_MACs": _mean(counts.macs, taken),
            "Effective_ACs": _mean(counts.acs, taken),
            "Dense": _mean(counts.dense, taken),
        },
        "classification_accuracy": round(share, 4),
        "interval": [round(low, 4), round(high, 4)],
    }


def _mean(values: NDArray[np.int64], taken: NDArray[np.bool_]) -> float:
    """The sum over the steps taken, a position."""
    return float((values * taken).sum() / taken.shape[1])


if __name__ == "__main__":
    sys.exit(main())
