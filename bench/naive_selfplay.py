"""Self-play as small spiking chess projects write it, beside vecchess's, in turns on one core.

    python bench/naive_selfplay.py --seconds 10 --rounds 3

The pattern: boards of python-chess, planes made square by square and turned into random spikes for
each of 16 time steps, three convolutions of 64, 128 and 256 channels with ``snntorch.Leaky``, one
position at a time, one game after another. It was written for this measurement. vecchess plays
``configs/nets/rate-coded.toml``, of the same layers, with all 16 steps and with exits. Prints JSON:
plies a second by the clock, medians over the rounds, and medians of the ratios within one.
"""

import argparse
import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import chess
import snntorch as snn
import torch
from torch import Tensor, nn

NET = Path(__file__).parents[1] / "configs/nets/rate-coded.toml"
STEPS, RATE, MOST_PLIES = 16, 0.75, 200
NUM_PLANES = 13
ALL_STEPS, EXITS = "all_steps", "exits"


class NaiveNetwork(nn.Module):
    """Spikes float32[T, 1, 13, 8, 8] -> policy [1, 4672] and value [1, 1]."""

    def __init__(self) -> None:
        super().__init__()
        widths = (NUM_PLANES, 64, 128, 256)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(one, other, 3, padding=1) for one, other in pairwise(widths)
        )
        self.neurons = nn.ModuleList(snn.Leaky(beta=0.9) for _ in self.convolutions)
        self.policy, self.value = nn.Linear(256, 4672), nn.Linear(256, 1)

    def forward(self, spikes: Tensor) -> tuple[Tensor, Tensor]:
        membranes = [neuron.init_leaky() for neuron in self.neurons]
        fired = []
        for step in spikes:
            for index, (convolution, neuron) in enumerate(
                zip(self.convolutions, self.neurons, strict=True)
            ):
                step, membranes[index] = neuron(convolution(step), membranes[index])
            fired.append(step.mean((2, 3)))
        rate = torch.stack(fired).mean(0)
        return self.policy(rate), torch.tanh(self.value(rate))


def planes_of(board: chess.Board) -> Tensor:
    """float32[13, 8, 8]: a plane for each kind of man, and one for the side to move."""
    planes = torch.zeros(NUM_PLANES, 8, 8)
    for square, piece in board.piece_map().items():
        index = piece.piece_type - 1 + (0 if piece.color else 6)
        planes[index, chess.square_rank(square), chess.square_file(square)] = 1
    planes[12] = float(board.turn)
    return planes


def action_of(move: chess.Move) -> int:
    """A number below 4672 for a move: these networks are untrained, so that any will do."""
    return (move.from_square * 73 + move.to_square + (move.promotion or 0)) % 4672


@torch.no_grad()
def naive_plies(seconds: float) -> float:
    """Play for so long; plies a second."""
    network, board, plies = NaiveNetwork().eval(), chess.Board(), 0
    start = perf_counter()
    while perf_counter() - start < seconds:
        if board.is_game_over() or board.ply() >= MOST_PLIES:
            board = chess.Board()
        spikes = (torch.rand(STEPS, 1, NUM_PLANES, 8, 8) < RATE) * planes_of(board)
        policy, _ = network(spikes)
        moves = list(board.legal_moves)
        shares = torch.softmax(policy[0, [action_of(move) for move in moves]], dim=0)
        board.push(moves[int(torch.multinomial(shares, 1))])
        plies += 1
    return plies / (perf_counter() - start)


def our_plies(seconds: float, exits: bool) -> float:
    """The same of ``vecchess bench throughput``."""
    command = [str(Path(sys.executable).with_name("vecchess")), "bench", "throughput"]
    command += ["--net", str(NET)]
    command += ["--gpus", "cpu", "--cores", "1", "--threads", "1", "--seconds", str(seconds)]
    command += ["--exits" if exits else "--no-exits", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["plies_per_s"])


def main() -> None:
    """Measure in turns, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    naive_plies(1)
    naive: list[float] = []
    ours: dict[str, list[float]] = {ALL_STEPS: [], EXITS: []}
    for _ in range(options.rounds):
        naive.append(naive_plies(options.seconds))
        for name, speeds in ours.items():
            speeds.append(our_plies(options.seconds, name == EXITS))
    facts: dict[str, Any] = {"schema": 1, "naive_plies_per_s": round(median(naive), 2)}
    for name, speeds in ours.items():
        ratios = [one / other for one, other in zip(speeds, naive, strict=True)]
        facts[name] = {"plies_per_s": round(median(speeds), 1), "ratio": round(median(ratios), 2)}
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
