"""How many blocks a player takes."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fleet.test_fleet_run import Quiet
from vecchess.config import ContributeConfig, build
from vecchess.fleet.block_player import KNOWN_SETTINGS, BlockPlayer, config_of
from vecchess.fleet.task import FleetTask, GamesOfRun
from vecchess.runtime.devices import CPU, Share
from vecchess.selfplay.supervisor.worker_pool import WorkerPool
from vecchess.store.run_pins import GAMES_VERSION

TASK = FleetTask(
    number=0, generation=0, first=0, end=1 << 16, size=16, net="constant", net_sha256=""
)  # fmt: skip
FACTS = GamesOfRun(
    run_id="0" * 32, settings=KNOWN_SETTINGS, seats=0, turns=0, games_version=GAMES_VERSION,
    openings=None, tables="",
)  # fmt: skip


@dataclass
class Plan:
    share: Share


def blocks(rows: int) -> int:
    """Blocks for so many games, and a quarter more."""
    return -(-(rows + rows // 4) // TASK.size)


@pytest.mark.parametrize(("chosen", "rows"), [(64, 128), (32, 128), (256, 64 + 256)])
def test_a_player_fills_the_games_that_its_workers_have_room_for(
    chosen: int, rows: int, tmp_path: Path
) -> None:
    """A GPU's worker measures how many slots suit it, and tells which share it has taken."""
    local = build(ContributeConfig, {"threads": 1, "slots": 32, "concurrent_games": 64})
    player = BlockPlayer(FACTS, config_of(FACTS, local, None), [CPU, CPU], tmp_path, Quiet())
    assert player.room(TASK) == blocks(128)
    plan = Plan(Share(slots=32, games=64, movers=1, threads=1))
    workers: Any = [SimpleNamespace(plan=plan, games_at_a_time=64) for _ in range(2)]
    pool: Any = None
    WorkerPool.take_share(pool, workers[0], chosen // 2, chosen)
    assert workers[0].plan.share.games == min(chosen, 64)
    supervisor: Any = SimpleNamespace(workers=dict(enumerate(workers)))
    player._supervisor = supervisor
    assert player.room(TASK) == blocks(rows)
