"""Functions and classes of the user, named ``module:attribute`` on the command line.

Decision 174.
"""

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

from vecchess.errors import ConfigError

USERS_ERRORS = (Exception, SystemExit)
"""What code of the user may raise: anything, and it may want to end the process."""


def users_code() -> AbstractContextManager[Any]:
    """For code of the user: what it prints goes to stderr, because stdout is for results."""
    return redirect_stdout(sys.stderr)


def load_plugin(text: str) -> Callable[..., Any]:
    """What ``module:attribute`` names. The module may lie in the current folder.

    Raises ConfigError where it cannot be imported, has no such attribute or cannot be called.
    """
    name, _, attribute = text.partition(":")
    folder = os.getcwd()
    if folder not in sys.path:  # the ``vecchess`` command does not search it by itself
        sys.path.insert(0, folder)
    try:
        with users_code():
            module = import_module(name)
    except USERS_ERRORS as error:
        reason = f"{type(error).__name__}: {error}; is its folder in PYTHONPATH?"
        raise ConfigError(f"cannot import {name}: {reason}") from None
    function = getattr(module, attribute, None)
    if not callable(function):
        raise ConfigError(f"module {name} has no function {attribute}")
    found: Callable[..., Any] = function
    return found


def plugin_file(text: str) -> Path | None:
    """The source file of a loaded plug-in's module; None where it has none."""
    file = getattr(sys.modules.get(text.partition(":")[0]), "__file__", None)
    return None if file is None else Path(file)
