"""Programs of ranks for tests: functions of a module, because ranks are spawned."""

import os
import signal
import time
from contextlib import nullcontext
from pathlib import Path

import torch

from vecchess.errors import DataError
from vecchess.runtime.signals import StopSignals
from vecchess.train.distributed.ranks import Ranks


def sums(ranks: Ranks, folder: Path) -> None:
    """Sum tensors of several dtypes, exchange values, and save the results."""
    tensors = [
        torch.full((2, 3), 1.5 + ranks.rank),
        torch.arange(4, dtype=torch.float64) * (1 + ranks.rank) + 2.0**-40,
        torch.tensor(2**40 + ranks.rank),
        torch.full((5,), 0.25, dtype=torch.bfloat16),
        torch.randn(1000, generator=torch.Generator().manual_seed(ranks.rank)),
        torch.zeros(0),
    ]
    ranks.all_reduce_(tensors)
    numbers = torch.tensor([0.1, ranks.rank], dtype=torch.float64)
    ranks.all_reduce_([numbers])
    values = {
        "sums": numbers.tolist(),
        "broadcast": ranks.broadcast_bytes(b"odd" if ranks.is_main else b"").decode(),
        "from_first": ranks.broadcast_object({"steps": 12} if ranks.is_main else None),
        "gathered": ranks.gather_object({"rank": ranks.rank}),
        "facts": [ranks.node, ranks.num_nodes, ranks.is_local_main, torch.get_num_threads()],
    }
    torch.save([tensors, values], folder / f"{ranks.rank}.pt")


def other_settings(ranks: Ranks, folder: Path) -> None:
    """Rank 1 was started with another seed."""
    (folder / f"{ranks.rank}.pid").write_text(str(os.getpid()))
    ranks.require_same(f"seed = {int(ranks.rank == 1)}")


def sums_without_end(ranks: Ranks, folder: Path) -> None:
    """``sums``, then sum without end, as a training between heart-beats."""
    sums(ranks, folder)
    (folder / f"{ranks.rank}.pid").write_text(str(os.getpid()))
    tensor = torch.ones(100_000)
    while True:
        ranks.all_reduce_([tensor])
        tensor.fill_(1.0)


def beats_without_end(ranks: Ranks, folder: Path) -> None:
    """Heart-beats without end, as while games are played."""
    (folder / f"{ranks.rank}.pid").write_text(str(os.getpid()))
    while True:
        ranks.heartbeat("", False)
        time.sleep(0.02)


def beats_until_stopped(ranks: Ranks, folder: Path) -> None:
    """Heart-beats until a signal stops the leader."""
    with (
        StopSignals(interrupts=True)
        if ranks.is_local_main
        else nullcontext(StopSignals()) as request
    ):
        (folder / f"{ranks.rank}.pid").write_text(str(os.getpid()))
        while not (beat := ranks.heartbeat(request.reason, False)).stop:
            time.sleep(0.02)
    (folder / f"{ranks.rank}.stop").write_text(beat.stop)


def stops_itself(ranks: Ranks, folder: Path) -> None:
    """Rank 1 hangs before a sum."""
    (folder / f"{ranks.rank}.pid").write_text(str(os.getpid()))
    if ranks.rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    ranks.all_reduce_([torch.ones(10)])


def fails_on_one(ranks: Ranks, folder: Path) -> None:
    """Rank 1 finds a bad file while the others are in the middle of a sum."""
    (folder / f"{ranks.rank}.pid").write_text(str(os.getpid()))
    if ranks.rank == 1:
        time.sleep(0.2)
        raise DataError("shard 7 is damaged")
    ranks.all_reduce_([torch.ones(10)])
