"""A plugin of pytest under which nothing is compiled: kernels are run by the interpreter.

    python -m pytest -p tests.plain.interpreted -m plain tests/chess

Everything is some hundred times slower, so only tests marked ``plain`` make sense under it.
"""

import sys
import warnings
from typing import Any

import numpy as np
from hypothesis import settings
from numba.core import config

from tests.plain import instructions

if "vecchess.jit" in sys.modules:
    raise ImportError("tests.plain.interpreted has to be loaded before vecchess: with -p")
config.DISABLE_JIT = 1

from vecchess.chess.bitboards import bits  # noqa: E402  (its functions are decorated here)

# Machine words wrap round; numpy's scalars do too, and say so.
np.seterr(over="ignore")
warnings.filterwarnings("ignore", "overflow encountered")


def _replace(module: Any, plain: dict[str, Any]) -> None:
    for name, function in plain.items():
        assert hasattr(module, name), name
        setattr(module, name, function)


def _replace_everywhere(name: str, intrinsic: Any, function: Any) -> None:
    """In all modules that have imported ``intrinsic``."""
    modules = [module for key, module in sys.modules.items() if key.startswith("vecchess.")]
    holders = [module for module in modules if getattr(module, name, None) is intrinsic]
    assert holders, name
    for module in holders:
        setattr(module, name, function)


def _install() -> None:
    """Replace the intrinsics of each module, before a module above it imports them, or after."""
    _replace(bits, instructions.BITS)
    from vecchess.chess.bitboards import hash as hashing
    from vecchess.chess.bitboards import rays

    rays.slider_attacks, rays.king_rays = instructions.slider_attacks, instructions.king_rays
    hashing.hash_words = instructions.hash_words(hashing._FIRST, hashing._SECOND)
    from vecchess.chess.bitboards import move_lists as emit

    emit.emit8 = emit.emit16 = emit._emit_in_fours
    from vecchess.search.kernels import atomic

    for name, function in instructions.ATOMIC.items():  # ``vecchess.search`` imports its kernels
        _replace_everywhere(name, getattr(atomic, name), function)
    from vecchess import memory_layout

    memory_layout.Record.__new__ = lambda cls, address: instructions.PlainRecord(  # type: ignore
        address, memory_layout.Pointer(cls)
    )


_install()
settings.register_profile("interpreted", deadline=None, max_examples=10, derandomize=True)
settings.load_profile("interpreted")
