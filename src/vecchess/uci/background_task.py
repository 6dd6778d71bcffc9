"""What the searcher does that nobody waits for with ``bestmove``."""

from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vecchess.uci.engine_state import EngineState


class StoppableTask:
    """A task with nothing to say after an error, which looks whether it was stopped."""

    def __init__(self) -> None:
        """It may go on."""
        self._stopped = Event()

    def stop(self) -> None:
        """End at the next occasion."""
        self._stopped.set()

    def give_up(self) -> None:
        """The error was told; nobody waits for more."""


class BackgroundTask(StoppableTask):
    """Anything short that the searcher's thread has to do in its turn."""

    def __init__(
        self, work: "Callable[[EngineState], object]", after: Callable[[], object] = lambda: None
    ) -> None:
        """``work`` is called once; ``after`` it, whether it failed or not."""
        super().__init__()
        self._work, self._after = work, after

    def run(self, engine: "EngineState") -> None:
        """Do it."""
        self._work(engine)
        self._after()

    def give_up(self) -> None:
        """It failed."""
        self._after()
