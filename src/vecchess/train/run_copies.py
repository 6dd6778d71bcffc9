"""The folder of a run on each machine: the run's own on rank 0's, a copy of what is read on others.

Rank 0 plays and writes the run. The ranks of another machine learn from the same games: rank 0
sends them, only what is new, and the first rank there keeps them in a temporary folder, which ends
with the process. So no folder has to be shared, and a shared one is not written to (decision 316).
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from vecchess.errors import ConfigError, write_error
from vecchess.runtime.atomic_write import remove_file
from vecchess.runtime.retried_read import read_file, retried
from vecchess.selfplay.worker.networks import latest_net
from vecchess.store.id_set import IdSet
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.run_folder import LATEST, RunFolder
from vecchess.store.run_pins import PINS_FILE
from vecchess.train.distributed.ranks import Ranks

GROUP_BYTES = 1 << 25
"""About as many are sent at a time."""


class RunCopies:
    """The copies of a run on its other machines. All ranks call the methods together."""

    def __init__(self, run: RunFolder, ranks: Ranks) -> None:
        """``run``: that of ``open_folder``."""
        self.run, self._ranks = run, ranks
        self._is_copied = ranks.num_nodes > 1
        self._is_copy = ranks.node > 0 and ranks.is_local_main
        self._manifest: Manifest | None = None
        self._sent: frozenset[str] = frozenset()

    def send_start(self) -> None:
        """Send what ranks begin with: pins and inputs."""
        self._send(lambda: [PINS_FILE, *self._names_in("inputs")])

    def send_latest(self) -> None:
        """Send the newest network, where there is one."""
        self._send(self._names_of_latest)

    def send_data(self) -> None:
        """Send what was imported for ``--data``."""
        self._send(lambda: self._names_in("data"))

    def send_games(self, first: int, end: int, with_unfinished: bool) -> None:
        """Send the games of the segments ``first`` to ``end`` - 1, as far as they are new; copies
        forget others. ``with_unfinished``: the segments' unfinished games too.

        Raises DataError where rank 0 cannot read them, or they cannot be written.
        """
        if not self._is_copied:
            return
        with ExitStack() as stack:
            entries: list[ShardEntry] = []
            if self._ranks.is_main:
                self._manifest = self._manifest or self.run.manifest()
                stack.enter_context(self._manifest.locked())  # no rewrite removes shards meanwhile
                entries = self._manifest.entries_of(IdSet([(first, end)]))
            names = frozenset(f"games/{entry.file}" for entry in entries)
            if with_unfinished:
                names |= {f"cuts/{entry.file}" for entry in entries if entry.cut}
            self._send(lambda: sorted(names - self._sent))
            self._sent = names
        lines = json.dumps([entry.to_dict() for entry in entries]).encode()
        lines = self._ranks.broadcast_bytes(lines)
        if self._is_copy:
            self._list(ShardEntry.from_dicts(json.loads(lines)))
        self._ranks.barrier()

    def _list(self, entries: list[ShardEntry]) -> None:
        """Let the copy's manifest list ``entries``, and remove all other games."""
        self.run.games.mkdir(parents=True, exist_ok=True)
        Manifest(self.run.games).replace(entries)
        kept = {entry.file for entry in entries}
        for folder in (self.run.games, self.run.cuts):
            for file in folder.glob("*.npz"):
                if file.name not in kept:
                    remove_file(file)

    def _names_in(self, folder: str) -> list[str]:
        """The files in a folder of the run, by their paths in it."""
        files = sorted(file for file in (self.run.path / folder).rglob("*") if file.is_file())
        return [file.relative_to(self.run.path).as_posix() for file in files]

    def _names_of_latest(self) -> list[str]:
        """The files of the newest network, where there is one."""
        if not (self.run.path / LATEST).exists():
            return []
        return [f"nets/{latest_net(self.run).file.name}", LATEST]

    def _send(self, find_names: Callable[[], Iterable[str]]) -> None:
        """Send files of rank 0's folder to the copies; ``find_names`` is called there alone."""
        if not self._is_copied:
            return
        left = iter(find_names() if self._ranks.is_main else ())
        while group := self._ranks.broadcast_bytes(self._packed(left)):
            if self._is_copy:
                self._unpack(group)
        self._ranks.barrier()

    def _packed(self, names: Iterator[str]) -> bytes:
        """The next files of ``names``, with a line of their names and sizes before; empty where
        there are none."""
        sizes: list[tuple[str, int]] = []
        content = bytearray()
        for name in names:
            data = retried(read_file, self.run.path / name)
            sizes.append((name, len(data)))
            content += data
            if len(content) >= GROUP_BYTES:
                break
        return json.dumps(sizes).encode() + b"\n" + bytes(content) if sizes else b""

    def _unpack(self, group: bytes) -> None:
        header, _, content = group.partition(b"\n")
        first = 0
        for name, size in json.loads(header):
            path = self.run.path / PurePosixPath(name)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content[first : first + size])
            except OSError as error:
                advice = "choose another folder for temporary files with TMPDIR"
                raise write_error(f"cannot write {path}", error, ConfigError, advice) from None
            first += size


@contextmanager
def open_folder(folder: Path, ranks: Ranks) -> Iterator[RunFolder]:
    """The folder of this machine for the run in ``folder`` of rank 0; a copy ends with the block.

    All ranks call it. Raises ConfigError where there is no room for a copy.
    """
    with ExitStack() as stack:
        path = folder
        if ranks.node and ranks.is_local_main:
            kind = TemporaryDirectory(prefix="vecchess-run-", ignore_cleanup_errors=True)
            path = Path(stack.enter_context(kind))
        own = {"node": ranks.node, "path": str(path), "name": folder.resolve().name}
        places = ranks.gather_object(own)
        if ranks.node:  # networks are named after the run's folder
            leader = next(place for place in places if place["node"] == ranks.node)
            path = Path(leader["path"], places[0]["name"])
        run = RunFolder(path)
        if ranks.node and ranks.is_local_main:
            run.nets.mkdir(parents=True)
        yield run
