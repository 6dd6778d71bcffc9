"""The players of a fleet as they tell of themselves, for people.

All of it is hearsay: a word that is no number counts as 0, and nothing of the games depends on it.
"""

import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from vecchess.fleet.steps import Store
from vecchess.fleet.task import PLAYERS, word_name
from vecchess.safe_parse import clip_line, number, parse_json_object
from vecchess.selfplay.supervisor.worker_throughput import Throughput, combined_throughput

LOOK_S = 5.0
"""Between two looks at what players say of themselves."""
LOST_S = 30.0
"""A player whose word has not changed for so long is shown as lost."""
SHOWN_S, KEPT_S = 600.0, 3600.0
"""Who ended or was lost is shown for so long; then his word is kept a while, and deleted."""
MOST_BYTES = 100_000


class PlayerList:
    """The players of a run: who is there, and how fast they are."""

    def __init__(self, store: Store, threads: ThreadPoolExecutor) -> None:
        """``threads``: one of them reads, so that no store that is away delays the learner."""
        self._store, self._threads = store, threads
        self._words: dict[str, dict[str, Any]] = {}
        self._heard_s: dict[str, float] = {}
        """When the newest word of each was heard."""
        self._index: dict[str, int] = {}
        """Index of each player that was ever heard, by name: it names the series of its meters."""
        self._looking: Future[dict[str, dict[str, Any]]] | None = None
        self._next_look_s, self._is_first = 0.0, True

    def look(self) -> None:
        """Take in what was read; read on from time to time."""
        now = time.monotonic()
        if self._looking is not None and self._looking.done():
            with suppress(Exception):  # it is for people alone
                self._hear(self._looking.result(), now)
            self._looking = None
        if self._looking is None and now >= self._next_look_s:
            self._next_look_s = now + LOOK_S
            silent = [name for name, heard in self._heard_s.items() if now - heard > KEPT_S]
            self._looking = self._threads.submit(self._read, silent)

    def _hear(self, words: dict[str, dict[str, Any]], now: float) -> None:
        for name, word in words.items():
            if self._words.get(name) != word:
                # what is found at the first look may be old: it has to change soon
                self._heard_s[name] = now - (LOST_S - 2 * LOOK_S) * self._is_first
                self._index.setdefault(name, len(self._index))
        self._words, self._is_first = words, False
        self._heard_s = {name: heard for name, heard in self._heard_s.items() if name in words}

    def _read(self, silent: Iterable[str]) -> dict[str, dict[str, Any]]:
        """The words of all players, but for those that have been ``silent`` for long."""
        self._store.delete([word_name(name) for name in silent])
        found = {}
        for word in self._store.names(PLAYERS):
            name = word.removeprefix(PLAYERS).removesuffix(".json")
            with suppress(ValueError):
                found[name] = read_word(self._store, name)
        return found

    @property
    def throughput(self) -> Throughput:
        """Throughput of all players that are there, as they tell it."""
        return combined_throughput([*filter(None, map(self._load_of, self._words))])

    @property
    def shown(self) -> list[dict[str, Any]]:
        """Players as workers of the run, by the names of ``status.json``."""
        recent = [name for name in sorted(self._words) if self._silent_s(name) < SHOWN_S]
        return [self._shown(name) for name in recent]

    def _shown(self, name: str) -> dict[str, Any]:
        word, load = self._words[name], self._load_of(name)
        state = clip_line(word.get("state", ""), 40)
        if state != "ended" and not self._is_there(name):
            state = f"lost, last word {self._silent_s(name):.0f} s ago"
        devices = word.get("devices")
        labels = ", ".join(map(str, devices)) if isinstance(devices, list) else ""
        return {
            "index": self._index[name],
            "device": clip_line(f"{name}: {labels}", 40),
            "stage": state,
            "games": int(number(word, "games")),
            "seated": 0,
            "saving_age_s": None,
            "load": load.to_dict() if load else {},
        }

    def _load_of(self, name: str) -> Throughput | None:
        """What a player says of its speed; None where it is gone, or says nothing of the kind."""
        load = self._words[name].get("load")
        if isinstance(load, dict) and self._is_there(name):
            with suppress(KeyError):
                return Throughput.from_dict({key: number(load, key) for key in load})
        return None

    def _is_there(self, name: str) -> bool:
        return self._words[name].get("state") != "ended" and self._silent_s(name) < LOST_S

    def _silent_s(self, name: str) -> float:
        """Seconds since the last word of a player."""
        return time.monotonic() - self._heard_s[name]


def read_word(store: Store, player: str) -> dict[str, Any]:
    """What a player said of itself last. Raises ValueError where that is no short JSON object."""
    return parse_json_object(store.get(word_name(player)) or b"", MOST_BYTES)
