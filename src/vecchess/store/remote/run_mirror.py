"""A run at a URL, and its copy in a folder of this machine.

Below the URL lie the files of a run folder under their names, and fleet/files.json, which says what
each of them holds. Games of a fleet are there once: a shard bT-B-P.npz, with its cut, is made from
the object of its block (``block_file``). Boards in progress stay where they are played.

``RunMirror.push`` writes what others name before what names it: shards, cuts and networks, then the
manifest, the mark on the newest network, and checkpoints; then it deletes. So a reader, or a
learner that goes on after a kill at any moment, finds each file that another one names. Decisions
321 and 322.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple, Self, TypeVar

from vecchess.errors import ConfigError, DataError
from vecchess.runtime.atomic_write import (
    path_refusals,
    remove_file,
    remove_folder,
    write_atomically,
)
from vecchess.runtime.file_lock import file_lock
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.retried_read import read_file, retried, unreadable
from vecchess.safe_parse import clip_line, parse_json_object
from vecchess.store.manifest import MANIFEST_NAME, ShardEntry, parse_lines
from vecchess.store.remote.block_file import BLOCKS, BlockName, blocks_of, unpack_block
from vecchess.store.remote.object_store import ObjectStore, is_url
from vecchess.store.run_folder import CUTS, LATEST, RUN_ID_FILE

CONFIG, STATUS = "config.toml", "status.json"
INDEX = "fleet/files.json"
MANIFEST = f"games/{MANIFEST_NAME}"
NAMING = (MANIFEST, "games/needed.json", LATEST)
"""Files that name others, in the order in which they may appear."""
STATE = ".mirror.json"
"""File of a copy: the run's URL, and what of it was the same at both places last."""
LATE = ("metrics.jsonl", "log.", "checkpoints/", STATUS)
"""Beginnings of the names of what is written last, in this order."""
NOT_MIRRORED = ("live/", "tensorboard/", "fleet/", "games/", f"{CUTS}/")
"""Folders of which only shards and cuts are at the URL, as far as the manifest lists them."""
OF_LEARNERS = ("checkpoints/", "inflight/", "data/", "launch")
"""What readers do not need."""
MOST_INDEX_BYTES = 1 << 26
LOCK_WAIT_S = 600.0
NUM_THREADS = 8
SCHEMA = 1
T = TypeVar("T")
U = TypeVar("U")


class Synced(NamedTuple):
    """A file that was the same in the copy and at the URL."""

    version: str
    """Version of its content; "" for what never changes under its name."""
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: Path, version: str) -> "Synced":
        """The file at ``path``, as it is now."""
        status = path.stat()
        return cls(version, status.st_size, status.st_mtime_ns)


class RunMirror:
    """The copy, in ``folder``, of the run in ``store``. One thread uses it at a time."""

    def __init__(self, store: ObjectStore, folder: Path) -> None:
        """The run need not have begun, nor the folder exist."""
        self.store, self.folder = store, folder
        self._synced: dict[str, Synced] = {}
        self._tags = {INDEX: "", STATUS: ""}
        self._writer = ""
        self._load()

    @classmethod
    def of_copy(cls, folder: Path, report_line: ReportLine, **waiting: Any) -> Self | None:
        """The mirror of which ``folder`` is a learner's copy; None for any other folder."""
        if not is_url(place := place_of(folder)):
            return None
        mirror = cls(ObjectStore.open(place, report_line, **waiting), folder)
        return mirror if mirror._writer else None

    def pull(self, with_shards: bool = True, is_learner: bool = False) -> None:
        """Bring the copy up to date; nothing of it names a file that is not there.

        ``with_shards``: games too, not their manifest alone. ``is_learner``: checkpoints, cuts and
        data too, and what the run does not have goes. Raises ConfigError where there is no run,
        DataError where an object is damaged.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with file_lock(self.folder.parent / ".lock", LOCK_WAIT_S, "another reader of this run"):
            self._load()
            for is_last in (False, False, True):
                if self._pull_once(with_shards, is_learner, is_last):
                    return

    def _pull_once(self, with_shards: bool, is_learner: bool, is_last: bool) -> bool:
        """Pull once; False where an object was deleted meanwhile. ``is_last``: what is not there is
        left out."""
        naming = {name: self.store.get(name) for name in NAMING}
        versions = self._versions()
        if CONFIG not in versions:
            raise ConfigError(f"{self.store.place} is not a run: it has no {CONFIG}")
        known = self._synced.get(RUN_ID_FILE)
        if known is not None and known.version != versions.get(RUN_ID_FILE, ""):
            self._clear()  # it is the copy of an earlier run at this URL
        wanted = [n for n in versions if is_learner or not n.startswith(OF_LEARNERS)]
        stale = [n for n in wanted if n not in NAMING and not self._has(n, versions[n])]
        if not is_learner and (self.folder / STATUS).exists():  # see refresh_status
            stale = [name for name in stale if name != STATUS]
        has_files = all(self._each(lambda name: self._pull_file(name, versions[name]), stale))
        entries = _entries(naming[MANIFEST])
        has_shards = not with_shards or self._pull_shards(entries, is_learner)
        if not (has_files and has_shards) and not is_last:
            return False
        for name, content in naming.items():
            if content is not None:
                self._write(name, content, versions.get(name, ""))
                wanted.append(name)
        games = (f"{folder}/{each.file}" for folder in ("games", CUTS) for each in entries)
        self._forget({*wanted, *games}, is_learner)
        self._save()
        return True

    def _pull_file(self, name: str, version: str) -> bool:
        data = self.store.get(name)
        if data is not None:
            self._write(name, data, version)
        return data is not None

    def _pull_shards(self, entries: list[ShardEntry], with_cuts: bool) -> bool:
        """Get the shards that the copy lacks; False where one was deleted meanwhile."""
        kept = set(self.store.names(f"{CUTS}/")) if with_cuts else set()
        wanted = []  # file, whether its shard is lacking, whether its cut
        for each in entries:
            cut, lacks_shard = f"{CUTS}/{each.file}", not self._has(f"games/{each.file}", "")
            if BlockName.of_file(each.file) is None:
                lacks_cut = cut in kept and not self._has(cut, "")
            else:  # beside its shard it is gone because no checkpoint needs it
                lacks_cut = with_cuts and lacks_shard
            lacks_cut = lacks_cut and bool(each.cut)
            if lacks_shard or lacks_cut:
                wanted.append((each.file, lacks_shard, lacks_cut))
        return all(self._each(lambda file: self._pull_shard(*file), wanted))

    def _pull_shard(self, file: str, lacks_shard: bool, lacks_cut: bool) -> bool:
        """Get a shard, its cut or both; False where there is none any more.

        The cut is written first: so a kill leaves no shard without the cut that it came with.
        """
        name, shard, cut = BlockName.of_file(file), None, None
        if name is None:
            shard = self.store.get(f"games/{file}") if lacks_shard else b""
            cut = self.store.get(f"{CUTS}/{file}") if lacks_cut else b""
        elif (data := self.store.get(name.object)) is not None:
            shard, cut = unpack_block(name.object, data)
        if shard is None or cut is None:
            return False
        if lacks_cut and cut:
            self._write(f"{CUTS}/{file}", cut, "")
        if lacks_shard and shard:
            self._write(f"games/{file}", shard, "")
        return True

    def refresh(self, with_shards: bool) -> None:
        """Bring a reader's copy up to date: a short request where nothing has changed."""
        if (found := self._new_of(INDEX)) is not None:
            self.pull(with_shards)
            self._tags[INDEX] = found[1]

    def refresh_status(self) -> None:
        """Bring the run's status alone up to date. Another mirror of the folder does it, in a
        thread of its own: files take long, and a run whose status grows old counts as lost."""
        if (found := self._new_of(STATUS)) is not None:
            write_atomically(self.folder / STATUS, found[0], durably=False)
            self._tags[STATUS] = found[1]

    def _new_of(self, name: str) -> tuple[bytes, str] | None:
        """An object and its tag, if it has changed."""
        found = self.store.get_new(name, self._tags[name])
        return None if found is None or found[0] is None else (found[0], found[1])

    def begin(self, resume: bool, restarts: bool = False) -> None:
        """Begin a run, or go on with it, as its one writer: the copy becomes as the run.

        ``restarts``: go on where there is a run, else begin. Raises ConfigError where there is one
        or none against ``resume``, or where the store overwrites what others have made.
        """
        has_begun = self.store.get(CONFIG) is not None
        if has_begun and not (resume or restarts):
            raise ConfigError(
                f"{self.store.place} holds a run already: add --resume, or choose another place"
            )
        if resume and not has_begun:
            raise ConfigError(f"{self.store.place} is not a run: it has no {CONFIG}")
        self.store.probe()
        if has_begun:
            self.pull(is_learner=True)
            if MANIFEST not in self._versions():  # killed in its first push: no game counts
                remove_file(self.folder / RUN_ID_FILE)
        else:
            self._clear()
        self._writer = token_hex(8)
        if has_begun:
            self._put_index()
            self._delete_orphans()
        self._save()

    def push(self) -> None:
        """Write to the URL what has changed in the copy, and delete what has gone.

        Raises ConfigError where another learner has begun a run there meanwhile, DataError where
        one has gone on with this one.
        """
        naming = {name: self._read(name) for name in NAMING if (self.folder / name).exists()}
        entries = _entries(naming.get(MANIFEST))
        files = self._local_files(entries)
        changed = [name for name in files if not self._is_pushed(name)]
        gone = self._synced.keys() - {*files, *NAMING}
        new = {n: data for n, data in naming.items() if not self._is_pushed(n, data)}
        if CONFIG not in files or not (changed or gone or new):
            return
        self._check_writer()
        early = [name for name in changed if not name.startswith(LATE)]
        self._each(self._upload, early)
        if early:
            self._put_index()
        for name, data in new.items():
            self._upload(name, data)
        for name in sorted(set(changed) - set(early), key=_rank):
            self._upload(name)
        for name in gone:
            del self._synced[name]
        self._put_index()
        self.store.delete(filter(None, map(_object_of, gone)))
        self._save()

    def _check_writer(self) -> None:
        """Begin the run at the URL where this is the first push; raise where it is another's."""
        place = self.store.place
        if CONFIG not in self._synced:
            if not self.store.create(CONFIG, self._read(CONFIG)):
                raise ConfigError(f"another vecchess has begun a run at {place} meanwhile")
            self._synced[CONFIG] = Synced.of(self.folder / CONFIG, _version(self._read(CONFIG)))
            self._put_index()
            return
        if not self.is_the_writer():
            raise DataError(
                f"another vecchess has gone on with {place}: this one ends, and what it has done "
                "since its last upload is not there"
            )

    def is_the_writer(self) -> bool | None:
        """Whether no other learner has gone on with the run, as the store says; None where it has
        not begun there."""
        index = self._read_index()
        return None if index is None else index["writer"] == self._writer

    def _upload(self, name: str, data: bytes | None = None) -> None:
        """Put a file of the copy, or ``data`` of it; a block's object is there already."""
        try:
            synced = Synced.of(self.folder / name, "")  # before it is read: it may grow
        except OSError as error:
            raise unreadable(self.folder / name, error) from None
        if not _is_game_file(name):
            data = self._read(name) if data is None else data
            synced = synced._replace(version=_version(data))
            self.store.put(name, data)
        elif BlockName.of_file(_file_name(name)) is None:
            self.store.put(name, self._read(name))
        self._synced[name] = synced

    def _local_files(self, entries: list[ShardEntry]) -> list[str]:
        """The names of all files of the copy that belong to the URL, but those that name others."""
        names = [
            path.relative_to(self.folder).as_posix()
            for top in self.folder.iterdir()
            if not f"{top.name}/".startswith(NOT_MIRRORED)
            for path in ([top] if top.is_file() else top.rglob("*"))
            if path.is_file()
        ]
        cuts = {path.name for path in (self.folder / CUTS).glob("*.npz")}
        return [
            *(name for name in names if _is_mirrored(name) and name not in NAMING),
            *(f"games/{each.file}" for each in entries),
            *(f"{CUTS}/{each.file}" for each in entries if each.file in cuts),
        ]

    def _delete_orphans(self) -> None:
        """Delete what a learner that was killed has put, and nothing names."""
        kept = {*self._synced, *NAMING, CONFIG, STATUS, INDEX}
        for folder in ("games/", f"{CUTS}/", "checkpoints/"):
            self.store.delete(name for name in self.store.names(folder) if name not in kept)
        blocks = [each for each in map(BlockName.of_file, map(_file_name, kept)) if each]
        if blocks:  # those of earlier tasks are pruned; of later ones results may be to come
            end = blocks_of(min(blocks).task)
            self.store.delete(name for name in self.store.names(BLOCKS) if name < end)

    def _versions(self) -> dict[str, str]:
        """Name -> version of all files but shards and cuts. Of a run that was copied to its URL by
        other means the objects are listed."""
        index = self._read_index()
        if index is not None:
            found = dict(index["files"])
        else:
            found = {each.name: each.tag for each in self.store.listed("")}
        return {name: str(version) for name, version in found.items() if _is_mirrored(name)}

    def _read_index(self) -> dict[str, Any] | None:
        data = self.store.get(INDEX)
        if data is None:
            return None
        try:
            index = parse_json_object(data, MOST_INDEX_BYTES)
            return {"writer": str(index["writer"]), "files": dict(index["files"])}
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{self.store.place}/{INDEX} is damaged: {clip_line(error)}") from None

    def _put_index(self) -> None:
        files = {n: each.version for n, each in self._synced.items() if not _is_game_file(n)}
        values = {"schema": SCHEMA, "writer": self._writer, "files": files}
        self.store.put(INDEX, json.dumps(values).encode())

    def _load(self) -> None:
        """Read what ``_save`` has written."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            head, files = map(json.loads, (self.folder / STATE).read_bytes().splitlines())
            self._writer = str(head["writer"])
            self._synced = {name: Synced(*each) for name, each in files.items()}

    def _save(self) -> None:
        """Write what is the same at both places, beside the copy's files."""
        head = {"place": self.store.place, "writer": self._writer}
        text = f"{json.dumps(head)}\n{json.dumps(self._synced)}\n"
        write_atomically(self.folder / STATE, text.encode())

    def _has(self, name: str, version: str) -> bool:
        """Whether the copy has that version of a file, unchanged."""
        return self._is_pushed(name) and self._synced[name].version == version

    def _is_pushed(self, name: str, data: bytes | None = None) -> bool:
        """Whether a file, or ``data`` of it, is as it was when it was the same at both places."""
        known = self._synced.get(name)
        if known is None or data is not None:
            return known is not None and known.version == _version(data or b"")
        with suppress(OSError):
            return Synced.of(self.folder / name, known.version) == known
        return False

    def _write(self, name: str, data: bytes, version: str) -> None:
        path = self.folder / name
        with path_refusals(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, data, durably=False)
            self._synced[name] = Synced.of(path, version)

    def _read(self, name: str) -> bytes:
        return retried(read_file, self.folder / name)

    def _clear(self) -> None:
        remove_folder(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._synced = {}

    def _forget(self, kept: set[str], is_learner: bool) -> None:
        """Remove the files that the run has no more; of a learner's copy all that it has not."""
        gone = [name for name in self._synced if name not in kept]
        for name in gone:
            del self._synced[name]
            remove_file(self.folder / name)
        for path in self.folder.rglob("*") if is_learner else ():
            name = path.relative_to(self.folder).as_posix()
            if path.is_file() and name not in kept and name != STATE:
                remove_file(path)

    def _each(self, work: Callable[[T], U], items: Iterable[T]) -> list[U]:
        """``work`` of each of ``items``, several at a time."""
        give_up = self.store.give_up
        with ThreadPoolExecutor(NUM_THREADS) as threads:
            try:
                return list(threads.map(work, items))
            except BaseException:  # Ctrl-C: they need not wait for a store that is away
                self.store.give_up = lambda: True
                threads.shutdown(cancel_futures=True)
                self.store.give_up = give_up
                raise


def place_of(folder: Path) -> str:
    """The URL of which ``folder`` is a copy, or the folder."""
    with suppress(OSError, ValueError, KeyError, TypeError), (folder / STATE).open("rb") as file:
        return str(json.loads(file.readline())["place"])
    return str(folder)


def _entries(manifest: bytes | None) -> list[ShardEntry]:
    """The shards that a manifest lists."""
    lines = (manifest or b"").splitlines()[1:]
    try:
        return parse_lines(lines) if lines else []
    except ValueError as error:
        raise DataError(f"{MANIFEST} is damaged: {clip_line(error)}") from None


def _is_mirrored(name: str) -> bool:
    """Whether a file has its name at the URL too, and its version in the index."""
    parts = name.split("/")
    is_plain = name.isprintable() and not any(
        part.startswith(".") or not part or "\\" in part for part in parts
    )
    return is_plain and (name in NAMING or not name.startswith(NOT_MIRRORED))


def _is_game_file(name: str) -> bool:
    return name.startswith(("games/", f"{CUTS}/")) and name not in NAMING


def _file_name(name: str) -> str:
    return name.rpartition("/")[2]


def _object_of(name: str) -> str | None:
    """The object that has a file of the copy; None for a cut that its shard's object has."""
    block = BlockName.of_file(_file_name(name)) if _is_game_file(name) else None
    if block is None:
        return name
    return block.object if name.startswith("games/") else None


def _rank(name: str) -> tuple[int, str]:
    return next(rank for rank, start in enumerate(LATE) if name.startswith(start)), name


def _version(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
