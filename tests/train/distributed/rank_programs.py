"""What ranks run in tests: functions of a module, because they are spawned."""

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
    """Sum tensors of several dtypes, and numbers; write down what came out."""
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
    said = {
        "sums": numbers.tolist(),
        "spread": ranks.broadcast_bytes(b"odd" if ranks.is_main else b"").decode(),
        "from_first": ranks.broadcast_object({"steps": 12} if ranks.is_main else None),
        "gathered": ranks.gather_object({"rank": ranks.rank}),
        "facts": [ranks.node, ranks.num_nodes, ranks.is_local_main, torch.get_num_threads()],
    }
    torch.save([tensors, said], folder / f"{ranks.rank}.pt")


def beats(ranks: Ranks, folder: Path) -> None:
    """The leader is done at the third beat; rank 1 is asked to stop at the second."""
    heard = []
    for turn in range(3):
        reason = "SIGTERM" if ranks.rank == 1 and turn == 1 else ""
        heard.append(tuple(ranks.heartbeat(reason, ranks.rank == 0 and turn == 2)))
    torch.save(heard, folder / f"{ranks.rank}.pt")


def other_settings(ranks: Ranks, folder: Path) -> None:
    """Rank 1 was started with another seed."""
    (folder / f"{ranks.rank}.pid").write_text(str(os.getpid()))
    ranks.require_same(f"seed = {int(ranks.rank == 1)}")


def sums_for_ever(ranks: Ranks, folder: Path) -> None:
    """Sum until something happens; the loop of a training, without beats."""
    (folder / f"{ranks.rank}.pid").write_text(str(os.getpid()))
    tensor = torch.ones(100_000)
    while True:
        ranks.all_reduce_([tensor])
        tensor.fill_(1.0)


def beats_for_ever(ranks: Ranks, folder: Path) -> None:
    """What ranks do while games are played."""
    (folder / f"{ranks.rank}.pid").write_text(str(os.getpid()))
    while True:
        ranks.heartbeat("", False)
        time.sleep(0.02)


def beats_until_stopped(ranks: Ranks, folder: Path) -> None:
    """What ranks do while games are played, with a leader that heeds signals."""
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
