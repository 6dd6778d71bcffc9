"""Packages that can be called: ``vecchess.selfplay(...)`` beside ``vecchess.selfplay.games``.

A package and a function of one name cannot both be attributes of ``vecchess``: whichever is
imported last would win. So the package is what the name means, and calling it calls the function.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class CallablePackage(ModuleType):
    """A package that is called as the function of its name in ``vecchess.api``."""

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        """Call the function."""
        function = getattr(import_module("vecchess.api"), self.__name__.rpartition(".")[2])
        return function(*arguments, **settings)


def make_callable(name: str) -> None:
    """Let the package ``name``, which is being imported, be called."""
    sys.modules[name].__class__ = CallablePackage
