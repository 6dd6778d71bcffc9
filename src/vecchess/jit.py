"""Compilation of kernels: four decorators over numba, and a cache that never serves old code.

numba's own cache looks only at the file of the entry point, so an edit of a function inlined into
it would go unnoticed. Here the kernels of a module have a cache directory named after a hash of
every source file that they may be made of (the module, what it imports, what that imports and so
on), the numba version and the processor, under the user's cache directory. Nothing in it depends
on where the sources lie, so a second checkout of the same sources finds the kernels compiled.

Decisions 41, 197, 207 and 219.
"""

import hashlib
import os
import platform
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numba
from numba.core import caching
from numba.core import config as numba_config
from numba.core.compiler_lock import global_compiler_lock

from vecchess import __version__

_PACKAGE = Path(__file__).parent
# Kernels allocate nothing, so they need no reference counts (_nrt), whose atomic increments for
# every array taken out of a named tuple took a third of a mover's time.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
# Functions that only kernels call need no wrappers for Python: a fifth of the time to compile.
_PART_OPTIONS = _OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

_IMPORT = re.compile(
    r"^ *(?:from (vecchess[\w.]*) import (\([^)]*\)|.*)|import (vecchess[\w.]*))", re.MULTILINE
)


def cache_base() -> Path:
    """The directory that holds the cache directories of all kernels; it need not exist."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    return Path(chosen) if chosen else user_cache() / "numba"


@cache
def cache_dir(module: str) -> Path:
    """Directory of the compiled kernels of ``module``, a name with dots.

    Its name has a hash of the sources that they may be made of, of this numba and this CPU.
    """
    digest = hashlib.sha256()
    for source in kernel_sources(module):
        digest.update(_source(source).digest)
    for fact in (numba.__version__, platform.machine(), f"{cpu_name()}:{sorted(cpu_features())}"):
        digest.update(fact.encode())
    name = f"{__version__}-{module.removeprefix('vecchess.')}-{digest.hexdigest()[:16]}"
    base = cache_base()
    return _writable(base / name) or _writable(_temporary() / name) or base / name


def kernel_sources(module: str) -> list[Path]:
    """The file of ``module`` and all of this package that it imports, directly or not, sorted."""
    own = getattr(sys.modules.get(module), "__file__", None)
    found: set[Path] = set()
    waiting = [Path(own)] if own else list(_files(module))
    while waiting:
        if (file := waiting.pop()) not in found:
            found.add(file)
            waiting += _source(file).imported
    return sorted(found)


class _Source(NamedTuple):
    digest: bytes
    """Hash of the file's content and of its path in the package."""
    imported: list[Path]
    """The files of this package that it imports, those for types alone too."""


@cache
def _source(file: Path) -> _Source:
    content = file.read_bytes()
    is_ours = file.is_relative_to(_PACKAGE)
    name = file.relative_to(_PACKAGE).as_posix() if is_ours else file.name
    imported: list[Path] = []
    for package, names, module in _IMPORT.findall(content.decode()):
        for part in re.findall(r"\w+", names) or [""]:
            imported += _files(f"{package}.{part}") or _files(package or module)
    return _Source(hashlib.sha256(name.encode() + content).digest(), imported)


@cache
def _files(module: str) -> list[Path]:
    """The file of a module of this package; empty where there is none."""
    place = _PACKAGE.parent.joinpath(*module.split("."))
    return [file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()]


def user_cache() -> Path:
    """The user's cache directory for vecchess; it need not exist."""
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen) / "vecchess"
    try:
        return Path.home() / ".cache" / "vecchess"
    except RuntimeError:  # no HOME, and a user without an entry, as in some containers
        return _temporary()


def _writable(directory: Path) -> Path | None:
    """``directory``, made if need be; None where that is not allowed."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return directory if os.access(directory, os.W_OK) else None


def _temporary() -> Path:
    """A directory for users without a writable cache directory, which no other user can write to.

    Machine code is loaded from it, so another user's directory of that name is not used.
    """
    if not hasattr(os, "getuid"):
        return Path(tempfile.gettempdir()) / "vecchess"  # Windows: a folder of the user's
    own = Path(tempfile.gettempdir()) / f"vecchess-{os.getuid()}"
    own.mkdir(mode=0o700, exist_ok=True)
    status = own.lstat()
    is_safe = status.st_uid == os.getuid() and status.st_mode & 0o077 == 0
    return own if is_safe and not own.is_symlink() else Path(tempfile.mkdtemp("vecchess"))


_Locator: Any = getattr(caching, "UserProvidedCacheLocator", object)
"""Older versions of numba have no class of this name, and keep their own places."""


class KernelCacheLocator(_Locator):  # type: ignore[misc]
    """Places in a ``cache_dir`` that do not depend on the path of the sources."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """The folder of a source: its path in the package; numba's own for other files (tests)."""
        if not Path(py_file).is_relative_to(_PACKAGE):
            return str(super().get_suitable_cache_subpath(py_file))
        return "-".join(Path(py_file).relative_to(_PACKAGE.parent).parent.parts)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile an entry point: called from Python, releases the GIL, cached on disk.

    Processes that need the same kernel at the same time wait for the first one's: numba's index of
    a cache does not bear two writers, and compiling twice would take as long.
    """
    config: Any = numba_config
    folder = cache_dir(function.__module__)
    config.CACHE_DIR = str(folder)
    if _Locator is not object:
        config.CACHE_LOCATOR_CLASSES = f"{__name__}.{KernelCacheLocator.__name__}"
    compiled = numba.njit(cache=True, **_OPTIONS)(function)
    if hasattr(compiled, "compile"):  # not with NUMBA_DISABLE_JIT
        compile_alone = compiled.compile
        lock = folder / f"{function.__module__}.{function.__qualname__}.lock"

        def compile_in_turn(signature: Any) -> Any:
            # numba's own lock first: a thread may compile a kernel that calls this one
            with global_compiler_lock, compiling(), _locked(lock):
                return compile_alone(signature)

        compiled.compile = compile_in_turn
    return compiled


class _Observer:
    """What is called when compiling begins and ends in this process."""

    depth = 0
    call: Callable[[bool], object] = staticmethod(lambda is_compiling: None)


def observe_compiling(call: Callable[[bool], object]) -> None:
    """Have ``call(True)`` called whenever this process begins to compile a kernel, to load it or to
    wait for another process that compiles it, and ``call(False)`` at the end of that."""
    _Observer.call = staticmethod(call)


@contextmanager
def compiling() -> Iterator[None]:
    """Tell the observer that kernels are compiled within the block, which one thread enters."""
    _Observer.depth += 1
    if _Observer.depth == 1:
        _Observer.call(True)
    try:
        yield
    finally:
        _Observer.depth -= 1
        if _Observer.depth == 0:
            _Observer.call(False)


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Hold the lock of a file; without effect where it cannot be had (Windows, some disks)."""
    try:
        import fcntl

        handle = file.open("w")
    except (ImportError, OSError):
        yield
        return
    with handle:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def inline(function: Callable[..., Any]) -> Any:
    """Compile a small function of kernels: always inlined by LLVM, never called from Python."""
    return numba.njit(forceinline=True, **_PART_OPTIONS)(function)


def part(function: Callable[..., Any]) -> Any:
    """Compile a larger function of kernels: called rather than inlined, never from Python."""
    return numba.njit(**_PART_OPTIONS)(function)


def paste(function: Callable[..., Any]) -> Any:
    """Compile a function into its caller: numba copies its code there before compiling anything.

    For functions with a single caller; others would be compiled by themselves as well.
    """
    return numba.njit(inline="always", **_PART_OPTIONS)(function)


@cache
def cpu_features() -> frozenset[str]:
    """Instruction sets that kernels may use, as LLVM names them.

    Those of this processor, or of ``NUMBA_CPU_FEATURES`` ("+avx2,+bmi2,-avx512f"); with
    ``NUMBA_CPU_NAME`` alone none, because only LLVM has the list of that processor's.
    """
    from numba.core.codegen import get_host_cpu_features

    chosen, name = _overrides()
    if chosen is None:
        chosen = "" if name else get_host_cpu_features()
    flags = (flag.strip() for flag in chosen.split(","))
    return frozenset(flag[1:] for flag in flags if flag.startswith("+"))


def cpu_has(*features: str) -> bool:
    """Whether kernels may use all of these instruction sets."""
    return cpu_features().issuperset(features)


def cpu_name() -> str:
    """The processor that kernels are compiled for, by LLVM's name or ``NUMBA_CPU_NAME``."""
    import llvmlite.binding as llvm

    return _overrides()[1] or str(llvm.get_host_cpu_name())


def _overrides() -> tuple[str | None, str | None]:
    """NUMBA_CPU_FEATURES and NUMBA_CPU_NAME."""
    return getattr(numba_config, "CPU_FEATURES", None), getattr(numba_config, "CPU_NAME", None)
