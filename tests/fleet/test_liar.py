"""A training with a player that lies ends with the network of an honest one."""

import hashlib
import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from vecchess.config import ContributeConfig, TrainConfig, build
from vecchess.fleet import contributor, fleet_run
from vecchess.fleet.block_games import BlockGames
from vecchess.fleet.steps import Played, Request, TakePlayed
from vecchess.fleet.task import RUN_NAME, GamesOfRun
from vecchess.runtime.progress import ProgressDisplay
from vecchess.runtime.signals import StopSignals
from vecchess.store.remote.block_file import BlockName, pack_block
from vecchess.store.remote.object_store import ObjectStore
from vecchess.train.run_train import train_run

SETTINGS = {
    "net": "tiny", "seats": 24, "positions_per_iter": 720, "iterations": 5, "seed": 4,
    "gpus": "cpu", "threads": 1, "batch_size": 32, "eval_every": 0, "block_seats": 2,
    "loaders": 0, "tree": {"sims": 4}, "game": {"max_plies": 43},
}  # fmt: skip


class Liar(contributor.Contributor):
    """A player that changes a game in a part of its blocks."""

    share = 0.0

    def _answer(self, request: Request) -> Any:
        answer = super()._answer(request)
        if isinstance(request, TakePlayed):
            return [self._maybe_changed(played) for played in answer]
        return answer

    def _maybe_changed(self, played: Played) -> Played:
        if self._draw.random() >= self.share:
            return played
        name = BlockName(played.task, played.block, self.name)
        games = BlockGames.of(name, played.data, self._facts)
        waiting = games.waiting
        assert waiting is not None
        win = (waiting.records.win + 1).astype(np.uint16)
        win = np.minimum(win, 511 - waiting.records.draw).astype(np.uint16)
        waiting = replace(waiting, records=replace(waiting.records, win=win))
        ended = replace(games.ended, result=-games.ended.result)
        changed = BlockGames(ended, waiting)
        self.num_lies += changed.digest() != games.digest()
        return played._replace(data=pack_block(*changed.to_bytes(self._facts.run_id)))

    num_lies = 0
    _draw = random.Random(3)

    @property
    def _facts(self) -> GamesOfRun:
        return GamesOfRun.of_bytes(RUN_NAME, self._store.get(RUN_NAME) or b"")


@contextmanager
def players(folder: Path, shares: list[float]) -> Iterator[list[Liar]]:
    """Players that lie in these shares of their blocks."""
    stop, made = StopSignals(), list[Liar]()
    config = build(ContributeConfig, {"gpus": "cpu", "threads": 1, "concurrent_games": 4})

    def play(share: float, index: int) -> None:
        display = ProgressDisplay(Console(file=StringIO()), quiet=True)
        name = contributor.player_name()
        liar = Liar(ObjectStore.open(folder), stop, display, name, tests_itself=False)
        liar.share = share
        made.append(liar)
        cache = folder.parent / f"player{index}"
        cache.mkdir()
        try:
            liar.play(config, cache)
        except contributor.PlayerEnds:
            pass
        finally:
            liar.close()

    threads = [
        threading.Thread(target=play, args=(share, index)) for index, share in enumerate(shares)
    ]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        stop.request_stop("the end of the test")
        for thread in threads:
            thread.join()


def network(folder: Path, **settings: Any) -> str:
    """sha256 of the last network of a training."""
    summary = train_run(build(TrainConfig, SETTINGS | settings), folder, False, True)
    return hashlib.sha256(Path(summary["net"]).read_bytes()).hexdigest()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_liar_is_named_and_the_network_is_the_honest_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is checked in the first two generations, so that the training has to go back."""
    honest = network(tmp_path / "a" / "run")
    (tmp_path / "b").mkdir()
    run = tmp_path / "b" / "run"

    class ChecksLate:
        def random(self) -> float:
            return 0.0 if len(list(run.glob("fleet/tasks/*"))) > 2 else 1.0

    monkeypatch.setattr(fleet_run, "SystemRandom", ChecksLate)
    with players(run, [0.0, 0.5]) as made:
        found = network(run, executor="mailbox", verify_share=0.5, keep_checkpoints=1)
    liar = next(player for player in made if player.share)
    assert liar.num_lies > 0
    assert [file.name for file in run.glob("fleet/banned/*")] == [liar.name]
    events = map(json.loads, (run / "log.jsonl").read_text().splitlines())
    notes = [event.get("line", "") for event in events]
    assert any(f"player {liar.name} was wrong" in line for line in notes)
    assert found == honest
