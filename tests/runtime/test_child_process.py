"""Spawned processes: their garbage collector while they import, and after it."""

import gc
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from vecchess.runtime.child_process import ChildProcess


class Imported:
    """An argument that is made in the child while it imports."""

    def __init__(self) -> None:
        self.was_enabled = gc.isenabled()

    def __reduce__(self) -> tuple[Any, ...]:
        return Imported, ()


def tell(argument: Imported, answers: Connection) -> None:
    answers.send((argument.was_enabled, gc.isenabled(), gc.get_freeze_count()))


def test_the_collector_rests_only_while_a_child_imports() -> None:
    answers, child_end = Pipe()
    process = ChildProcess(target=tell, args=(Imported(), child_end), name="a name", daemon=True)
    process.start()
    child_end.close()
    while_importing, at_work, num_frozen = answers.recv()
    process.join()
    assert (while_importing, at_work) == (False, True)
    assert num_frozen > 0
    assert process.exitcode == 0
