"""Networks with numbers at the edges of what a file may hold play legal games, always the same."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.selfplay.odd_networks import _fault, try_networks
from tests.selfplay.playing import play, replay
from tests.snn.positions import random_positions
from vecchess.chess.planes import NUM_PLANES
from vecchess.config import GameConfig, TreeConfig
from vecchess.inference.backend_registry import open_backend
from vecchess.snn.initialise import new_network
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet
from vecchess.snn.integer.net_file import SCALES, load_net, save_net
from vecchess.snn.presets import NetConfig


@pytest.fixture(scope="module")
def network() -> IntegerNet:
    config = NetConfig(num_planes=NUM_PLANES, blocks=1, channels=32, time_steps=2)
    return new_network(config, 1, random_positions(16, 1)[0][:, :NUM_PLANES])


@pytest.mark.thorough
@pytest.mark.thorough
@pytest.mark.parametrize("search", ["none", "gumbel", "puct"])
@pytest.mark.parametrize("temperature", ["0.001", "1", "10"])
@pytest.mark.parametrize("scale", SCALES)
def test_scales_at_their_limits(
    network: IntegerNet, tmp_path: Path, scale: float, temperature: str, search: str
) -> None:
    save_net(replace(network, policy_scale=scale, value_scale=scale), tmp_path / "net")
    net = load_net(tmp_path / "net")
    config = GameConfig(max_plies=30, temperature=temperature)
    tree = TreeConfig(search=search, sims=4, cache_mb=0) if search != "none" else None
    games = [
        play(config, 3, open_backend("cpu", net, slots, ExitRule()), seats=3, tree=tree)
        for slots in (3, 7)
    ]
    assert games[0].digest() == games[1].digest()
    assert len(replay(games[0])) == 3
    assert (games[0].win.astype(np.int64) + games[0].draw <= 511).all()


def test_networks_with_odd_numbers_are_refused_or_play_legal_games() -> None:
    """Some of the 10,000 of docs/log.md: neither an illegal game, nor another one the next time."""
    found = try_networks(range(40))
    assert set(found) == {"played", "refused"}, found
    assert min(found.values()) > 5


@pytest.mark.slow
def test_many_networks_with_odd_numbers() -> None:
    found = try_networks(range(1000, 1400))
    assert set(found) == {"played", "refused"}, found


def test_a_game_that_differs_is_found(tmp_path: Path, network: IntegerNet) -> None:
    """The judge of these networks is no rubber stamp."""
    games = [
        play(GameConfig(max_plies=8), 2, open_backend("cpu", network, 2, ExitRule()), 2, seed=seed)
        for seed in (1, 2)
    ]
    assert _fault(games[0], games[0], tmp_path / "games.npz") == ""
    assert _fault(games[0], games[1], tmp_path / "games.npz") == "digests differ"
    wrong = replace(games[0], action=np.zeros_like(games[0].action))
    assert "cannot be read" in _fault(wrong, wrong, tmp_path / "games.npz")
