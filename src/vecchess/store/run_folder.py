"""The folder of one run: its paths and small files, and the lock that one writer holds.

runs/<name>/  config.toml  pins.json  inputs/<setting>/*  run_id  launch  status.json  metrics.jsonl
              games/*.npz  games/manifest.jsonl  nets/*.safetensors  live/*.npz  inflight/*.npz
              cuts/*.npz  log.jsonl

Decision 28.
"""

import hashlib
import json
import os
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from vecchess.errors import ConfigError, DataError, FileUnreadable, write_error
from vecchess.runtime.atomic_write import open_own, path_refusals, write_atomically
from vecchess.runtime.file_lock import try_lock
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.retried_read import list_folder, read_file, read_json, retried
from vecchess.safe_parse import (
    MOST_TOML_BYTES,
    parse_toml,
    read_bytes,
)
from vecchess.store.id_set import IdSet
from vecchess.store.manifest import MANIFEST_NAME, Manifest, ShardEntry
from vecchess.store.records import GameRecords, concatenate
from vecchess.store.shard import read_shards

RUN_ID_FILE = "run_id"
LAUNCH_FILE = "launch"
LATEST = "nets/latest.json"
"""Names the newest network."""
CUTS = "cuts"
"""The folder, beside that of the games, with those that a generation left unfinished."""
_RUN_ID = re.compile("[0-9a-f]{32}")


class RunFolder:
    """Paths and small files of a run. Constructing it touches nothing on disk."""

    def __init__(self, path: Path) -> None:
        """The run at ``path``, which need not exist yet."""
        self.path = path
        self.games = path / "games"
        self.nets = path / "nets"
        self.live = path / "live"
        self.inflight = path / "inflight"
        self.cuts = path / CUTS
        self.inputs = path / "inputs"
        self.config = path / "config.toml"

    @classmethod
    def existing(cls, path: Path) -> "RunFolder":
        """The run at ``path``; raises ConfigError where there is none."""
        run = cls(path)
        if not run.has_begun:
            runs = sorted(inner.parent for inner in path.glob("*/config.toml"))
            hint = f"; it has runs, such as {runs[-1]}" if runs else ""
            raise ConfigError(f"{path} is not a run: it has no config.toml{hint}")
        return run

    @property
    def has_begun(self) -> bool:
        """Whether a run has begun here. Raises ConfigError where the folder cannot be read."""
        try:
            return self.config.is_file()
        except OSError as error:
            raise ConfigError(f"cannot look into {self.path}: {error.strerror}") from None

    @property
    def run_id(self) -> str:
        """32 hexadecimal digits, drawn when the run began and written into every file of games.

        Raises DataError where the file is missing or damaged.
        """
        try:
            text = retried(read_file, self.path / RUN_ID_FILE).decode(errors="replace").strip()
        except FileUnreadable as error:
            raise FileUnreadable(
                f"{error}; without it the run cannot go on, and one of an older vecchess has none"
            ) from None
        if not _RUN_ID.fullmatch(text):
            raise DataError(f"{self.path / RUN_ID_FILE} is damaged: it holds no id of a run")
        return text

    @property
    def launch(self) -> str:
        """The id of the torchrun job that began or resumed this run last; "" where none did."""
        if LAUNCH_FILE not in retried(list_folder, self.path):
            return ""
        data = retried(read_file, self.path / LAUNCH_FILE)
        return data.decode(errors="replace").removesuffix("\n")

    def write_launch(self, launch: str) -> None:
        """Note that the torchrun job of that id works on this run."""
        write_atomically(self.path / LAUNCH_FILE, f"{launch}\n".encode())

    def create(self) -> None:
        """Make the folders and the run's id; raises ConfigError where that is not allowed."""
        try:
            for folder in (self.games, self.nets):
                folder.mkdir(parents=True, exist_ok=True)
            probe = self.path / f".probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            advice = "choose another --run-dir"
            raise write_error(f"cannot write to {self.path}", error, ConfigError, advice) from None
        # by the folders' lists: a file that cannot be opened for a moment is no sign of a new run
        if RUN_ID_FILE in retried(list_folder, self.path):
            return
        has_manifest = MANIFEST_NAME in retried(list_folder, self.games)
        manifest = Manifest(self.games, must_exist=has_manifest)
        if not manifest.entries:
            manifest.replace([])
            write_atomically(self.path / RUN_ID_FILE, f"{token_hex(16)}\n".encode())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the run against a second writer; raises ConfigError if there is one."""
        path = self.path / ".lock"
        try:
            file = os.fdopen(open_own(path, os.O_RDWR), "r+")
        except OSError as error:
            raise write_error(f"cannot write to {self.path}", error, ConfigError) from None
        with file:
            if not try_lock(file.fileno()):
                holder = file.read(200).split("\n")[0]
                raise ConfigError(f"another vecchess is writing to {self.path}: {holder or '?'}")
            with suppress(OSError):  # the holder is named in messages only
                file.truncate()
                file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
                file.flush()
            yield

    def manifest(self) -> Manifest:
        """The recorded shards. Raises DataError where the manifest is damaged or missing: it is
        there from the run's creation on."""
        return Manifest(self.games, must_exist=True)

    def write_games(
        self,
        name: str,
        records: GameRecords,
        shard: bytes,
        cut: bytes = b"",
        segments: IdSet | None = None,
    ) -> ShardEntry:
        """Write the file ``shard``, which has the games ``records``, and before it the file ``cut``
        with the games that ``segments`` left unfinished, if they did; returns the shard's line for
        the manifest. Raises DataError where the disk refuses.
        """
        if cut:
            with path_refusals(self.cuts / name):
                self.cuts.mkdir(exist_ok=True)
            write_atomically(self.cuts / name, cut)
        write_atomically(self.games / name, shard)
        entry = ShardEntry.of(name, hashlib.sha256(shard).hexdigest(), records)
        if not cut or segments is None:
            return entry
        return replace(entry, segments=segments, cut=hashlib.sha256(cut).hexdigest())

    def records(self, report_line: ReportLine | None = None) -> GameRecords:
        """All recorded games in the order of their numbers; raises DataError if there are none.

        A damaged shard is left out and reported; without ``report_line`` it raises DataError, as
        one that cannot be read always does.
        """
        shards = self.manifest().shards
        parts = list(read_shards(shards, report_line))
        if not parts:
            lack = "no recorded games that can be read" if shards else "no recorded games yet"
            raise DataError(f"{self.path} has {lack}")
        return concatenate(parts).by_number()

    def clear_live(self) -> None:
        """Remove the games in progress that a killed run left behind."""
        for file in self.live.glob("*"):
            with suppress(OSError):
                file.unlink()

    def write_config(self, text: str) -> dict[str, list[Any]]:
        """Replace the settings by ``text``, TOML, atomically; returns those that have changed.

        Of each, by its name, the value before and the new one, null for none; no changes where
        there were no settings, or they cannot be read.
        """
        try:
            before = flat_settings(parse_toml(read_bytes(self.config, MOST_TOML_BYTES)))
        except (OSError, ValueError):
            before = None
        write_atomically(self.config, text.encode())
        after = flat_settings(parse_toml(text))
        if before is None:
            return {}
        pairs = {name: [before.get(name), after.get(name)] for name in {**before, **after}}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    def write_json(self, name: str, values: dict[str, Any]) -> None:
        """Replace the small file ``name`` atomically."""
        write_atomically(self.path / name, (json.dumps(values) + "\n").encode())

    def read_json(self, name: str) -> dict[str, Any]:
        """The values of ``write_json``. Raises DataError where the file is damaged, FileUnreadable
        where it is missing or cannot be read."""
        return read_json(self.path / name)


def flat_settings(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by their path: "game.max_plies"."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        path = f"{prefix}{name}"
        found |= flat_settings(value, f"{path}.") if isinstance(value, Mapping) else {path: value}
    return found
