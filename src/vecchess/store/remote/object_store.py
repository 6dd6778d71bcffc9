"""Objects in a folder, in a bucket or in memory, by one interface that waits for what is away.

A place is a folder, or a URL: s3://, gs://, az:// and memory:// by way of obstore, file:// without.
An object is written whole or not at all, and one that is created only if it is absent has one
winner, whatever the number of processes and machines that try. ``ObjectStore`` asks again while a
disk, a server or the network fails; permissions, buckets and credentials that are wrong are errors
at once. Decision 320.
"""

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from random import SystemRandom
from secrets import token_hex
from threading import Lock
from time import monotonic, sleep
from typing import Any, NamedTuple, Protocol, Self, TypeVar
from urllib.parse import unquote, urlsplit

from vecchess.errors import (
    ConfigError,
    FileUnreadable,
    VecchessError,
    missing_library,
    write_error,
)
from vecchess.runtime.atomic_write import PARTIAL_PREFIX, write_shared
from vecchess.runtime.reporting import ReportLine, no_report, rounded_duration
from vecchess.safe_parse import clip_line, open_regular

FIRST_PAUSE_S, MOST_PAUSE_S = 0.5, 30.0
REPORTED_FAILURES = 3
"""Failures in a row before people are told: one is nothing to tell of."""
SCHEMES = ("s3", "gs", "az", "file", "memory")
PROBES = "fleet/.probe-"
_STATUS = re.compile(r"status code: (\d{3})")
_NO_BUCKET = re.compile(
    r"NoSuchBucket|ContainerNotFound|bucket does not exist|NoSuchContainer", re.IGNORECASE
)
_MAY_PASS = {408, 409, 425, 429, *range(500, 600)} - {501, 505}
"""HTTP statuses that another attempt may not meet."""
_MAY_PASS_TEXTS = re.compile(
    r"HTTP error: |<Code>(SlowDown|RequestTimeout|InternalError|ServiceUnavailable|Throttl)"
)
_CONFLICT = re.compile("<Code>(ConditionalRequestConflict|OperationAborted)<")
"""S3's answers while another request makes the same object, and may fail yet."""
_CAUSE = re.compile(r'ConnectError\(\s*"([^"]+)"|message: "([^"]+)"|(TimedOut)')
"""What the system said of a request that found no server."""
_METADATA_SERVERS = "169.254.", "metadata.google.internal"
"""Where clouds tell a machine its credentials: what is asked where the user has given none."""
_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
"""Scheme -> the variables that have them."""
T = TypeVar("T")


class StoreUnreachable(FileUnreadable):
    """A store did not answer for as long as the caller has patience."""


class WaitStopped(VecchessError):  # noqa: N818  (named after the event)
    """A stop was requested while a store did not answer."""


class Unanswered(Exception):  # noqa: N818
    """One attempt failed for the disk, the server or the network: another may succeed."""


class Listed(NamedTuple):
    """An object in a listing."""

    name: str
    size: int
    """Bytes."""
    tag: str
    """Another one for each content that the object has had."""


class Attempts(Protocol):
    """A store that tries each request once; see ``ObjectStore``. Raises Unanswered."""

    def create(self, name: str, data: bytes) -> bool: ...
    def put(self, name: str, data: bytes) -> None: ...
    def get(self, name: str, known: str) -> tuple[bytes | None, str] | None: ...
    def get_range(self, name: str, start: int, length: int) -> bytes | None: ...
    def listed(self, prefix: str) -> Iterable[Listed]: ...
    def delete(self, names: list[str]) -> None: ...


def is_url(place: str) -> bool:
    """Whether a user's text names a store by URL, not a folder."""
    return "://" in place


class ObjectStore:
    """The objects below a place, by their names from there on: "fleet/run.json".

    All methods may be called by several threads. Each raises StoreUnreachable where there is no
    answer for ``patience_s`` seconds, WaitStopped where ``give_up()`` is true meanwhile, and
    ConfigError for what waiting does not mend.
    """

    def __init__(
        self,
        place: str,
        attempts: Attempts,
        report_line: ReportLine = no_report,
        patience_s: float = float("inf"),
        give_up: Callable[[], bool] = lambda: False,
    ) -> None:
        """``place``: the name of the store in messages, of which ``report_line`` takes those that
        it is away and that it is back."""
        self.place = place
        self.patience_s, self.give_up = patience_s, give_up
        self.attempts, self._report_line = attempts, report_line
        self._lock, self._away_since = Lock(), 0.0

    @classmethod
    def open(cls, place: str | Path, report_line: ReportLine = no_report, **waiting: Any) -> Self:
        """The store at a URL or in a folder; nothing is asked yet. ``waiting``: see ``__init__``.

        Raises ConfigError for a URL that is wrong, or where obstore is needed and missing.
        """
        text = str(place)
        if not is_url(text):
            return cls(text, _Folder(Path(text)), report_line, **waiting)
        try:
            parts = urlsplit(text)
        except ValueError as error:
            raise ConfigError(f"{text} is no URL: {error}") from None
        if parts.scheme not in SCHEMES:
            known = ", ".join(f"{scheme}://" for scheme in SCHEMES[:-1])
            raise ConfigError(f"{text}: a URL of a run begins with {known}")
        if parts.scheme != "file":
            return cls(text, _Bucket(text), report_line, **waiting)
        path = Path(unquote(parts.path))
        if parts.netloc not in ("", "localhost") or path == Path("/") or not path.is_absolute():
            raise ConfigError(f"{text}: write file:///folder, with three slashes")
        return cls(text, _Folder(path), report_line, **waiting)

    def create(self, name: str, data: bytes) -> bool:
        """Make the object ``name`` unless it is there; returns whether this call has made it."""

        def attempt(is_again: bool) -> bool:
            if self.attempts.create(name, data):
                return True
            if not is_again:
                return False
            # an attempt before may have made it, and its answer got lost
            found = self.attempts.get(name, "")
            return found is not None and found[0] == data

        return self._answered(attempt)

    def put(self, name: str, data: bytes) -> None:
        """Make the object ``name``, in place of one that is there."""
        self._answered(lambda _: self.attempts.put(name, data))

    def get(self, name: str) -> bytes | None:
        """The content of an object, None where there is none."""
        found = self.get_new(name)
        return found and found[0]

    def get_new(self, name: str, known: str = "") -> tuple[bytes | None, str] | None:
        """Content and tag of an object, None where there is none.

        The content is None where the tag is still ``known``.
        """
        return self._answered(lambda _: self.attempts.get(name, known))

    def get_range(self, name: str, start: int, length: int) -> bytes | None:
        """``length`` bytes of an object from ``start`` on, fewer at its end; None without one."""
        return self._answered(lambda _: self.attempts.get_range(name, start, length))

    def listed(self, prefix: str) -> list[Listed]:
        """The objects whose names begin with ``prefix``, by name."""
        return self._answered(lambda _: sorted(self.attempts.listed(prefix)))

    def names(self, prefix: str) -> list[str]:
        """The names of ``listed``, ascending."""
        return [each.name for each in self.listed(prefix)]

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; those that are not there are left out."""
        if wanted := [*names]:
            self._answered(lambda _: self.attempts.delete(wanted))

    def probe(self) -> None:
        """Raise ConfigError for a store that overwrites what is to be made only if absent.

        It needs to be writable; one object is made and deleted.
        """
        name = f"{PROBES}{token_hex(8)}"
        try:
            is_good = self.create(name, b"first") and not self.create(name, b"second")
            is_good = is_good and self.get(name) == b"first"
        finally:
            self.delete([name])
        if not is_good:
            raise ConfigError(
                f"{self.place} overwrites objects that are to be made only if they are absent, so "
                "two machines could undo each other's work: choose a server that knows "
                "If-None-Match, as S3, Google, Azure and MinIO do"
            )

    def _answered(self, attempt: Callable[[bool], T]) -> T:
        """The result of ``attempt(is_again)``, which is called again while it raises Unanswered."""
        began, pause_s, failures = monotonic(), FIRST_PAUSE_S, 0
        while True:
            try:
                answer = attempt(failures > 0)
            except Unanswered as error:
                failures += 1
                self._note_failure(failures, error)
                if monotonic() - began + pause_s > self.patience_s:
                    raise StoreUnreachable(f"cannot reach {self.place}: {error}") from None
                self._wait(pause_s * SystemRandom().uniform(0.75, 1.25), error)
                pause_s = min(2 * pause_s, MOST_PAUSE_S)
            else:
                self._note_answer()
                return answer

    def _wait(self, pause_s: float, error: Exception) -> None:
        end = monotonic() + pause_s
        while (left_s := end - monotonic()) > 0:
            if self.give_up():
                raise WaitStopped(f"stopped while {self.place} could not be reached: {error}")
            sleep(min(left_s, 0.1))

    def _note_failure(self, failures: int, error: Exception) -> None:
        with self._lock:
            if failures < REPORTED_FAILURES or self._away_since:
                return
            self._away_since = monotonic()
        self._report_line(f"cannot reach {self.place}, asking again until it answers: {error}")

    def _note_answer(self) -> None:
        if not self._away_since:
            return
        with self._lock:
            away_s, self._away_since = monotonic() - self._away_since, 0.0
        self._report_line(f"{self.place} answers again, after {rounded_duration(away_s)}")


class _Folder:
    """Objects as files of a folder, durable: a local disk, or one that machines share."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def create(self, name: str, data: bytes) -> bool:
        with self._failures(name):
            return write_shared(self._path(name), data, replaces=False)

    def put(self, name: str, data: bytes) -> None:
        with self._failures(name):
            write_shared(self._path(name), data, replaces=True)

    def get(self, name: str, known: str) -> tuple[bytes | None, str] | None:
        with self._failures(name), suppress(FileNotFoundError), open_regular(self._path(name)) as f:
            tag = _tag(os.fstat(f.fileno()))
            return (None if tag == known else f.read()), tag
        return None

    def get_range(self, name: str, start: int, length: int) -> bytes | None:
        with self._failures(name), suppress(FileNotFoundError), open_regular(self._path(name)) as f:
            f.seek(start)
            return f.read(length)
        return None

    def listed(self, prefix: str) -> list[Listed]:
        found: list[Listed] = []
        folders = [prefix.rpartition("/")[0]]
        while folders:
            inside = f"{folders[0]}/" if folders[0] else ""
            with (
                self._failures(folders[0]),
                suppress(FileNotFoundError, NotADirectoryError),
                os.scandir(self._root / folders.pop(0)) as entries,
            ):
                for entry in entries:
                    name = f"{inside}{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(name)
                    elif name.startswith(prefix) and _is_whole(entry.name):
                        with suppress(FileNotFoundError):  # deleted meanwhile
                            status = entry.stat()
                            found.append(Listed(name, status.st_size, _tag(status)))
        return found

    def delete(self, names: list[str]) -> None:
        for name in names:
            with self._failures(name):
                self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        parts = name.split("/")
        assert not {"", ".", ".."} & {*parts}, f"{name} leads out of a store"
        return self._root.joinpath(*parts)

    @contextmanager
    def _failures(self, name: str) -> Iterator[None]:
        """Tell apart what waiting may mend, and what not."""
        try:
            yield
        except OSError as error:
            place = self._root / name
            if error.errno in (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV):
                raise ConfigError(
                    f"cannot write {place}: {error.strerror}; a fleet needs a file system with "
                    "hard links, or a bucket (s3://, gs://, az://)"
                ) from None
            refused = write_error(f"cannot use {place}", error, ConfigError)
            if isinstance(refused, ConfigError):
                raise refused from None
            raise Unanswered(str(refused)) from None


class _Bucket:
    """Objects by obstore, which takes credentials and endpoints from the environment."""

    def __init__(self, url: str) -> None:
        self._url, self._has_answered = url, False
        self._store = _memory(url) if url.startswith("memory:") else _open_bucket(url)

    def create(self, name: str, data: bytes) -> bool:
        obs = _obstore()
        try:
            with self._failures(is_write=True):
                obs.put(self._store, name, data, mode="create")
                return True
        except obs.exceptions.AlreadyExistsError:
            return False

    def put(self, name: str, data: bytes) -> None:
        with self._failures(is_write=True):
            _obstore().put(self._store, name, data, max_concurrency=2)

    def get(self, name: str, known: str) -> tuple[bytes | None, str] | None:
        obs = _obstore()
        try:
            with self._failures():
                found = obs.get(
                    self._store, name, options={"if_none_match": known} if known else {}
                )
                return bytes(found.bytes()), found.meta["e_tag"] or ""
        except obs.exceptions.NotModifiedError:
            return None, known
        except FileNotFoundError:
            return None

    def get_range(self, name: str, start: int, length: int) -> bytes | None:
        try:
            with self._failures():
                return bytes(_obstore().get_range(self._store, name, start=start, length=length))
        except FileNotFoundError:
            return None
        except _PastTheEnd:
            return b""

    def listed(self, prefix: str) -> list[Listed]:
        folder = prefix.rpartition("/")[0]  # obstore knows whole folders only
        with self._failures():
            pages = _obstore().list(self._store, folder or None, chunk_size=1000)
            each = (
                Listed(one["path"], one["size"], one["e_tag"] or "") for p in pages for one in p
            )
            return [one for one in each if one.name.startswith(prefix)]

    def delete(self, names: list[str]) -> None:
        try:
            with self._failures():
                _obstore().delete(self._store, names)
        except FileNotFoundError:  # some servers mind, and leave the others
            for name in names:
                with suppress(FileNotFoundError), self._failures():
                    _obstore().delete(self._store, name)

    @contextmanager
    def _failures(self, is_write: bool = False) -> Iterator[None]:
        """Tell apart what waiting may mend, and what not."""
        obs = _obstore()
        known = obs.exceptions.AlreadyExistsError, obs.exceptions.NotModifiedError
        try:
            yield
            self._has_answered = True
        except known as error:
            if _CONFLICT.search(str(error)):
                raise Unanswered("another writer makes the same object") from None
            self._has_answered = True
            raise
        except (obs.exceptions.BaseError, OSError, ValueError) as error:
            self._explain(error, is_write)
            raise

    def _explain(self, error: Exception, is_write: bool) -> None:
        """Raise Unanswered or ConfigError for ``error``, unless it says that there is no object."""
        text = str(error)
        found = _STATUS.search(text)
        status = int(found[1]) if found else 0
        if _NO_BUCKET.search(text) or (isinstance(error, FileNotFoundError) and is_write):
            raise ConfigError(f"{self._url}: there is no such bucket") from None
        if isinstance(error, FileNotFoundError):
            return
        if status == 416 or "Invalid range" in text:
            raise _PastTheEnd from None
        if not self._has_answered and any(server in text for server in _METADATA_SERVERS):
            names = _CREDENTIALS[urlsplit(self._url).scheme]
            raise ConfigError(f"{self._url}: no credentials are known: set {names}") from None
        reason = _reason(text)
        if status in _MAY_PASS or _MAY_PASS_TEXTS.search(text):
            raise Unanswered(reason) from None
        raise ConfigError(f"{self._url}: {reason}") from None


class _PastTheEnd(Exception):  # noqa: N818
    """A range begins at or after the end of its object."""


@cache
def _obstore() -> Any:
    try:
        import obstore.exceptions
    except ImportError:
        raise missing_library("obstore", "fleet") from None
    return obstore


@cache
def _memory(url: str) -> Any:
    """The store of that URL, of which a process has one."""
    _obstore()
    from obstore.store import MemoryStore

    return MemoryStore()


def _open_bucket(url: str) -> Any:
    obs = _obstore()
    from obstore.store import from_url

    try:
        return from_url(
            url,
            client_options={  # an endpoint over http is one that the user chose
                "allow_http": True,
                "connect_timeout": timedelta(seconds=5),
                "read_timeout": timedelta(seconds=60),
                "timeout": timedelta(seconds=600),
            },
            retry_config={"max_retries": 0},
        )
    except (obs.exceptions.BaseError, ValueError) as error:
        raise ConfigError(f"{url}: {_reason(str(error))}") from None


def _reason(text: str) -> str:
    """What obstore says, in one line: the server's code and message where there are any."""
    first, _, details = text.partition("\n\nDebug source")
    if causes := ["".join(found) for found in _CAUSE.findall(details)]:
        return clip_line(", ".join(dict.fromkeys(causes)))
    words = re.findall(r"<(?:Code|Message)>([^<]*)<", first)
    status = re.search(r"status code: (\d{3}[^:<]*)", first)
    return clip_line(" ".join([*(status.groups() if status else ()), *words]) or first)


def _tag(status: os.stat_result) -> str:
    return f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"


def _is_whole(name: str) -> bool:
    return not name.startswith(PARTIAL_PREFIX)
