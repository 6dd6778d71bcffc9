"""Slot counts that were found once, kept per device and network in the user's cache directory.

One small JSON file for each, so processes that tune at the same time do not lose each other's:

    ~/.cache/vecchess/slots/<hash of the key>.json     {"schema", "key", "slots", ...}

A file that is damaged, or is not about this key, counts as none and is written anew.
"""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from vecchess import __version__
from vecchess.inference.tune.slot_search import Rung
from vecchess.jit import user_cache
from vecchess.safe_parse import parse_json_object, read_bytes
from vecchess.snn.presets import NetConfig

SCHEMA = 1
MOST_SLOTS = 1 << 20


@dataclass(frozen=True)
class TuningKey:
    """What a slot count is remembered for."""

    device: str
    """Model of the processor with its threads, or of the GPU."""
    backend: str
    sizes: dict[str, Any]
    """Of the network: two networks of the same sizes are as fast, but for how often they spike."""
    version: str = __version__

    @classmethod
    def of(cls, device: str, backend: str, config: NetConfig) -> "TuningKey":
        """For a network of ``config``, whatever its name."""
        return cls(device, backend, config.model_dump(mode="json", exclude={"preset"}))

    @property
    def file(self) -> Path:
        """Where it is kept."""
        text = json.dumps(asdict(self), sort_keys=True)
        return user_cache() / "slots" / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"


def store_tuned(place: TuningKey, rung: Rung) -> bool:
    """Keep a rung's slot count for next time, atomically; False where the disk will not have it."""
    values = {"schema": SCHEMA, "key": asdict(place), **rung.to_dict()}
    partial = place.file.with_name(f".{place.file.name}.{os.getpid()}-{token_hex(4)}")
    try:
        partial.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(values) + "\n")
        partial.replace(place.file)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        return False
    return True


def load_tuned(place: TuningKey) -> int | None:
    """The slot count kept for ``place``, if there is one."""
    try:
        values = parse_json_object(read_bytes(place.file))
        slots = values["slots"]
        known = values["schema"] == SCHEMA and values["key"] == json.loads(_plain(place))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    good = isinstance(slots, int) and not isinstance(slots, bool) and 1 <= slots <= MOST_SLOTS
    return slots if known and good else None


def _plain(place: TuningKey) -> str:
    return json.dumps(asdict(place))
