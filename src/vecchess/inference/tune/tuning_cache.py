"""Choices that were measured once, kept for next time in the user's cache directory.

One small JSON file for each, so that processes which tune at the same time do not overwrite each
other's choices; a file is written whole or not at all:

    ~/.cache/vecchess/tuning/<hash of the key>.json     {"schema", "key", "values"}
    ~/.cache/vecchess/tuning/<hash of the key>.lock     held while a process measures

A file that is damaged, or belongs to another key, is ignored and written again.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vecchess import __version__
from vecchess.errors import VecchessError
from vecchess.inference.playable_net import PlayableSizes
from vecchess.jit import user_cache
from vecchess.runtime.atomic_write import write_shared
from vecchess.runtime.file_lock import file_lock
from vecchess.safe_parse import parse_json_object, read_bytes

SCHEMA = 1
MOST_SLOTS = 1 << 20
WAIT_S = 240.0
"""Longest wait for a process that measures the same. A worker that opens a GPU may be silent for
300 s, see ``worker_pool.LOADING_S``."""


@dataclass(frozen=True)
class TuningKey:
    """Everything that a measured choice depends on, ready for JSON."""

    choice: str
    """What was chosen: "slots" of a backend, or "tile" of the Triton kernels."""
    device: str
    """Model of the processor with its threads, or of the GPU."""
    backend: str
    sizes: dict[str, Any]
    """The network's: two networks of the same sizes are as fast, but for how often they spike."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Versions of compilers, types and the like."""
    version: str = __version__

    @classmethod
    def of(
        cls, choice: str, device: str, backend: str, config: PlayableSizes, **facts: object
    ) -> "TuningKey":
        """The key of networks with ``config``, whatever the name of the size."""
        sizes = config.model_dump(mode="json", exclude={"preset"})
        return cls(choice, device, backend, sizes, facts)

    @property
    def file(self) -> Path:
        """The file of the choice."""
        text = json.dumps(asdict(self), sort_keys=True)
        return user_cache() / "tuning" / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"


@contextmanager
def tuning_alone(key: TuningKey) -> Iterator[None]:
    """Let one process of this user at a time measure the choice of ``key`` within the block.

    Without effect where there are no locks, and after WAIT_S.
    """
    with ExitStack() as held:
        with suppress(OSError, VecchessError):
            key.file.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(file_lock(key.file.with_suffix(".lock"), WAIT_S, "another process"))
        yield


def store_tuned(key: TuningKey, values: dict[str, Any]) -> bool:
    """Keep ``values``, JSON, for next time; False where the disk refuses."""
    text = json.dumps({"schema": SCHEMA, "key": asdict(key), "values": values})
    try:
        return write_shared(key.file, f"{text}\n".encode(), replaces=True)
    except OSError:
        return False


def load_tuned(key: TuningKey) -> dict[str, Any] | None:
    """The values kept for ``key``, None where there are none."""
    try:
        stored = parse_json_object(read_bytes(key.file))
        is_ours = stored["schema"] == SCHEMA and stored["key"] == json.loads(
            json.dumps(asdict(key))
        )
        values = stored["values"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return values if is_ours and isinstance(values, dict) else None


def load_slots(key: TuningKey) -> int | None:
    """The slot count kept for ``key``, None where there is none that can be."""
    slots = (load_tuned(key) or {}).get("slots")
    return slots if type(slots) is int and 1 <= slots <= MOST_SLOTS else None
