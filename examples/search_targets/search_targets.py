"""AlphaZero in a hundred lines: games as arrays, Gumbel searches with a network of torch, learning.

    python examples/search_targets/search_targets.py --games 64 --updates 100

Every update searches one move in all games, plays it, and learns the policy and the value that the
search found.
"""

import argparse
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from vecchess.chess.planes import NUM_PLANES
from vecchess.env import ChessEnv
from vecchess.inference.torch_evaluator import torch_evaluator
from vecchess.search import PolicySearch

NUM_MOVE_PLANES = 73


class TwoHeads(nn.Module):
    """Logits of all actions, and logits of win, draw and loss."""

    def __init__(self, channels: int = 32) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(NUM_PLANES, channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.ReLU(),
        )
        self.policy = nn.Conv2d(channels, NUM_MOVE_PLANES, 1)
        self.outcome = nn.Linear(channels * 64, 3)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """``float32[B, P, 8, 8] -> float32[B, 4672], float32[B, 3]``"""
        boards = self.body(planes)
        return self.policy(boards).flatten(1), self.outcome(boards.flatten(1))


def learn(games: int, updates: int, simulations: int, seed: int) -> list[float]:
    """Train a new network; the loss of each update."""
    torch.manual_seed(seed)
    net = TwoHeads()
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    env = ChessEnv(games, seed=seed, random_plies=6, observations="planes", keep_past=True)
    search = PolicySearch(torch_evaluator(net), games, "gumbel", simulations)
    losses = []
    for _ in range(updates):
        rows = env.rows
        found = search.run(
            env.positions, keys=rows.keys, past=rows.past, seed=seed, numbers=rows.numbers,
            plies=rows.plies, explore=True,
        )  # fmt: skip
        logits, outcomes = net(torch.from_numpy(env.observations))
        loss = functional.cross_entropy(logits, torch.from_numpy(found.action_weights))
        loss = loss + functional.cross_entropy(outcomes, torch.from_numpy(found.wdl))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
        env.step(found.action)
    return losses


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, train, and print the losses."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--games", type=int, default=64)
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--simulations", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    losses = learn(given.games, given.updates, given.simulations, given.seed)
    print("loss, by update:", " ".join(f"{loss:.2f}" for loss in losses))


if __name__ == "__main__":
    main()
