"""Runs by the place that a user names: a folder, which is used as it is, or a URL.

Of a URL there is a copy in a folder of this machine: a reader's, a learner's, or settings alone.
"""

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from vecchess.errors import VecchessError
from vecchess.jit import user_cache
from vecchess.runtime.file_lock import file_lock
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.runtime.signals import StopSignals
from vecchess.store.remote.object_store import ObjectStore, is_url
from vecchess.store.remote.run_mirror import CONFIG, STATUS, RunMirror
from vecchess.store.run_folder import RunFolder

STATUS_INTERVAL_S = 4.0
FOLLOW_INTERVAL_S = 1.0
READER_PATIENCE_S = 60.0
SAVING_S = 20.0
"""So long after a stop was requested a store is still waited for: it is to take what was saved."""


def run_here(place: str, report_line: ReportLine, with_shards: bool = True) -> Path:
    """The folder of a run that a user names by folder or URL: of a URL its copy, brought up to
    date. Raises as ``RunMirror.pull``."""
    if not is_url(place):
        return Path(place)
    mirror = _reader(place, report_line)
    mirror.pull(with_shards)
    mirror.refresh_status()
    return mirror.folder


@contextmanager
def followed_run(place: str, report_line: ReportLine, with_shards: bool = True) -> Iterator[Path]:
    """``run_here``, and within the block a thread brings the copy up to date once a second."""
    if not is_url(place):
        yield Path(place)
        return
    folder = run_here(place, report_line, with_shards)
    is_over = threading.Event()
    files, status = (_reader(place, no_report, is_over.is_set) for _ in range(2))

    def follow(refresh: Callable[[], None]) -> None:
        while not is_over.wait(FOLLOW_INTERVAL_S):
            with suppress(VecchessError):  # it is away for long, or deleted
                refresh()

    works = partial(files.refresh, with_shards), status.refresh_status
    threads = [
        threading.Thread(target=follow, args=(work,), name="follow-run", daemon=True)
        for work in works
    ]
    for thread in threads:
        thread.start()
    try:
        yield folder
    finally:
        is_over.set()
        for thread in threads:
            thread.join(1.0)  # a request may hang


def has_begun(place: str, report_line: ReportLine) -> bool:
    """Whether a run has begun in a folder or at a URL. Raises as ``ObjectStore``."""
    if not is_url(place):
        return RunFolder(Path(place)).has_begun
    return ObjectStore.open(place, report_line).get_range(CONFIG, 0, 1) is not None


@contextmanager
def learner_copy(
    place: str,
    resume: bool,
    report_line: ReportLine,
    restarts: bool = False,
    push_every_s: float = inf,
    stop: StopSignals | None = None,
) -> Iterator[Path]:
    """The folder in which a learner works on the run at a URL, or the folder that it names.

    At the end all is written to the URL, the run's status every few seconds, and all that changed
    after ``push_every_s``, for who does not call ``push_of``. ``stop`` is requested where another
    learner has gone on with the run. Raises as ``RunMirror.begin``, DataError for such a learner,
    and FileBusy where a learner of this machine works on that run.
    """
    if not is_url(place):
        yield Path(place)
        return
    folder = copy_folder(place, "learner")
    folder.mkdir(parents=True, exist_ok=True)
    stop = stop or StopSignals()
    with file_lock(folder.parent / ".learner.lock", 0.0, f"another vecchess that writes {place}"):
        store = ObjectStore.open(place, report_line, give_up=stop.late_after(SAVING_S))
        RunMirror(store, folder).begin(resume, restarts)
        try:
            with _sharing(place, folder, push_every_s, stop):
                yield folder
        except BaseException:
            with suppress(VecchessError):  # what went wrong before counts
                RunMirror(store, folder).push()
            raise
        RunMirror(store, folder).push()


@contextmanager
def settings_copy(place: str, report_line: ReportLine) -> Iterator[Path]:
    """A folder that has the settings of the run at a URL, if it has begun, and nothing else; or the
    folder that ``place`` names."""
    if not is_url(place):
        yield Path(place)
        return
    with TemporaryDirectory(prefix="vecchess-") as folder:
        data = ObjectStore.open(place, report_line).get(CONFIG)
        if data is not None:
            (Path(folder) / CONFIG).write_bytes(data)
        yield Path(folder)


@contextmanager
def _sharing(place: str, folder: Path, push_every_s: float, stop: StopSignals) -> Iterator[None]:
    """Write the status to the URL again and again, once the run has begun there, and at times all
    of the copy; request a stop where the run is another's."""
    is_over, shared, due = threading.Event(), b"", 0.0
    store = ObjectStore.open(place, give_up=is_over.is_set)

    def share() -> None:
        nonlocal shared, due
        while not is_over.wait(STATUS_INTERVAL_S):
            with suppress(OSError, VecchessError):
                is_writer = RunMirror(store, folder).is_the_writer()
                if is_writer is False:
                    stop.request_stop("another vecchess, which has gone on with the run")
                    return
                if push_every_s < inf and monotonic() >= due:
                    RunMirror(store, folder).push()
                    due = monotonic() + push_every_s
                status = (folder / STATUS).read_bytes()
                if is_writer and status != shared:
                    store.put(STATUS, status)
                    shared = status

    thread = threading.Thread(target=share, name="share-status", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def push_of(
    folder: Path, is_writer: bool, report_line: ReportLine, stop: StopSignals
) -> Callable[[], None]:
    """What a learner calls after each generation, to write ``folder`` to the run's URL; it does
    nothing where there is none, or where it is not the ``is_writer``."""
    mirror = None
    if is_writer:
        mirror = RunMirror.of_copy(folder, report_line, give_up=stop.late_after(SAVING_S))
    return mirror.push if mirror else lambda: None


def copy_folder(place: str, role: str = "reader") -> Path:
    """Where this machine keeps its copy of the run at a URL; its last part names the run."""
    digest = hashlib.sha256(place.rstrip("/").encode()).hexdigest()[:16]
    name = place.rstrip("/").split("/")[-1]
    return user_cache() / "runs" / f"{digest}-{role}" / (name if name.strip(".") else "run")


def _reader(
    place: str, report_line: ReportLine, give_up: Callable[[], bool] = lambda: False
) -> RunMirror:
    store = ObjectStore.open(place, report_line, patience_s=READER_PATIENCE_S, give_up=give_up)
    return RunMirror(store, copy_folder(place))
