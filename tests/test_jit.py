"""The cache of compiled kernels: the content of a kernel's sources decides where it is kept."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import pytest

from tests.test_architecture import PACKAGE, imported_modules
from vecchess.jit import cache_dir, kernel, kernel_sources, observe_compiling, user_cache

DECORATORS = {f"vecchess.jit.{name}" for name in ("kernel", "inline", "part", "paste")}


def files_with_kernels() -> list[Path]:
    return [
        file
        for file in sorted(PACKAGE.rglob("*.py"))
        if "vecchess.jit" in file.read_text() and imported_modules(file) & DECORATORS
    ]


def imported_at_run_time(file: Path) -> set[str]:
    """What ``file`` imports, but for types alone: those give no constant."""
    return imported_modules(file, for_types=False)


def files_behind(file: Path) -> set[Path]:
    """The files that ``file`` imports from, those that these import from, and so on."""
    seen: set[Path] = set()
    waiting = [file]
    while waiting:
        for module in imported_at_run_time(waiting.pop()):
            parts = module.split(".")
            for length in (len(parts), len(parts) - 1):
                found = PACKAGE.joinpath(*parts[1:length]).with_suffix(".py")
                if parts[0] == "vecchess" and found.is_file() and found not in seen:
                    seen.add(found)
                    waiting.append(found)
    return seen


def test_kernels_are_made_of_what_names_their_cache() -> None:
    """They take no constant from a file that the hash of their cache leaves out."""
    files = files_with_kernels()
    assert len(files) > 50
    for file in files:
        module = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
        assert {file, *files_behind(file)} <= set(kernel_sources(module)), module


def test_an_edit_elsewhere_compiles_nothing_anew() -> None:
    """The kernels of chess know no search, and no kernel knows the supervisor."""
    for file in kernel_sources("vecchess.chess.make"):
        assert "search" not in file.parts
    for kernels in files_with_kernels():
        module = ".".join(kernels.relative_to(PACKAGE.parent).with_suffix("").parts)
        assert not any("supervisor" in file.parts for file in kernel_sources(module))


def test_kernels_of_other_programs_are_named_after_their_file() -> None:
    def function() -> int:
        return 1

    kernel(function)
    assert str(cache_dir(__name__)) == numba.core.config.CACHE_DIR
    sources = kernel_sources(__name__)
    assert Path(__file__) in sources
    assert PACKAGE / "jit.py" in sources


def test_without_a_home_kernels_are_kept_in_a_folder_of_the_users_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A container with a user id that has no entry, and no HOME."""

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    own = user_cache()
    assert own.parent == tmp_path
    assert own.stat().st_mode & 0o077 == 0
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert user_cache() == Path("/elsewhere/vecchess")


CALL = """
from vecchess import rng
print(rng.random_word(1, 2, 3), sum(rng._random_u64.stats.cache_hits.values()))
"""


def call_in(sources: Path, cache: Path) -> tuple[int, int]:
    """A kernel's result with the package in ``sources``, and whether its code came from a cache;
    without Python's own, which goes by a source's time and size."""
    environment = os.environ | {"PYTHONPATH": str(sources), "NUMBA_CACHE_DIR": str(cache)}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    output = subprocess.check_output([sys.executable, "-c", CALL], env=environment, text=True)
    result, hits = output.split()
    return int(result), int(hits)


@pytest.mark.thorough
def test_equal_sources_share_kernels_and_changed_ones_never_do(tmp_path: Path) -> None:
    """Wherever they lie and whenever they were written; the change is in an inlined function. Two
    processes that begin at once compile a kernel once."""
    skipped = shutil.ignore_patterns("__pycache__", "*.png", "*.js", "*.css")
    for name in ("first", "second"):
        shutil.copytree(PACKAGE, tmp_path / name / "vecchess", ignore=skipped)
    source = tmp_path / "second" / "vecchess" / "rng.py"
    os.utime(source, (1, 1))
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(call_in, tmp_path / "first", tmp_path / "cache") for _ in range(2)]
    (result, hits), other = (call.result() for call in calls)
    assert (other[0], sorted((hits, other[1]))) == (result, [0, 1]), "one of them compiled"
    assert call_in(tmp_path / "second", tmp_path / "cache") == (result, 1)
    times = source.stat()
    source.write_text(source.read_text().replace("np.uint64(31)", "np.uint64(33)"))
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    changed, hits = call_in(tmp_path / "second", tmp_path / "cache")
    assert changed != result
    assert hits == 0
    assert call_in(tmp_path / "first", tmp_path / "cache") == (result, 1)


def test_waiting_for_another_process_that_compiles_counts_as_compiling(tmp_path: Path) -> None:
    """What an observer is told; the lock of a file does not care which process holds it."""
    fcntl = pytest.importorskip("fcntl")

    def waited_for(number: int) -> int:
        return number + 1

    compiled = kernel(waited_for)
    began, told = threading.Event(), list[bool]()
    lock = cache_dir(__name__) / f"{waited_for.__module__}.{waited_for.__qualname__}.lock"

    def observe(is_compiling: bool) -> None:
        told.append(is_compiling)
        began.set()

    observe_compiling(observe)
    try:
        with lock.open("w") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            call = threading.Thread(target=compiled, args=(1,))
            call.start()
            assert began.wait(60)
            assert call.is_alive()
            assert told == [True]
        call.join()
    finally:
        observe_compiling(lambda is_compiling: None)
    assert told == [True, False]
    assert compiled(1) == 2
