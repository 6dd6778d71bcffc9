"""Who plays the generations of a training, and when: in turn with learning, or one ahead of it."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from time import sleep

from vecchess.config import PlayConfig, SelfplayConfig, TrainConfig
from vecchess.errors import VecchessError
from vecchess.fleet.fleet_run import end_fleet, open_mailbox
from vecchess.runtime.devices import Device
from vecchess.runtime.progress import ProgressDisplay
from vecchess.selfplay.run_selfplay import Executor
from vecchess.selfplay.supervisor.status_watcher import StatusWatcher
from vecchess.selfplay.supervisor.supervisor import RunResult, Supervisor
from vecchess.selfplay.worker.slot_tuning import with_remembered_slots
from vecchess.store.id_set import IdSet
from vecchess.store.seating import Seating
from vecchess.train.trainer import Trainer

LOOK_S = 0.2
"""Between two looks at a generation that is played ahead."""


class GenerationPlayer:
    """Has generations played by an executor: one by one, and one ahead where that is wanted.

    All methods are called by one thread.
    """

    def __init__(self, executor: Executor, watcher: StatusWatcher) -> None:
        """``executor``: the caller has entered it, and ends it after ``close``. ``watcher``: of it;
        what is played ahead is not shown to people."""
        self._executor, self._watcher = executor, watcher
        self._thread = ThreadPoolExecutor(1, "generation")
        self._ahead: tuple[tuple[str, IdSet], Future[RunResult]] | None = None
        self._stop_reason = ""

    def play(self, net: str, ids: IdSet, heartbeat: Callable[[], str]) -> RunResult:
        """Have the segments ``ids`` played with ``net``, or wait for them where they were begun
        ahead. ``heartbeat``: see ``Supervisor.play``. Raises what the executor raises."""
        self._watcher.is_shown = True
        if self._ahead is None:
            return self._executor.play(net, ids, heartbeat)
        what, future = self._ahead
        assert what == (net, ids), "another generation was begun ahead"
        while not future.done():
            sleep(LOOK_S)
            self._stop_reason = self._stop_reason or heartbeat()
        self._ahead = None
        return future.result()

    def play_ahead(self, net: str, ids: IdSet) -> None:
        """Begin to have ``ids`` played, while the caller does something else."""
        assert self._ahead is None, "one generation is played ahead"
        self._watcher.is_shown = False
        future = self._thread.submit(self._executor.play, net, ids, lambda: self._stop_reason)
        self._ahead = (net, ids), future

    def close(self) -> None:
        """End what is played ahead: workers write what is finished."""
        self._stop_reason = self._stop_reason or "the end of the training"
        if self._ahead is not None:
            with suppress(VecchessError):
                self._ahead[1].result()
        self._thread.shutdown()


@contextmanager
def open_executor(
    trainer: Trainer, devices: list[Device], display: ProgressDisplay
) -> Iterator[GenerationPlayer]:
    """What plays the generations of a training, for a block."""
    config, run, status = trainer.config, trainer.run, trainer.reporter.status
    assert status is not None, "who has games played has a status"
    with ExitStack() as stack:
        executor: Executor
        watcher = StatusWatcher(display, status, trainer.reporter.log_load)
        if config.executor == "local":
            settings = selfplay_config(config, config.net)
            settings = with_remembered_slots(settings, trainer.learner.net.config, devices)
            rest = (watcher, trainer.stop, Seating.of(config))
            executor = stack.enter_context(Supervisor(settings, run, devices, *rest))
        else:
            executor = stack.enter_context(
                open_mailbox(config, run, devices, watcher, trainer.stop)
            )
        player = GenerationPlayer(executor, watcher)
        try:
            yield player
        finally:
            player.close()
        if trainer.progress.iteration == config.iterations:
            end_fleet(run, watcher.report_line, trainer.stop)


def selfplay_config(config: TrainConfig, net: str) -> SelfplayConfig:
    """How the games of a training run are played."""
    shared = {name: getattr(config, name) for name in PlayConfig.model_fields}
    return SelfplayConfig(net=net, games=Seating.of(config).seats, **shared)
