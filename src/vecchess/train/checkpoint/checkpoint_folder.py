"""Checkpoints of a training: folders that are complete or absent.

    checkpoints/<name>/tensors.safetensors, values.json   the state, see ``state_file.py``
    checkpoints/<name>/manifest.json    schema, size and sha256 of the files, facts

A checkpoint is written under a temporary name, synced, and renamed; older ones are removed after
that. The next process removes the folder that a killed process left half written.
"""

import json
import os
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from vecchess import __version__
from vecchess.errors import ConfigError, DataError
from vecchess.runtime.atomic_write import PARTIAL_PREFIX, sync_directory
from vecchess.runtime.reporting import ReportLine
from vecchess.safe_parse import clip_line, open_regular, parse_json_object, read_bytes
from vecchess.train.checkpoint.state_file import TENSORS_FILE, VALUES_FILE

SCHEMA = 1
STATE_FILES = (TENSORS_FILE, VALUES_FILE)
MANIFEST_FILE = "manifest.json"


@dataclass(frozen=True)
class SavedCheckpoint:
    """A checkpoint that was read and whose files have their sha256."""

    path: Path
    files: dict[str, bytes]
    facts: dict[str, Any]


class CheckpointFolder:
    """The checkpoints of one run. Only rank 0 writes."""

    def __init__(self, path: Path, keep_last: int = 3, keep_every: int = 0) -> None:
        """Keep the last ``keep_last`` (at least 1), and those of every ``keep_every``th iteration.

        ``keep_every`` 0 keeps no others. The folder need not exist yet.
        """
        self.path = path
        self._keep_last = max(keep_last, 1)
        self._keep_every = keep_every

    def save(self, name: str, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> Path:
        """Write a checkpoint, durably, and remove old ones; returns its folder.

        ``files``: content of each of ``STATE_FILES``. ``facts`` are JSON values, "iteration" and
        "step" among them. Raises DataError with one line where the disk refuses; earlier
        checkpoints are unchanged then.
        """
        assert re.fullmatch(r"[\w.-]+", name), name
        assert {"iteration", "step"} <= facts.keys(), facts
        partial = self.path / f"{PARTIAL_PREFIX}{name}"
        try:
            self._clear_partials()
            partial.mkdir(parents=True)
            _write_files(partial, files, facts)
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

    def latest(self, report_line: ReportLine) -> SavedCheckpoint | None:
        """The newest checkpoint that is whole; None where there are no checkpoints.

        ``report_line`` gets a line about each damaged one that was skipped. Raises DataError where
        there are checkpoints but none is whole: the user decides whether to begin anew.
        """
        self._clear_partials()
        manifests, damaged = self._manifests()
        for line in damaged:
            report_line(f"{line}; passing it over")
        for path, _ in reversed(manifests):
            try:
                return load_checkpoint(path)
            except DataError as error:
                report_line(f"{error}; taking the one before it")
                damaged.append(str(error))
        if damaged:
            raise DataError(
                f"none of the {len(damaged)} checkpoints in {self.path} is whole: begin a new run "
                "with --init-from and the last network of this one"
            )
        return None

    def _manifests(self) -> tuple[list[tuple[Path, dict[str, Any]]], list[str]]:
        """Checkpoints and manifests, the newest last; and lines about those without a manifest."""
        manifests, damaged = [], []
        for path in sorted(path for path in self.path.glob("[!.]*") if path.is_dir()):
            try:
                manifests.append((path, _read_manifest(path)))
            except DataError as error:
                damaged.append(str(error))
        return sorted(manifests, key=lambda item: _age(item[1])), damaged

    def _free_name(self, name: str) -> Path:
        """``name``, with a number behind it where a run that went back saves it again."""
        path, count = self.path / name, 1
        while path.exists():
            count += 1
            path = self.path / f"{name}.{count}"
        return path

    def _prune(self) -> None:
        """Remove old checkpoints; the newest was verified when it was written."""
        manifests, _ = self._manifests()
        by_iteration = {manifest["facts"]["iteration"]: path for path, manifest in manifests}
        kept = {path for path, _ in manifests[-self._keep_last :]}
        if self._keep_every:
            kept |= {p for i, p in by_iteration.items() if i % self._keep_every == 0}
        for path, _ in manifests:
            if path not in kept:
                _remove(path)

    def _clear_partials(self) -> None:
        for path in self.path.glob(f"{PARTIAL_PREFIX}*"):
            shutil.rmtree(path, ignore_errors=True)


def load_checkpoint(path: Path) -> SavedCheckpoint:
    """Read the checkpoint at ``path``.

    Raises ConfigError where ``path`` is no checkpoint, DataError where it is damaged or was written
    by a newer vecchess.
    """
    if not path.is_dir() or not (path / MANIFEST_FILE).exists():
        raise ConfigError(f"{path} is not a checkpoint: it has no {MANIFEST_FILE}")
    manifest = _read_manifest(path)
    files = {name: _read_file(path / name, manifest["files"][name]) for name in STATE_FILES}
    return SavedCheckpoint(path, files, manifest["facts"])


def _read_file(file: Path, entry: Mapping[str, Any]) -> bytes:
    try:
        with open_regular(file) as opened:
            is_whole = os.fstat(opened.fileno()).st_size == entry["size"]
            data = opened.read() if is_whole else b""
    except OSError as error:
        raise DataError(f"{file.parent} is damaged: {file.name}: {error.strerror}") from None
    if not is_whole or sha256(data).hexdigest() != entry["sha256"]:
        raise DataError(f"{file.parent} is damaged: {file.name} is not the file that was written")
    return data


def _write_files(folder: Path, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> None:
    """Write the state and its manifest into ``folder``; sync each file, and the folder."""
    manifest = {
        "schema": SCHEMA,
        "vecchess": __version__,
        "saved_unix": time.time(),
        "files": {
            name: {"size": len(data), "sha256": sha256(data).hexdigest()}
            for name, data in files.items()
        },
        "facts": facts,
    }
    for name, data in files.items():
        _write_synced(folder / name, data)
    _write_synced(folder / MANIFEST_FILE, json.dumps(manifest, indent=1).encode() + b"\n")
    sync_directory(folder)


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _age(manifest: Mapping[str, Any]) -> tuple[int, int, float]:
    """A key by which later checkpoints compare greater."""
    facts = manifest["facts"]
    return facts["iteration"], facts["step"], manifest["saved_unix"]


def _read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of the checkpoint at ``path``; raises DataError where it is damaged or newer."""
    try:
        manifest = parse_json_object(read_bytes(path / MANIFEST_FILE))
        _check_manifest(path, manifest)
    except OSError as error:
        raise DataError(f"{path} is damaged: {MANIFEST_FILE}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} is damaged: {MANIFEST_FILE}: {error!r:.200}") from None
    return manifest


def _check_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Raises DataError where it is of another schema; ValueError, KeyError, ... where wrong."""
    if (schema := manifest["schema"]) != SCHEMA:
        raise DataError(
            f"{path} has schema {clip_line(schema)}, this vecchess reads {SCHEMA}: "
            f"it was written by vecchess {clip_line(manifest['vecchess'])}, use that or a later one"
        )
    facts = manifest["facts"]
    entries = [manifest["files"][name] for name in STATE_FILES]
    for count in (facts["iteration"], facts["step"], *(entry["size"] for entry in entries)):
        if type(count) is not int or not 0 <= count < 1 << 62:
            raise ValueError("a count is no number of that kind")
    if not isinstance(manifest["saved_unix"], float):
        raise ValueError("its time is no number")
    if not all(re.fullmatch("[0-9a-f]{64}", entry["sha256"]) for entry in entries):
        raise ValueError("a sha256 has another form")


def _remove(path: Path) -> None:
    """Rename a checkpoint to a name that is not read, then remove it: it is never half there."""
    doomed = path.with_name(f"{PARTIAL_PREFIX}old-{path.name}")
    try:
        path.rename(doomed)
    except OSError:  # another process reads it: it is removed next time
        return
    shutil.rmtree(doomed, ignore_errors=True)
