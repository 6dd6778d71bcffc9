"""REINFORCE with a network of torch against a player of the arena, over Gymnasium's vectors.

    python examples/reinforce/reinforce.py --games 256 --updates 200

An update plays a few moves in all games and weighs the logarithms of their probabilities by the
result of the game, where it ended within them. Needs the extra "envs".
"""

import argparse
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from vecchess.env.gymnasium_adapter import ChessVectorEnv, Observation

NUM_ACTIONS = 4672


class PolicyNet(nn.Module):
    """Logits of all actions from the input planes."""

    def __init__(self, num_planes: int, channels: int = 32) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(num_planes, channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, NUM_ACTIONS // 64, 1),
            nn.Flatten(),
        )

    def forward(self, planes: Tensor) -> Tensor:
        """``float32[G, P, 8, 8] -> float32[G, 4672]``"""
        logits: Tensor = self.body(planes)
        return logits


def act(net: PolicyNet, observation: Observation) -> tuple[Tensor, Tensor]:
    """Actions drawn from the policy over legal moves, and the logarithms of their probabilities."""
    is_legal = torch.from_numpy(observation["action_mask"]).bool()
    logits = net(torch.from_numpy(observation["observation"]))
    policy = torch.distributions.Categorical(logits=logits.masked_fill(~is_legal, -torch.inf))
    actions = policy.sample()
    return actions, policy.log_prob(actions)


def returns_of(rewards: np.ndarray, is_end: np.ndarray) -> Tensor:
    """Result of the game of each move, ``float32[T, G]``; 0 where it did not end in time."""
    found, following = np.zeros_like(rewards), np.zeros(rewards.shape[1], np.float32)
    for step in reversed(range(len(rewards))):
        following = np.where(is_end[step], rewards[step], following)
        found[step] = following
    return torch.from_numpy(found)


def learn(games: int, updates: int, moves: int, opponent: str, seed: int) -> list[float]:
    """Train a new network; the mean result of the games that ended in each update."""
    torch.manual_seed(seed)
    env = ChessVectorEnv(games, opponent, seed=seed, max_plies=120, starts="book")
    net = PolicyNet(env.single_observation_space["observation"].shape[0])
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    observation, _ = env.reset()
    results = []
    for _ in range(updates):
        played: list[tuple[Tensor, np.ndarray, np.ndarray]] = []
        for _ in range(moves):
            actions, log_probs = act(net, observation)
            observation, rewards, ended, cut, _ = env.step(actions.numpy())
            played.append((log_probs, rewards, ended | cut))
        rewards, is_end = (np.stack([step[part] for step in played]) for part in (1, 2))
        log_probs = torch.stack([step[0] for step in played])
        loss = -(log_probs * returns_of(rewards, is_end)).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        results.append(float(rewards[is_end].mean()) if is_end.any() else 0.0)
    env.close()
    return results


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, train, and print the mean results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--games", type=int, default=256)
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--moves", type=int, default=32, help="in each game, an update")
    parser.add_argument("--opponent", default="random")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    results = learn(given.games, given.updates, given.moves, given.opponent, given.seed)
    print("mean result of the games that ended, by update:")
    print(" ".join(f"{result:.2f}" for result in results))


if __name__ == "__main__":
    main()
