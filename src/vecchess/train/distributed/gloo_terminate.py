"""Threads of C++ libraries that fail: they wait, where C++ would end the whole process.

A thread of gloo answers peers that are ready to receive; where one is dead by then it throws, and
nothing in that thread catches (``Pair::sendAsyncMode`` in gloo/transport/tcp/pair.cc). C++ then
asks what to do, and would end the process before anybody could say which rank died. So that thread
waits: the hub hears that a wire is closed, and the run ends with the rank's name. Whatever fails
in the main thread ends the process with C++'s own words, as ever.
"""

import ctypes
import threading
from collections.abc import Callable
from typing import Any


def hold_failing_threads() -> Callable[[], None]:
    """From now on; returns what puts the former handler back.

    The handler is compiled, for it has to run without Python: the thread that fails may hold the
    GIL or never have heard of it, and one that is in Python when the interpreter ends is unwound,
    which C++ answers with the same abort. Without GNU's C++ library all is as before.
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
    """A handler that waits for ever, but does what ``former`` does in the main thread."""
    from numba import cfunc, types

    pause.argtypes, pause.restype = [], ctypes.c_int
    this_thread.argtypes, this_thread.restype = [], ctypes.c_ulong
    main_thread = threading.main_thread().ident

    def handle() -> None:
        while this_thread() != main_thread:
            pause()
        former()

    return cfunc(types.void())(handle)
