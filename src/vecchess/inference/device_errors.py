"""Failures of a device as typed errors of one line (decision 120)."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from vecchess.errors import as_device_error

P = ParamSpec("P")
R = TypeVar("R")


def device_work(what: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: failures of the device inside become ``DeviceError``; others pass unchanged."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                device_error = as_device_error(error, what)
                if device_error is None:
                    raise
                raise device_error from error

        return guarded

    return decorate
