"""Two agents of PettingZoo play a game: one takes what it can, the other moves at random.

    python examples/two_agents/two_agents.py --seed 3

Needs the extra "envs".
"""

import argparse
from collections.abc import Sequence

import numpy as np

from vecchess.env.gymnasium_adapter import Observation
from vecchess.env.pettingzoo_adapter import ChessAEC

THEIR_MEN = slice(6, 12)
"""Planes of the other side's pieces, see ``vecchess.chess.planes``."""


def play_random(observation: Observation, random: np.random.Generator) -> int:
    """Any legal action."""
    return int(random.choice(np.flatnonzero(observation["action_mask"])))


def take(observation: Observation, random: np.random.Generator) -> int:
    """A legal action that goes one step to a square with a man of the other side, or any."""
    steps = {0: (0, 1), 7: (1, 1), 14: (1, 0), 21: (1, -1), 28: (0, -1), 35: (-1, -1),
             42: (-1, 0), 49: (-1, 1)}  # fmt: skip
    theirs = observation["observation"][THEIR_MEN].any(0)
    for action in np.flatnonzero(observation["action_mask"]).tolist():
        plane, square = divmod(action, 64)
        file, rank = square % 8, square // 8
        if plane in steps:
            right, up = steps[plane]
            if theirs[rank + up, file + right]:
                return action
    return play_random(observation, random)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, play, and print the board and the rewards."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-plies", type=int, default=200)
    given = parser.parse_args(arguments)
    random = np.random.default_rng(given.seed)
    env = ChessAEC(max_plies=given.max_plies, render_mode="ansi")
    env.reset(seed=given.seed)
    policies = {"player_0": take, "player_1": play_random}
    rewards = dict.fromkeys(policies, 0.0)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        rewards[agent] += reward
        is_over = terminated or truncated
        env.step(None if is_over else policies[agent](observation, random))
        ending = info.get("termination", "")
    print(env.render())
    print(ending, rewards)


if __name__ == "__main__":
    main()
