"""The one thread that reads runs, for everybody: questions go there and wait their turn."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from vecchess.dash.views.board_grid import Grids
from vecchess.dash.views.run_registry import Watched

Answer = TypeVar("Answer")


class Desk:
    """Runs and what was shown of them, which only the desk's own thread touches."""

    def __init__(self, watched: Watched) -> None:
        """Takes ``watched`` for itself."""
        self.watched = watched
        self.grids = Grids()
        self._thread = ThreadPoolExecutor(1, "reader")

    async def ask(self, question: Callable[["Desk"], Answer]) -> Answer:
        """What ``question`` finds, asked in the desk's thread; raises what it raises."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, question, self)

    def close(self) -> None:
        """No more questions; the one being answered is not waited for."""
        self._thread.shutdown(wait=False, cancel_futures=True)
