"""The thread that owns network and trees, and does one thing after the other."""

import sys
import traceback
from collections.abc import Callable
from queue import SimpleQueue
from threading import Condition, Thread
from typing import TYPE_CHECKING, Protocol

from vecchess.errors import VecchessError

if TYPE_CHECKING:
    from vecchess.uci.engine_state import EngineState


class Task(Protocol):
    """Something to do."""

    def run(self, engine: "EngineState") -> None:
        """Do it, in the searcher's thread."""
        ...

    def stop(self) -> None:
        """Let ``run`` return soon. Called by other threads, before and while it runs."""
        ...

    def give_up(self) -> None:
        """``run`` raised an error: say what the GUI waits for."""
        ...


class Searcher:
    """Does tasks in the order of posting."""

    def __init__(self, say: Callable[[str], object], complain: Callable[[Task, str], object]):
        """``say`` hears lines for people; ``complain`` that a task failed, and why, in a line."""
        self._say, self._complain = say, complain
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._open: list[Task] = []
        self._changed = Condition()
        self._thread = Thread(target=self._work, name="searcher", daemon=True)
        self._thread.start()

    def post(self, task: Task) -> None:
        """Do ``task`` when all before it is done."""
        with self._changed:
            self._open.append(task)
        self._tasks.put(task)

    @property
    def open_tasks(self) -> list[Task]:
        """What is not done yet, the oldest first."""
        with self._changed:
            return list(self._open)

    def stop(self) -> None:
        """Stop what is going on and what waits."""
        for task in self.open_tasks:
            task.stop()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Until all that was posted is done; False where that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._open, timeout_s)

    def close(self, timeout_s: float) -> bool:
        """End the thread after what is open; False where that takes longer."""
        self._tasks.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        from vecchess.uci.engine_state import EngineState

        engine = EngineState(self._say)
        while (task := self._tasks.get()) is not None:
            try:
                task.run(engine)
            except (VecchessError, MemoryError, OSError) as error:
                engine.close()
                self._complain(task, " ".join(str(error).split()) or "out of memory")
            except Exception as error:  # a fault of ours: the game goes on
                traceback.print_exc(file=sys.stderr)
                engine.close()
                self._complain(task, f"internal error, {type(error).__name__}: {error}")
            with self._changed:
                self._open.remove(task)
                self._changed.notify_all()
