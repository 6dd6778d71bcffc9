"""The parts of a run are opened as its settings ask."""

from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from rich.console import Console

from vecchess.config import TrainConfig, build
from vecchess.inference.tune.slot_search import Rung
from vecchess.inference.tune.tuning_cache import store_tuned
from vecchess.runtime.cost_meter import Cost, CostMeter
from vecchess.runtime.devices import CPU, share_out
from vecchess.runtime.progress import ProgressDisplay
from vecchess.runtime.signals import StopSignals
from vecchess.runtime.terminal import CleanConsole
from vecchess.selfplay.worker import slot_tuning as tuning
from vecchess.snn.presets import NetConfig
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_log import no_event
from vecchess.store.run_pins import pin_run
from vecchess.train import executor
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.executor import selfplay_config
from vecchess.train.run_cost import RunCost
from vecchess.train.run_train import _open_run


def test_games_are_played_with_the_tuned_slots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    configs: list[Any] = []

    class Spy(executor.Supervisor):
        def __init__(self, config: Any, *rest: Any) -> None:
            configs.append(config)
            super().__init__(config, *rest)

    monkeypatch.setattr(executor, "Supervisor", Spy)
    run = RunFolder(tmp_path / "run")
    run.create()
    sizes = NetConfig(num_planes=25, blocks=1, channels=32, time_steps=4)
    config = build(TrainConfig, {"threads": 1})
    trainer: Any = SimpleNamespace(
        config=config,
        run=run,
        ranks=Ranks.alone(torch.device("cpu")),
        stop=StopSignals(),
        learner=SimpleNamespace(net=SimpleNamespace(config=sizes)),
        reporter=SimpleNamespace(status=SimpleNamespace(), log_load=no_event),
        progress=SimpleNamespace(iteration=0),
    )

    def slots() -> int:
        with executor.open_executor(trainer, [CPU], ProgressDisplay(Console(), True)):
            return int(configs.pop().slots)

    assert slots() == 0
    settings = selfplay_config(config, config.net)
    share = share_out(settings, [CPU], 10**6)
    assert store_tuned(tuning._place(settings, sizes, CPU, share), Rung(48, 1.0, 1.0, 1).to_dict())
    assert slots() == 48


def test_brackets_of_a_path_are_no_markup(tmp_path: Path) -> None:
    file, run = tmp_path / "sizes[v2].toml", RunFolder(tmp_path / "run")
    file.write_text("blocks = 1")
    config = build(TrainConfig, {"net": str(file)})
    run.create()
    pin_run(run, config)
    file.write_text("blocks = 2")
    console, cost = CleanConsole(file=StringIO(), soft_wrap=True), RunCost(CostMeter([]), Cost())
    ranks = Ranks.alone(torch.device("cpu"))
    with _open_run(run, config, True, ranks, console, cost, StopSignals()):
        pass
    assert f"{file} has changed" in console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("before", [Cost(), None])
def test_a_run_says_that_its_cost_is_not_known(tmp_path: Path, before: Cost | None) -> None:
    run, config = RunFolder(tmp_path / "run"), TrainConfig()
    run.create()
    pin_run(run, config)
    console, cost = CleanConsole(file=StringIO(), soft_wrap=True), RunCost(CostMeter([]), before)
    ranks = Ranks.alone(torch.device("cpu"))
    with _open_run(run, config, True, ranks, console, cost, StopSignals()):
        pass
    told = console.file.getvalue()  # type: ignore[attr-defined]
    assert ("status.json does not tell what the run has cost" in told) == (before is None)
