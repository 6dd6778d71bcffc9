"""A handler for exceptions in threads of gloo, which would end the whole process.

A thread of gloo sends to peers that are ready to receive; where a peer has died by then it throws,
and nothing in that thread catches (``Pair::sendAsyncMode`` in gloo/transport/tcp/pair.cc). C++ ends
the process then, before the line that names the dead rank is printed. With the handler that thread
waits instead (decision 192). A failure in the main thread ends the process as usual.
"""

import ctypes
import threading
from collections.abc import Callable
from typing import Any


def hold_failing_threads() -> Callable[[], None]:
    """Install the handler; returns what puts the former handler back.

    It is compiled, because it has to run without Python: the failing thread may hold Python's lock
    or be unknown to it. Without GNU's C++ library nothing changes.
    """
    try:
        library, system = ctypes.CDLL("libstdc++.so.6"), ctypes.CDLL(None)
        set_handler = library["_ZSt13set_terminatePFvvE"]
        get_handler = library["_ZSt13get_terminatev"]
        pause, this_thread = system["pause"], system["pthread_self"]
    except (OSError, AttributeError):
        return lambda: None
    set_handler.argtypes, set_handler.restype = [ctypes.c_void_p], None
    get_handler.argtypes, get_handler.restype = [], ctypes.c_void_p
    former = get_handler()
    handler = _compiled(pause, this_thread, ctypes.CFUNCTYPE(None)(former))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(handler))  # a thread may wait in it to the end
    set_handler(handler.address)
    return lambda: set_handler(former)


def _compiled(
    pause: "ctypes._NamedFuncPointer",
    this_thread: "ctypes._NamedFuncPointer",
    former: "ctypes._FuncPointer",
) -> Any:
    """A handler that pauses without end; in the main thread it calls ``former``."""
    from numba import cfunc, types

    pause.argtypes, pause.restype = [], ctypes.c_int
    this_thread.argtypes, this_thread.restype = [], ctypes.c_ulong
    main_thread = threading.main_thread().ident

    def handle() -> None:
        while this_thread() != main_thread:
            pause()
        former()

    return cfunc(types.void())(handle)
