"""What people see while games are played: in a terminal, in a log, and of a quiet command."""

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
from vecchess.runtime.progress import ProgressDisplay
from vecchess.selfplay.supervisor import status_watcher
from vecchess.selfplay.supervisor.status_watcher import StatusWatcher
from vecchess.selfplay.supervisor.supervisor import SelfplayWatcher, Supervisor
from vecchess.store.id_set import IdSet
from vecchess.store.run_folder import RunFolder
from vecchess.store.status_file import StatusWriter

SEARCHED = TreeConfig(search="gumbel", sims=4, cache_mb=1)


class Watchers(SelfplayWatcher):
    """Several watchers of the same run."""

    def __init__(self, *watchers: StatusWatcher) -> None:
        self.watchers = watchers

    def update(self, supervisor: Supervisor) -> None:
        for watcher in self.watchers:
            watcher.update(supervisor)

    def report_line(self, line: str) -> None:
        for watcher in self.watchers:
            watcher.report_line(line)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("tree", "latency"),
    [pytest.param(TreeConfig(), "25ms", marks=pytest.mark.slow), (SEARCHED, "6ms")],
)
def test_every_kind_of_display_sees_a_run(
    tree: TreeConfig, latency: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some seconds, however fast the machine is: workers tell of themselves every second."""
    monkeypatch.setattr(progress, "LIVE_INTERVAL_S", 0.1)
    monkeypatch.setattr(status_watcher, "STATUS_INTERVAL_S", 0.1)
    for module in (progress, status_watcher):
        monkeypatch.setattr(module, "PLAIN_INTERVAL_S", 0.1)
    terminal, log, quiet = StringIO(), StringIO(), StringIO()
    run = RunFolder(tmp_path / "run")
    run.create()
    config = CONFIG.model_copy(update={"tree": tree, "backend": f"{FAKE}?latency={latency}"})
    live = ProgressDisplay(Console(file=terminal, force_terminal=True, width=110))
    hushed = ProgressDisplay(Console(file=quiet), quiet=True)
    displays = (live, ProgressDisplay(Console(file=log)), hushed)
    with live, StatusWriter(run, "selfplay") as status:
        watchers = [StatusWatcher(one, status, lambda line: None) for one in displays]
        with Supervisor(config, run, [CPU] * 2, Watchers(*watchers)) as supervisor:
            assert supervisor.play(saved(tmp_path, network(1)), IdSet([(0, 32)])).stats.games == 32
    assert_a_terminal_sees_every_worker(terminal.getvalue(), tree is SEARCHED)
    assert_lines_tell_how_it_goes(log.getvalue().splitlines(), tree is SEARCHED)
    assert "plies/s" not in quiet.getvalue()  # kernels may have been compiled, which it tells
    watchers[-1].report_line("worker 1 [cpu] died")
    assert quiet.getvalue().endswith("worker 1 [cpu] died\n")


def assert_a_terminal_sees_every_worker(drawn: str, searches: bool) -> None:
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn).replace("\r", "\n")
    assert re.search(r"^worker +stage +games +plies/s( +sims/s)? +steps", text, re.MULTILINE)
    searched = r"[\d,]+ +" if searches else ""
    row = rf"playing \d+ +\d+ +[1-9][\d,]* +{searched}(\d\.\d\d|-) +\d+% +\d+% +\d+%"
    for name in ("0 cpu", "1 cpu"):
        assert re.search(rf"^{name} +{row}", text, re.MULTILINE), name
    assert re.search(r"^all +\d+ +[1-9]", text, re.MULTILINE)
    progress = r"[1-9]\d?/32 games  ━+ +\d+% +\+\d+ =\d+ -\d+  0:00:\d\d  ETA 0:00:\d\d"
    assert re.search(progress, text)


def assert_lines_tell_how_it_goes(lines: list[str], searches: bool) -> None:
    assert len(lines) > 3
    searched = " sims/s  cache " if searches else ""
    assert any(" plies/s " in line and searched in line for line in lines)
    assert re.search(r"ETA 0:00:\d\d  \[cpu#0 \d+ games  cpu#1 \d+ games\]$", lines[-1])
