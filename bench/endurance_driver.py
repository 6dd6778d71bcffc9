"""The training of ``endurance``: ``python bench/endurance_driver.py FOLDER``, until a signal comes.

What happens every second, every five or every half minute happens many times a second, a shard
holds one game, and a generation is a handful of short games with a checkpoint after it. Prints how
often the status was written.
"""

import json
import sys
from pathlib import Path
from typing import Any

SHRUNKEN_S = 0.01
NET = "blocks = 1\nchannels = 32\n"
SETTINGS: dict[str, Any] = {
    "gpus": "cpu",
    "iterations": 1_000_000,
    "positions_per_iter": 400,
    "seats": 4,
    "batch_size": 32,
    "shard_games": 1,
    "shard_interval_s": SHRUNKEN_S,
    "loaders": 1,
    "log_every": 1,
    "eval_every": 20,
    "eval_games": 2,
    "tree": {"search": "gumbel", "sims": 2, "cache_mb": 1},
    "game": {"max_plies": 40},
    "window_positions": 2000,
}


def shrink() -> None:
    """Let intervals of this process be short; workers, which import this file, do it too."""
    from vecchess.selfplay.supervisor import status_watcher as chronicle
    from vecchess.selfplay.worker import live_games as showcase
    from vecchess.selfplay.worker import worker
    from vecchess.store import status_file as status

    status.INTERVAL_S = chronicle.STATUS_INTERVAL_S = chronicle.METRICS_INTERVAL_S = SHRUNKEN_S
    worker.STATS_INTERVAL_S = showcase.INTERVAL_S = 5 * SHRUNKEN_S
    showcase.ENDED_S = SHRUNKEN_S


def main(folder: Path) -> int:
    """Train in ``folder``."""
    from vecchess.config import TrainConfig, build
    from vecchess.runtime.signals import StopSignals
    from vecchess.store.status_file import StatusWriter
    from vecchess.train.run_train import train_run

    written, write = [0], StatusWriter._write

    def count(self: StatusWriter, durably: bool) -> None:
        written[0] += 1
        write(self, durably)

    StatusWriter._write = count  # type: ignore[method-assign]
    net = folder.parent.parent / "net.toml"
    net.write_text(NET)
    config = build(TrainConfig, SETTINGS | {"net": str(net)})
    with StopSignals(interrupts=True) as stop:
        summary = train_run(config, folder, resume=False, quiet=True, stop=stop)
    print(json.dumps({"status": written[0], "stopped_by": summary["stopped_by"]}))
    return int(summary["exit_code"])


if __name__ in ("__main__", "__mp_main__"):
    shrink()
if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
