"""Stores of tests that fail as disks, servers and networks do."""

import random
from collections.abc import Callable
from typing import Any

from vecchess.store.remote.object_store import Attempts, ObjectStore, Unanswered


class FaultyAttempts:
    """Requests to ``inner``, some of which fail: before they are done, or with a lost answer."""

    def __init__(self, inner: Attempts, share: float, seed: int = 0) -> None:
        self._inner, self._share, self._random = inner, share, random.Random(seed)
        self.failures = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        request = getattr(self._inner, name)

        def attempt(*arguments: Any) -> Any:
            fate = self._random.random()
            if fate < self._share / 2:
                self.failures += 1
                raise Unanswered("503")
            answer = request(*arguments)
            if fate < self._share:
                self.failures += 1
                raise Unanswered("the answer got lost")
            return answer

        return attempt


def faulty_store(store: ObjectStore, share: float, seed: int = 0) -> ObjectStore:
    """``store``, of whose requests that share fails."""
    return ObjectStore(store.place, FaultyAttempts(store.attempts, share, seed))
