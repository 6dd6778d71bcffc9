"""Libraries of others learn in the environments, as their pages say, without a line for ours."""

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.policy import DQNPolicy, MultiAgentPolicyManager, RandomPolicy

from vecchess.env.gymnasium_adapter import ChessGymEnv
from vecchess.env.pettingzoo_adapter import ChessAEC
from vecchess.shapes import NUM_ACTIONS

pytestmark = pytest.mark.slow


def game() -> ChessGymEnv:
    return ChessGymEnv("random", max_plies=24, seed=1)


@pytest.mark.parametrize(
    "games",
    [
        pytest.param(game, id="one"),
        pytest.param(lambda: DummyVecEnv([game] * 3), id="several"),
        pytest.param(lambda: SubprocVecEnv([game] * 2, start_method="spawn"), id="processes"),
    ],
)
def test_maskable_ppo_learns_and_plays_legal_moves(games: object) -> None:
    learner = MaskablePPO(
        "MultiInputPolicy", games(), n_steps=32, batch_size=32, n_epochs=1, seed=1,
        policy_kwargs={"net_arch": [8]},
    )  # fmt: skip
    before = [weights.detach().clone() for weights in learner.policy.parameters()]
    learner.learn(64)
    assert not all(map(torch.equal, before, learner.policy.parameters()))
    assert isinstance(learner.env, VecEnv)
    learner.env.close()
    played = game()
    seen, _ = played.reset(seed=3)
    is_over = False
    while not is_over:
        action, _ = learner.predict(seen, action_masks=played.action_masks())
        seen, _, terminated, is_over, info = played.step(action)
        assert not terminated, "an illegal move ends the game before the cap on plies"
    assert info == {"termination": "ply_cap"}


class _Linear(torch.nn.Module):
    """Values of all actions, from the planes of the side to move."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.LazyLinear(NUM_ACTIONS)

    def forward(self, batch: object, state: object = None, info: object = None) -> object:
        planes = getattr(batch, "obs", batch)
        return self.layer(torch.as_tensor(np.asarray(planes)).flatten(1)), state


def test_tianshou_learns_from_games_of_two_agents() -> None:
    games = DummyVectorEnv([lambda: PettingZooEnv(ChessAEC(max_plies=24, seed=2))] * 2)
    network = _Linear()
    network(np.zeros((1, *ChessAEC().observation_space("player_0")["observation"].shape), "f4"))
    learner = DQNPolicy(network, torch.optim.Adam(network.parameters()), target_update_freq=4)
    players = MultiAgentPolicyManager([learner, RandomPolicy()], PettingZooEnv(ChessAEC()))
    collector = Collector(players, games, VectorReplayBuffer(500, 2), exploration_noise=True)
    collected = collector.collect(n_step=96)
    assert collected["n/ep"] == 4
    assert collected["lens"].tolist() == [24] * 4
    losses = players.update(32, collector.buffer)
    assert np.isfinite(losses["player_0/loss"])
