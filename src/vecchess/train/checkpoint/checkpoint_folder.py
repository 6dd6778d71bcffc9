"""The checkpoints of a training: files that are whole or absent, older ones removed.

``checkpoints/<iteration>-<update>.safetensors``, both numbers with leading zeros. A safetensors
file cannot run code or declare more memory than it has (decision 178). Its metadata have one entry,
``vecchess``, a JSON object:

    {"schema", "vecchess", "facts", "values", "sha256"}

``values`` are all that is not a tensor; the hash is that of the tensors and of the other entries.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vecchess import __version__
from vecchess.errors import DataError, FileUnreadable
from vecchess.runtime.atomic_write import (
    PARTIAL_PREFIX,
    path_refusals,
    remove_file,
    write_atomically,
)
from vecchess.runtime.reporting import ReportLine
from vecchess.runtime.retried_read import list_folder, read_file, retried
from vecchess.safe_parse import clip_line, is_schema, parse_json_object

NAME = re.compile(r"(\d{6,})-(\d{9,})\.safetensors")
SCHEMA = 2
METADATA_KEY = "vecchess"
MOST_HEADER_BYTES = 1 << 24
"""A tensor takes about 100 bytes. What grows during a run is 10 bytes for each iteration."""


def encode_checkpoint(
    tensors: Mapping[str, Tensor], facts: Mapping[str, Any], values: Mapping[str, Any]
) -> bytes:
    """The content of the file; ``facts`` and ``values`` are JSON values.

    Raises DataError where ``decode_checkpoint`` would refuse it.
    """
    from safetensors.torch import save

    plain: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        alone = tensor.detach().cpu().contiguous()
        place = alone.untyped_storage().data_ptr()
        is_shared = any(place == other.untyped_storage().data_ptr() for other in plain.values())
        plain[name] = alone.clone() if is_shared else alone  # as tied weights: files hold no link
    entry = {"schema": SCHEMA, "vecchess": __version__, "facts": facts, "values": values}
    entry["sha256"] = _digest(plain, entry)
    data: bytes = save(plain, {METADATA_KEY: json.dumps(entry)})
    if _header_size(data) > MOST_HEADER_BYTES:
        raise DataError(f"its header has more than {MOST_HEADER_BYTES} bytes")
    return data


def decode_checkpoint(data: bytes) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors on the CPU, and the metadata. Raises DataError with the reason where the file is
    damaged, or was written by a newer vecchess."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        if _header_size(data) > MOST_HEADER_BYTES:
            raise ValueError(f"its header has more than {MOST_HEADER_BYTES} bytes")
        tensors: dict[str, Tensor] = load(data)
        header = parse_json_object(data[8 : 8 + _header_size(data)], MOST_HEADER_BYTES)
        entry = parse_json_object(header["__metadata__"][METADATA_KEY], MOST_HEADER_BYTES)
        schema, digest = entry["schema"], entry.pop("sha256")
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = clip_line(error)
        raise DataError(f"it is truncated or no checkpoint ({reason})") from None
    if not is_schema(schema, SCHEMA):
        raise DataError(
            f"it has schema {clip_line(schema)}, this vecchess reads {SCHEMA}: it was written by "
            f"vecchess {clip_line(entry.get('vecchess'))}, use that or a later one"
        )
    if _digest(tensors, entry) != digest:
        raise DataError("its content does not match its sha256")
    return tensors, entry


def _header_size(data: bytes) -> int:
    return int.from_bytes(data[:8], "little")


def _digest(tensors: Mapping[str, Tensor], entry: Mapping[str, Any]) -> str:
    digest = sha256(json.dumps(entry, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


class CheckpointFolder:
    """The checkpoints of one run. Only rank 0 writes."""

    def __init__(
        self, path: Path, keep_last: int = 3, keep_every: int = 0, keep_first: bool = False
    ) -> None:
        """Keep the last ``keep_last`` (at least 1), and those of every ``keep_every``th iteration.

        ``keep_every`` 0 keeps no others. keep_first: the very first too, for a training that may
        have to go back to it. The folder need not exist yet.
        """
        self.path = path
        self._keep_last = max(keep_last, 1)
        self._keep_every, self._keep_first = keep_every, keep_first

    def file_of(self, iteration: int, update: int) -> Path:
        """The checkpoint after so many iterations and updates."""
        return self.path / f"{iteration:06d}-{update:09d}.safetensors"

    def save(self, file: Path, data: bytes) -> None:
        """Write ``file`` of ``file_of``, durably, and remove old ones.

        A run that went back writes a file again. Raises DataError with one line where the disk
        refuses; earlier checkpoints are unchanged then.
        """
        try:
            self._make_room()
            write_atomically(file, data)
        except DataError as error:
            raise DataError(
                f"{error}; earlier checkpoints are as they were: make room, then --resume"
            ) from None
        self._prune(file)

    def forget_from(self, iteration: int) -> None:
        """Remove the checkpoints that learnt from the games of ``iteration``, 0 first, or of later
        ones; those that cannot be read too. Raises DataError where that fails."""
        for file in self._files():
            done, _ = _progress(file)
            with suppress(DataError):
                if done < iteration:
                    continue
                if done == iteration:
                    values = decode_checkpoint(_read_whole(file))[1].get("values", {})
                    if values.get("iteration_step") == 0:
                        continue
            remove_file(file)

    def latest(self, report_line: ReportLine) -> bytes | None:
        """The content of the newest checkpoint that is whole; None where there are no checkpoints.

        ``report_line`` gets a line about each damaged one that was skipped. Raises DataError where
        there are checkpoints but none is whole: the user decides whether to begin anew; and
        FileUnreadable where one cannot be read.
        """
        files = self._files()
        for file in reversed(files):
            try:
                return _read_whole(file)
            except FileUnreadable:
                raise
            except DataError as error:
                report_line(f"{error}; taking the one before it")
        if files:
            raise DataError(
                f"none of the {len(files)} checkpoints in {self.path} is whole: begin a new run "
                "with --net and the last network of this one"
            )
        return None

    def _files(self) -> list[Path]:
        """All checkpoints, the newest last."""
        names = retried(list_folder, self.path)
        files = [self.path / name for name in names if NAME.fullmatch(name)]
        return sorted(files, key=_progress)

    def _make_room(self) -> None:
        """Create the folder; remove what a killed process left half written."""
        with path_refusals(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            for partial in self.path.glob(f"{PARTIAL_PREFIX}*"):
                partial.unlink()

    def _prune(self, newest: Path) -> None:
        """Remove old checkpoints, but ``newest``: after a damaged one it is not the last."""
        files = self._files()
        kept = {newest, *files[-self._keep_last :]}
        if self._keep_first:
            kept.add(files[0])
        if self._keep_every:  # the last one of such an iteration
            by_iteration = {_progress(file)[0]: file for file in files}
            kept |= {file for i, file in by_iteration.items() if i % self._keep_every == 0}
        for file in files:
            if file not in kept:
                remove_file(file)


def _read_whole(file: Path) -> bytes:
    """The content of a checkpoint; raises DataError where it is damaged or of a newer vecchess."""
    try:
        data = retried(read_file, file)
        decode_checkpoint(data)
    except FileUnreadable:
        raise
    except DataError as error:
        raise DataError(f"checkpoint {file}: {error}") from None
    return data


def _progress(file: Path) -> tuple[int, int]:
    """Iterations and updates of a checkpoint, by its name."""
    iteration, update = file.stem.split("-")
    return int(iteration), int(update)
