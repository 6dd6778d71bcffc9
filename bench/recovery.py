"""How long a worker that was killed is missed.

    python bench/recovery.py                 3 workers on the processor, network "tiny", 5 deaths

Real workers, killed one after the other in the midst of a run. Prints one JSON object: for each
death the seconds until the new worker plays, and until all together are as fast again as they were
in the five seconds before, over half a second, never less than one second; the games that each left
unfinished.
"""

import argparse
import json
import os
import re
import signal
import tempfile
from collections import deque
from pathlib import Path
from time import monotonic

from rich.console import Console

from vecchess.config import SelfplayConfig, build
from vecchess.runtime.devices import parse_gpus
from vecchess.selfplay.supervisor.supervisor import SelfplayWatcher, Supervisor
from vecchess.selfplay.worker.networks import configured_network, store_configured_net
from vecchess.selfplay.worker.precompile import Precompiler
from vecchess.store.id_set import IdSet
from vecchess.store.run_folder import RunFolder

SCHEMA = 1
ENDLESS = 1 << 22
CALM_S = 8.0
BEFORE_S = 5.0
WINDOW_S = 0.5
FULL_SPEED = 0.9
"""Share of the speed before that counts as full: windows of half a second scatter so much."""


class Killer(SelfplayWatcher):
    """A watcher that kills a worker, waits for full speed, and kills the next."""

    def __init__(self, deaths: int) -> None:
        self.deaths: list[dict[str, float]] = []
        self.notes: list[str] = []
        self._wanted = deaths
        self._seen: deque[tuple[float, int]] = deque()
        self._plies: dict[int, int] = {}
        self._total = 0
        self._calm_since = self._killed = self._before = 0.0
        self._playing = 0.0
        self._victim = 0, 0

    def note(self, line: str) -> None:
        """What the parent says of deaths."""
        self.notes.append(line)

    def update(self, campaign: Supervisor) -> None:
        """Called many times a second."""
        now = monotonic()
        self._count(campaign, now)
        if any(worker.stage != "playing" for worker in campaign.workers.values()):
            self._calm_since = now
            return
        if self._killed:
            if campaign.workers[self._victim[0]].pid == self._victim[1]:
                return  # nobody has noticed yet
            self._playing = self._playing or now
            if self._rate(now, WINDOW_S) >= FULL_SPEED * self._before:
                self._note_recovery(campaign, now)
        elif now - self._calm_since > CALM_S:
            self._before = self._rate(now, BEFORE_S)
            self._killed, self._playing = now, 0.0
            index = len(self.deaths) % len(campaign.workers)
            self._victim = index, campaign.workers[index].pid
            os.kill(self._victim[1], signal.SIGKILL)
            self._calm_since = now

    def _note_recovery(self, campaign: Supervisor, now: float) -> None:
        if now - self._killed < 2 * WINDOW_S:  # the dead worker still counts
            return
        self.deaths.append(
            {
                "plays_after_s": round(self._playing - self._killed, 2),
                "full_speed_after_s": round(now - self._killed, 2),
                "plies_per_s_before": round(self._before),
            }
        )
        self._killed, self._calm_since = 0.0, now
        if len(self.deaths) == self._wanted:
            campaign.stop("enough")

    def _count(self, campaign: Supervisor, now: float) -> None:
        """Plies of all workers, as they last told."""
        for worker in campaign.workers.values():
            plies = int(worker.meter.last.get("plies", 0))
            before = self._plies.get(worker.pid, 0)
            self._total += plies - before
            self._plies[worker.pid] = plies
        self._seen.append((now, self._total))
        while now - self._seen[0][0] > BEFORE_S:
            self._seen.popleft()

    def _rate(self, now: float, seconds: float) -> float:
        first = next((t, n) for t, n in self._seen if now - t <= seconds)
        return (self._total - first[1]) / max(now - first[0], 1e-9)


def main() -> None:
    """Kill, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--deaths", type=int, default=5)
    parser.add_argument("--gpus", default="cpu:3")
    parser.add_argument("--net", default="tiny")
    parser.add_argument("--inflight-interval-s", type=float, default=5.0)
    options = parser.parse_args()
    config = build(
        SelfplayConfig,
        {
            "games": ENDLESS,
            "net": options.net,
            "gpus": options.gpus,
            "inflight_interval_s": options.inflight_interval_s,
            "shard_interval_s": 2.0,
        },
    )
    people = Console(stderr=True)
    killer = Killer(options.deaths)
    with tempfile.TemporaryDirectory(prefix="vecchess-recovery-") as folder:
        run = RunFolder(Path(folder) / "run")
        run.create()
        with Precompiler(config, people.print) as warmup:
            net = store_configured_net(configured_network(config), run)
            warmup.finish(net)
        with Supervisor(config, run, parse_gpus(config.gpus), killer) as campaign:
            campaign.play(net, IdSet([(0, ENDLESS)]))
        recorded = campaign.ledger.num_recorded
    slowest = max(death["full_speed_after_s"] for death in killer.deaths)
    lost = [re.findall(r"(\d[\d,]*) unfinished games", note) for note in killer.notes]
    print(
        json.dumps(
            {
                "schema": SCHEMA,
                "command": "bench/recovery.py",
                "deaths": killer.deaths,
                "slowest_full_speed_after_s": slowest,
                "unfinished_at_death": [int(found[0].replace(",", "")) for found in lost if found],
                "games": recorded,
                "notes": killer.notes,
            }
        )
    )


if __name__ == "__main__":
    main()
