"""vecchess: self-play server, trainer and engine for chess with spiking neural networks.

``vecchess.load_network``, ``selfplay``, ``train``, ``search``, ``match`` and ``ChessEnv`` are what
most programs need; they are imported when they are asked for. docs/python.md has examples, and
docs/api.md all that is public.
"""

from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "ChessEnv": "vecchess.env",
    "Evaluation": "vecchess.inference.open_network",
    "OpenNetwork": "vecchess.inference.open_network",
    "TrainedRun": "vecchess.api",
    "VecchessError": "vecchess.errors",
    "load_network": "vecchess.api",
    "match": "vecchess.api",
}
_CALLABLE_PACKAGES = ("search", "selfplay", "train")
"""Packages that are called as the functions of their names in ``vecchess.api``."""


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _CALLABLE_PACKAGES:
        return import_module(f"vecchess.{name}")
    raise AttributeError(f"module 'vecchess' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_CALLABLE_PACKAGES])
