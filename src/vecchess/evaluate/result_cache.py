"""Results of pairings on disk, so that none is played twice: a small JSON file for each.

    <folder>/<hash of all that decides the games>.json     {"schema", "pairing", "result"}

A file that is damaged, or is about something else, is ignored and written anew.

Decision 144.
"""

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import vecchess
from vecchess.errors import ConfigError, DataError, write_error
from vecchess.evaluate.pairing import Pairing, PairResult
from vecchess.jit import user_cache
from vecchess.runtime.atomic_write import write_atomically
from vecchess.safe_parse import parse_json_object, read_bytes

SCHEMA = 1
NAME_DIGITS = 24


class ResultCache:
    """A folder of results."""

    def __init__(self, folder: Path, edition: str = "", recall: bool = True) -> None:
        """edition: of the sources; results of others are ignored. recall: False to play anew."""
        self._folder = folder
        self._edition = edition
        self._recalls = recall

    @classmethod
    def of_user(cls, recall: bool = True) -> "ResultCache":
        """A cache in the user's cache directory, for exactly these sources: another version of a
        player plays other games."""
        return cls(user_cache() / "arena", f"{vecchess.__version__} {_sources_digest()}", recall)

    @classmethod
    def of_run(cls, folder: Path, recall: bool = True) -> "ResultCache":
        """A cache in the folder of a run. Raises ConfigError where that cannot be written to."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(f"cannot write to {folder}", error, ConfigError) from None
        return cls(folder, recall=recall)

    def recall(self, pairing: Pairing) -> PairResult | None:
        """The stored result of ``pairing``; None where there is none."""
        if not self._recalls:
            return None
        try:
            values = parse_json_object(read_bytes(self._file(pairing)))
            if values["schema"] != SCHEMA or values["pairing"] != self._key(pairing):
                return None
            found = PairResult.from_dict(values["result"])
        except (OSError, ValueError, KeyError):
            return None
        known = found.players == {pairing.first.identity, pairing.second.identity}
        return found if known and found.is_complete else None

    def keep(self, pairing: Pairing, result: PairResult) -> None:
        """Store a complete result, atomically; failing to write it is ignored."""
        if not result.is_complete:
            return
        values = {
            "schema": SCHEMA,
            "pairing": self._key(pairing),
            "result": result.to_dict(),
        }
        with suppress(OSError, DataError):
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self._file(pairing), (json.dumps(values) + "\n").encode())

    def _key(self, pairing: Pairing) -> dict[str, Any]:
        return {"token": pairing.token, "games": pairing.config.games, "edition": self._edition}

    def _file(self, pairing: Pairing) -> Path:
        text = json.dumps(self._key(pairing), sort_keys=True)
        name = hashlib.sha256(text.encode()).hexdigest()[:NAME_DIGITS]
        return self._folder / f"{name}.json"


def _sources_digest() -> str:
    """A hash of all sources of the package: code that decides moves is spread over most of it."""
    root, digest = Path(vecchess.__file__).parent, hashlib.sha256()
    for source in sorted(root.rglob("*.py")):
        digest.update(source.relative_to(root).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:NAME_DIGITS]
