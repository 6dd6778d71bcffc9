"""The thread that owns network and trees, and runs one task after the other (decision 71)."""

import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Condition, Event, Thread
from typing import TYPE_CHECKING

from vecchess.errors import VecchessError
from vecchess.runtime.reporting import ReportLine

if TYPE_CHECKING:
    from vecchess.uci.engine_state import EngineState


class Task(ABC):
    """Work for the searcher's thread."""

    is_answered = False
    """Whether the GUI has what it waits for."""

    def __init__(self) -> None:
        """Not stopped yet."""
        self._stopped = Event()

    @abstractmethod
    def run(self, engine: "EngineState") -> None:
        """Carry it out, in the searcher's thread."""

    def stop(self) -> None:
        """Make ``run`` return soon. Called by other threads, before and while it runs."""
        self._stopped.set()

    def answer_error(self) -> None:  # noqa: B027  (most write nothing)
        """``run`` raised an error: write the line that the GUI waits for."""


class LinesTask(Task):
    """Writes lines for the GUI."""

    def __init__(
        self, lines: "Callable[[EngineState, Event], Iterator[str]]", write: ReportLine
    ) -> None:
        """``lines`` yields them; its event is set once they are no longer wanted."""
        super().__init__()
        self._lines, self._write = lines, write

    def run(self, engine: "EngineState") -> None:
        """Write each line when it is there."""
        for line in self._lines(engine, self._stopped):
            self._write(line)


class BackgroundTask(Task):
    """Short work for the searcher's thread, in its turn."""

    is_answered = True

    def __init__(
        self, work: "Callable[[EngineState], object]", after: Callable[[], object] = lambda: None
    ) -> None:
        """``work`` is called once, then ``after``, whether ``work`` failed or not."""
        super().__init__()
        self._work, self._after = work, after

    def run(self, engine: "EngineState") -> None:
        """Call both."""
        self._work(engine)
        self._after()

    def answer_error(self) -> None:
        """Call ``after``."""
        self._after()


class Searcher:
    """Runs tasks in the order of posting."""

    def __init__(
        self, open_engine: "Callable[[], EngineState]", on_error: Callable[[Task, str], object]
    ) -> None:
        """``open_engine`` is called in the thread; ``on_error`` takes a task that failed, with the
        reason."""
        self._open_engine, self._on_error = open_engine, on_error
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._open: list[Task] = []
        self._changed = Condition()
        self._thread = Thread(target=self._work, name="searcher", daemon=True)
        self._thread.start()

    def post(self, task: Task) -> None:
        """Run ``task`` after all that were posted before."""
        with self._changed:
            self._open.append(task)
        self._tasks.put(task)

    @property
    def open_tasks(self) -> list[Task]:
        """Tasks that are not finished, the oldest first."""
        with self._changed:
            return list(self._open)

    def stop(self) -> None:
        """Stop the running task and those that wait."""
        for task in self.open_tasks:
            task.stop()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until all tasks are finished; False where that takes longer than ``timeout_s``."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._open, timeout_s)

    def close(self, timeout_s: float) -> bool:
        """End the thread after the open tasks; False where that takes longer than ``timeout_s``."""
        self._tasks.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        engine = self._open_engine()
        while (task := self._tasks.get()) is not None:
            try:
                task.run(engine)
            except (VecchessError, MemoryError, OSError) as error:
                engine.close()
                self._on_error(task, " ".join(str(error).split()) or "out of memory")
            except Exception as error:  # a bug of ours: the game continues
                traceback.print_exc(file=sys.stderr)
                engine.close()
                self._on_error(task, f"internal error, {type(error).__name__}: {error}")
            with self._changed:
                self._open.remove(task)
                self._changed.notify_all()
