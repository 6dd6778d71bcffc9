"""Another network in a server that lives on: the games are those of a server made with it."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.nets import FOUR_STEPS
from vecchess.config import GameConfig, SelfplayConfig, TreeConfig
from vecchess.errors import NetworkError
from vecchess.runtime.devices import CPU, Share
from vecchess.selfplay.games.finished_games import FinishedGames, finished_records
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.server import SelfplayServer
from vecchess.selfplay.worker.setup import build_server, swap_network
from vecchess.snn.create import create_network
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet
from vecchess.snn.integer.net_file import save_net
from vecchess.store.id_set import IdSet
from vecchess.store.records import GameRecords

SHARE = Share(slots=5, games=8, movers=2, threads=1)
GAME = GameConfig(max_plies=24, random_plies=2)
SEARCHES = {
    "none": TreeConfig(),
    "gumbel": TreeConfig(search="gumbel", sims=4, cache_mb=1),
    "puct": TreeConfig(search="puct", sims=4, cache_mb=1, policy_temperature=1.5),
}


@cache
def network(seed: int) -> IntegerNet:
    return create_network(FOUR_STEPS, seed)


def saved(folder: Path, net: IntegerNet) -> str:
    path = folder / f"{net.sha256[:16]}.safetensors"
    save_net(net, path)
    return str(path)


def config_of(search: str) -> SelfplayConfig:
    return SelfplayConfig(game=GAME, tree=SEARCHES[search], seed=3)


def server_of(config: SelfplayConfig, net: str) -> SelfplayServer:
    server = build_server(config, net, CPU, SHARE, GameIdPool())
    server.start()
    return server


def play(server: SelfplayServer, first: int, end: int) -> GameRecords:
    """Games first .. end, to the last; rows may still be on their way back."""
    server.pool.add(IdSet([(first, end)]))
    finished: list[FinishedGames] = []
    while sum(part.num_games for part in finished) < end - first:
        server.step()
        finished += server.take_finished()
    return finished_records(finished)


@pytest.mark.thorough
@pytest.mark.parametrize("search", SEARCHES)
def test_games_after_a_swap_are_those_of_a_fresh_server(search: str, tmp_path: Path) -> None:
    first, second = network(1), replace(network(2), policy_scale=3 * network(2).policy_scale)
    files = [saved(tmp_path, net) for net in (first, second)]
    config = config_of(search)
    server = server_of(config, files[0])
    before = play(server, 0, 10)
    swap_network(server, config, files[1], CPU, 1)
    after = play(server, 0, 10)
    swap_network(server, config, files[0], CPU, 1)
    again = play(server, 0, 10)
    server.close()
    fresh = server_of(config, files[1])
    assert play(fresh, 0, 10).digest() == after.digest()
    fresh.close()
    assert before.digest() == again.digest() != after.digest()
    assert (before.nets, after.nets) == ((first.sha256,), (second.sha256,))


def test_a_swap_to_another_exit_rule_opens_the_backend_anew(tmp_path: Path) -> None:
    never = replace(network(2), exit_rule=ExitRule.never().to_metadata())
    files = [saved(tmp_path, net) for net in (network(1), never)]
    server = server_of(config_of("none"), files[0])
    play(server, 0, 4)
    backend = server.engine.backend
    swap_network(server, config_of("none"), files[1], CPU, 1)
    assert server.engine.backend is not backend
    records = play(server, 4, 8)
    server.close()
    steps = records.steps[records.steps > 0]
    assert np.unique(steps).tolist() == [network(1).config.time_steps]
    assert records.nets == (never.sha256,)


def test_counters_go_on_after_a_swap(tmp_path: Path) -> None:
    server = server_of(config_of("none"), saved(tmp_path, network(1)))
    play(server, 0, 4)
    before = server.engine.counters.positions
    swap_network(server, config_of("none"), saved(tmp_path, network(2)), CPU, 1)
    play(server, 4, 8)
    server.close()
    assert server.engine.counters.positions > before > 0


def test_what_cannot_take_the_place(tmp_path: Path) -> None:
    tiny, config = saved(tmp_path, network(1)), config_of("none")
    sizes = tmp_path / "sizes.toml"
    sizes.write_text("blocks = 1\nchannels = 32\n")
    other = saved(tmp_path, create_network(str(sizes), 1))
    server = server_of(config, tiny)
    with pytest.raises(NetworkError, match=r"other sizes .* start a run of its own"):
        swap_network(server, config, other, CPU, 1)
    with pytest.raises(NetworkError, match="constant: only a network file"):
        swap_network(server, config, "constant", CPU, 1)
    with pytest.raises(NetworkError, match="missing"):
        swap_network(server, config, str(tmp_path / "missing"), CPU, 1)
    assert play(server, 0, 2).nets == (network(1).sha256,)
    server.close()
    constant = server_of(config, "constant")
    with pytest.raises(NetworkError, match="only a network file"):
        swap_network(constant, config, tiny, CPU, 1)
    constant.close()


def test_no_network_is_replaced_while_a_game_goes_on(tmp_path: Path) -> None:
    server = server_of(config_of("none"), saved(tmp_path, network(1)))
    server.pool.add(IdSet([(0, 8)]))
    while server.engine.counters.positions < 20:
        server.step()
    with pytest.raises(AssertionError, match="while games go on"):
        swap_network(server, config_of("none"), saved(tmp_path, network(2)), CPU, 1)
    server.close()
