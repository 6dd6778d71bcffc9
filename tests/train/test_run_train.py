"""The parts of a run are opened as its settings ask."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from rich.console import Console

from vecchess.config import TrainConfig, build
from vecchess.inference.tune.slot_search import Rung
from vecchess.inference.tune.tuning_cache import store_tuned
from vecchess.runtime.devices import CPU, share_out
from vecchess.runtime.progress import ProgressDisplay
from vecchess.runtime.signals import StopSignals
from vecchess.selfplay.worker import slot_tuning as tuning
from vecchess.snn.presets import NetConfig
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_log import no_event
from vecchess.train import executor
from vecchess.train.distributed.ranks import Ranks
from vecchess.train.executor import selfplay_config


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
    sizes = NetConfig(num_planes=25, blocks=1, channels=32)
    config = build(TrainConfig, {"threads": 1})
    trainer: Any = SimpleNamespace(
        config=config,
        run=run,
        ranks=Ranks.alone(torch.device("cpu")),
        stop=StopSignals(),
        learner=SimpleNamespace(net=SimpleNamespace(config=sizes)),
        reporter=SimpleNamespace(
            status=SimpleNamespace(log=SimpleNamespace(write=no_event)), log_load=no_event
        ),
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
