"""Checkpoints of a training: folders that are whole or not there.

    checkpoints/<name>/state.pt        tensors, arrays, numbers and words, by name (``state_file``)
    checkpoints/<name>/manifest.json   schema, size and sha256 of the file, what it is

A checkpoint is written under another name, synced, and renamed; only then may older ones go. A
process that is killed half-way leaves a folder that the next one removes.
"""

import json
import os
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from vecchess import __version__
from vecchess.errors import ConfigError, DataError
from vecchess.runtime.atomic_write import PARTIAL_PREFIX, sync_directory
from vecchess.runtime.reporting import ReportLine
from vecchess.safe_parse import clip_line, open_regular, parse_json_object, read_bytes
from vecchess.train.checkpoint.state_dict import packed, unpacked
from vecchess.train.checkpoint.state_file import read_state, state_bytes

SCHEMA = 1
STATE_FILE = "state.pt"
MANIFEST_FILE = "manifest.json"


@dataclass(frozen=True)
class Loaded:
    """A checkpoint that was read."""

    path: Path
    state: dict[str, Any]
    facts: dict[str, Any]


@dataclass(frozen=True)
class _Entry:
    """A checkpoint as its manifest tells of it."""

    path: Path
    facts: dict[str, Any]
    saved_unix: float

    @property
    def age(self) -> tuple[int, int, float]:
        """Later checkpoints compare greater."""
        return self.facts["iteration"], self.facts["step"], self.saved_unix


class CheckpointFolder:
    """The checkpoints of one run. Only rank 0 writes."""

    def __init__(self, path: Path, keep_last: int = 3, keep_every: int = 0) -> None:
        """Keep the last ``keep_last`` (at least 1), and those of every ``keep_every``th iteration.

        ``keep_every`` 0 keeps no others. The folder need not exist yet.
        """
        self.path = path
        self._keep_last = max(keep_last, 1)
        self._keep_every = keep_every

    def save(self, name: str, state: dict[str, Any], facts: dict[str, Any]) -> Path:
        """Write a checkpoint, durably, and remove old ones; returns its folder.

        ``state``: nested dicts and lists of tensors, arrays, numbers, strings and None. ``facts``
        are plain values, "iteration" and "step" among them. Raises DataError with one line where
        the disk refuses, or the state is one that could not be read again; earlier checkpoints are
        as they were then. Raises TypeError for a state that could only be pickled.
        """
        assert re.fullmatch(r"[\w.-]+", name), name
        assert {"iteration", "step"} <= facts.keys(), facts
        data = self._data_of(name, packed(state))
        partial = self.path / f"{PARTIAL_PREFIX}{name}"
        try:
            self._clear_partials()
            partial.mkdir(parents=True)
            _write(partial, data, facts)
            path = self._free_name(name)
            partial.rename(path)
            sync_directory(self.path)
        except OSError as error:
            shutil.rmtree(partial, ignore_errors=True)
            raise DataError(
                f"cannot write the checkpoint {self.path / name}: {error.strerror}; "
                "earlier checkpoints are as they were: make room, then --resume"
            ) from None
        self._prune()
        return path

    def latest(self, report_line: ReportLine) -> Loaded | None:
        """The newest checkpoint that is whole; None where there is none at all.

        ``report_line`` gets a line about each damaged one that was passed over. Raises DataError
        where there are checkpoints but none is whole: to begin anew then is not ours to decide.
        """
        self._clear_partials()
        entries, damaged = self._entries()
        for line in damaged:
            report_line(f"{line}; passing it over")
        for entry in reversed(entries):
            try:
                return load(entry.path)
            except DataError as error:
                report_line(f"{error}; taking the one before it")
                damaged.append(str(error))
        if damaged:
            raise DataError(
                f"none of the {len(damaged)} checkpoints in {self.path} is whole: begin a new run "
                "with --init-from and the last network of this one"
            )
        return None

    def _data_of(self, name: str, values: Any) -> bytes:
        try:
            return state_bytes(values)
        except DataError as error:
            raise DataError(
                f"cannot write the checkpoint {self.path / name}, for it could not be read again: "
                f"{error}; earlier checkpoints are as they were"
            ) from None

    def _entries(self) -> tuple[list[_Entry], list[str]]:
        """Checkpoints from the oldest to the newest, and lines about those without a manifest."""
        entries, damaged = [], []
        folders = [path for path in self.path.glob("[!.]*") if path.is_dir()]
        for path in sorted(folders):
            try:
                manifest = _manifest(path)
            except DataError as error:
                damaged.append(str(error))
            else:
                entries.append(_Entry(path, manifest["facts"], manifest["saved_unix"]))
        return sorted(entries, key=lambda entry: entry.age), damaged

    def _free_name(self, name: str) -> Path:
        """``name``, or with a number behind it where a run that went back saves it again."""
        path, count = self.path / name, 1
        while path.exists():
            count += 1
            path = self.path / f"{name}.{count}"
        return path

    def _prune(self) -> None:
        """Remove old checkpoints, and only them: the newest was verified when it was written."""
        entries, _ = self._entries()
        of_iteration = {entry.facts["iteration"]: entry.path for entry in entries}
        kept = {entry.path for entry in entries[-self._keep_last :]}
        if self._keep_every:
            kept |= {p for i, p in of_iteration.items() if i % self._keep_every == 0}
        for entry in entries:
            if entry.path not in kept:
                _remove(entry.path)

    def _clear_partials(self) -> None:
        for path in self.path.glob(f"{PARTIAL_PREFIX}*"):
            shutil.rmtree(path, ignore_errors=True)


def load(path: Path, net: Mapping[str, Any] | None = None) -> Loaded:
    """Read the checkpoint at ``path``.

    ``net`` is what the network has to be: plain values to compare with the facts' "net". Raises
    ConfigError where ``path`` is no checkpoint or of another network, DataError where it is damaged
    or was written by a newer vecchess.
    """
    if not path.is_dir() or not (path / MANIFEST_FILE).exists():
        raise ConfigError(f"{path} is not a checkpoint: it has no {MANIFEST_FILE}")
    manifest = _manifest(path)
    if net is not None:
        _require_net(path, manifest["facts"].get("net", {}), net)
    file = path / STATE_FILE
    known = manifest["files"][STATE_FILE]
    try:
        if not _is_as_written(file, known):
            raise DataError(f"{STATE_FILE} is not the file that was written")
        state = unpacked(read_state(file))
    except OSError as error:
        raise DataError(f"{path} is damaged: {STATE_FILE}: {error.strerror}") from None
    except (DataError, ValueError) as error:
        raise DataError(f"{path} is damaged: {error}") from None
    if not isinstance(state, dict):
        raise DataError(f"{path} is damaged: its state is no table")
    return Loaded(path, state, manifest["facts"])


def _write(folder: Path, data: bytes, facts: dict[str, Any]) -> None:
    """Both files into ``folder``, each synced, and the folder too."""
    known = {"size": len(data), "sha256": sha256(data).hexdigest()}
    _write_synced(folder / STATE_FILE, data)
    manifest = {
        "schema": SCHEMA,
        "vecchess": __version__,
        "saved_unix": time.time(),
        "files": {STATE_FILE: known},
        "facts": facts,
    }
    _write_synced(folder / MANIFEST_FILE, json.dumps(manifest, indent=1).encode() + b"\n")
    sync_directory(folder)


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _manifest(path: Path) -> dict[str, Any]:
    """A checkpoint's manifest; raises DataError where it is damaged, or too new."""
    try:
        manifest = parse_json_object(read_bytes(path / MANIFEST_FILE))
        _check_manifest(path, manifest)
    except OSError as error:
        raise DataError(f"{path} is damaged: {MANIFEST_FILE}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} is damaged: {MANIFEST_FILE}: {error!r:.200}") from None
    return manifest


def _check_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Raises DataError where it is too new; ValueError, KeyError, ... where it is none."""
    schema = manifest["schema"]
    if schema > SCHEMA:
        raise DataError(
            f"{path} has schema {clip_line(schema)}, this vecchess reads up to {SCHEMA}: "
            f"it was written by vecchess {clip_line(manifest['vecchess'])}, use that or a later one"
        )
    facts, known = manifest["facts"], manifest["files"][STATE_FILE]
    for count in (facts["iteration"], facts["step"], known["size"]):
        if type(count) is not int:
            raise ValueError("a count is none")
    if not isinstance(manifest["saved_unix"], float) or not isinstance(facts.get("net", {}), dict):
        raise ValueError("it is not as it was written")
    if not re.fullmatch("[0-9a-f]{64}", known["sha256"]):
        raise ValueError("its sha256 is none")


def _require_net(path: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for key, value in wanted.items():
        if found.get(key) != value:
            raise ConfigError(
                f"{path} is of another network: it has {key} = {clip_line(found.get(key))}, "
                f"this run has {key} = {value}"
            )


def _remove(path: Path) -> None:
    """Take a checkpoint away under a name that nobody reads, so that it is never half there."""
    doomed = path.with_name(f"{PARTIAL_PREFIX}old-{path.name}")
    try:
        path.rename(doomed)
    except OSError:  # somebody looks at it: it goes next time
        return
    shutil.rmtree(doomed, ignore_errors=True)


def _is_as_written(file: Path, known: Mapping[str, Any]) -> bool:
    with open_regular(file) as opened:
        found = file_digest(opened, "sha256").hexdigest()
    return bool(found == known["sha256"] and file.stat().st_size == known["size"])
