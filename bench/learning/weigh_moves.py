"""A network that reads inputs of moves with weights made by hand, to learn from there.

    python bench/learning/weigh_moves.py my.safetensors --pawn 0.5 --out weighed.safetensors

A pawn that a move takes adds ``--pawn`` to its logit, a pawn that hangs afterwards takes as much
away, and a mate adds nine, after all time steps.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from vecchess.chess.move_inputs import MOST, SIZES
from vecchess.snn.create import with_move_inputs
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.integer.net_file import load_net, save_net
from vecchess.snn.topology import MOVES

PAWNS_TAKEN = (0, 1, 3, 3, 5, 9)
MOST_WEIGHT = 127


def weighed(net: IntegerNet, pawn: float) -> IntegerNet:
    """``net`` with inputs of moves; ``pawn``: logits."""
    net = with_move_inputs(net)
    layer, current = net.layers[MOVES], pawn / (net.config.time_steps * net.policy_scale)
    shift = max(
        shift
        for shift in range(net.config.grid_bits + 1)
        if MOST * current <= MOST_WEIGHT << net.config.grid_bits - shift
    )
    each = current / (1 << net.config.grid_bits - shift)
    pawns = np.concatenate([PAWNS_TAKEN, np.zeros(SIZES[1]), -np.arange(SIZES[2]), [0, 0, MOST]])
    weight = np.rint(each * pawns).astype(np.int8).reshape(layer.weight.shape)
    layer = replace(layer, weight=weight, shift=np.full(1, shift, np.uint8))
    return replace(net, layers=net.layers | {MOVES: layer})


def main() -> None:
    """Read, weigh, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("net")
    parser.add_argument("--pawn", type=float, default=0.5, help="logits")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    save_net(weighed(load_net(options.net), options.pawn), options.out)


if __name__ == "__main__":
    main()
