"""Two networks of the same sizes, their weights averaged, as a network file.

    python bench/learning/average_networks.py A B --share 0.5 --out averaged.safetensors

A weight is ``1 - share`` of A's and ``share`` of B's, rounded to the coarser grid of the two. Where
B was trained on from A, the mean may be better than both: Wortsman et al., "Model soups", ICML
2022 (arXiv 2203.05482). Exits have to be calibrated anew.
"""

import argparse
from pathlib import Path

import torch

from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.integer.net_file import load_net, save_net
from vecchess.snn.torch_integer import from_integers, to_integers


@torch.no_grad()
def averaged(first: IntegerNet, second: IntegerNet, share: float) -> IntegerNet:
    """The network between two, ``share`` of the way to the second."""
    module, other = from_integers(first), from_integers(second)
    for name in first.layers:
        ours, theirs = module.layer(name), other.layer(name)
        ours.adopt(
            torch.lerp(ours.weight, theirs.weight, share),
            torch.lerp(ours.bias, theirs.bias, share),
            torch.minimum(ours.shift, theirs.shift),
        )
    module.policy_gain.lerp_(other.policy_gain, share)
    module.value_gain.lerp_(other.value_gain, share)
    return to_integers(module)


def main() -> None:
    """Read both, and write what lies between."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--share", type=float, default=0.5, help="of the second, 0 to 1")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    first, second = load_net(given.first), load_net(given.second)
    if first.config != second.config:
        parser.error(f"{given.first} and {given.second} are not of the same sizes")
    if not 0 <= given.share <= 1:
        parser.error("--share: from 0 to 1")
    save_net(averaged(first, second, given.share), given.out)


if __name__ == "__main__":
    main()
