"""What people see while games are played."""

import re
from io import StringIO
from pathlib import Path

import pytest
from bench.fake_device import FAKE
from rich.console import Console

from tests.selfplay.test_supervisor import CONFIG
from tests.selfplay.test_swap_network import network, saved
from vecchess.config import TreeConfig
from vecchess.runtime import progress
from vecchess.runtime.devices import CPU
from vecchess.selfplay.supervisor import selfplay_progress
from vecchess.selfplay.supervisor.selfplay_progress import SelfplayDisplay
from vecchess.selfplay.supervisor.supervisor import Supervisor
from vecchess.store.run_folder import RunFolder

SEARCHED = TreeConfig(search="gumbel", sims=4, cache_mb=1)


def shown(
    watcher: SelfplayDisplay, tree: TreeConfig, latency: str, folder: Path, workers: int = 2
) -> None:
    """A run of 32 games that ``watcher`` watches, on devices of that ``latency``."""
    run = RunFolder(folder / "run")
    run.create()
    config = CONFIG.model_copy(update={"tree": tree, "backend": f"{FAKE}?latency={latency}"})
    with Supervisor(config, run, [CPU] * workers, watcher) as supervisor:
        assert supervisor.play(saved(folder, network(1)), range(32)).stats.games == 32


@pytest.mark.parametrize(
    ("tree", "latency"),
    [pytest.param(TreeConfig(), "25ms", marks=pytest.mark.slow), (SEARCHED, "6ms")],
)
def test_a_terminal_sees_every_worker(
    tree: TreeConfig, latency: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some seconds, however fast the machine is: workers tell of themselves every second."""
    monkeypatch.setattr(progress, "LIVE_INTERVAL_S", 0.02)
    terminal = StringIO()
    with SelfplayDisplay(Console(file=terminal, force_terminal=True, width=110)) as watcher:
        shown(watcher, tree, latency, tmp_path)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue()).replace("\r", "\n")
    assert re.search(r"^worker +stage +games +plies/s( +sims/s)? +steps", text, re.MULTILINE)
    searched = r"[\d,]+ +" if tree is SEARCHED else ""
    row = rf"playing \d+ +\d+ +[1-9][\d,]* +{searched}\d\.\d\d +\d+% +\d+% +\d+%"
    for name in ("0 cpu", "1 cpu"):
        assert re.search(rf"^{name} +{row}", text, re.MULTILINE), name
    assert re.search(r"^all +\d+ +[1-9]", text, re.MULTILINE)
    assert re.search(r"[1-9]\d?/32 games +0:00:\d\d < 0:00:\d\d +\+\d+ =\d+ -\d+", text)


def test_logs_get_a_line_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (progress, selfplay_progress):
        monkeypatch.setattr(module, "PLAIN_INTERVAL_S", 0.1)
    log = StringIO()
    shown(SelfplayDisplay(Console(file=log)), SEARCHED, "2ms", tmp_path)
    lines = log.getvalue().splitlines()
    assert len(lines) > 3
    assert any(" plies/s " in line and " sims/s  cache " in line for line in lines)
    assert re.search(r"ETA 0:00:\d\d  \[cpu#0 \d+ games  cpu#1 \d+ games\]$", lines[-1])


def test_the_quiet_hear_of_faults_alone(tmp_path: Path) -> None:
    log = StringIO()
    watcher = SelfplayDisplay(Console(file=log), quiet=True)
    shown(watcher, TreeConfig(), "1us", tmp_path, workers=1)
    assert log.getvalue() == ""
    watcher.report_line("worker 1 [cpu] died")
    assert log.getvalue() == "worker 1 [cpu] died\n"
