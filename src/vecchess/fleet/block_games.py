"""The games in the result of a block: read, looked over, and compared."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vecchess.chess.rules import Termination
from vecchess.fleet.task import FleetTask, GamesOfRun
from vecchess.store.id_set import IdSet
from vecchess.store.inflight import SavedGames, parse_saved
from vecchess.store.manifest import Manifest
from vecchess.store.records import GameRecords
from vecchess.store.remote.block_file import BlockName, unpack_block
from vecchess.store.seating import Seating
from vecchess.store.shard import parse_shard, shard_bytes


class BlockGames(NamedTuple):
    """The games of a block: those that ended in it, and those that wait."""

    ended: GameRecords
    waiting: SavedGames | None
    """Games that wait, of a training; None in self-play."""

    @classmethod
    def of(cls, name: BlockName, data: bytes, facts: GamesOfRun) -> "BlockGames":
        """The games in a result. Raises DataError where it is damaged, or of another run."""
        shard, cut = unpack_block(name.object, data)
        path = Path(name.object)
        ended = parse_shard(path, shard, {}, None, facts.run_id)[0]
        return cls(ended, parse_saved(path, cut, facts.run_id) if facts.seats else None)

    def fault(
        self, task: FleetTask, block: int, seating: Seating | None, recorded: Manifest
    ) -> str:
        """Why these cannot be the games of a block, as far as it is seen without playing; or ""."""
        ids = task.blocks.ids(block)
        if (self.ended.termination == Termination.ONGOING).any():
            return "a game that ended goes on"
        if seating is None or self.waiting is None:
            return "" if IdSet.of(self.ended.numbers) == ids else "it has other games"
        records = self.waiting.records
        if (records.termination != Termination.ONGOING).any():
            return "a game that waits has ended"
        segments = seating.of_games(ids, records.numbers)
        if len(segments) != len(ids) or IdSet.of(segments) != ids:
            return "it has other seats"
        if not ids.contains(its_own := seating.of_games(ids, self.ended.numbers)).all():
            return "it has games of other seats"
        last = records.numbers[np.argsort(segments)]  # of each seat
        end = seating.end_of_games(task.generation)
        if (self.ended.numbers >= last[its_own - ids.span[0]]).any() or last.max() >= end:
            return "it has games that come later"
        numbers = np.concatenate([self.ended.numbers, records.numbers])
        is_new = ~recorded.segments.contains(np.concatenate([its_own, segments]))
        is_over = recorded.ids.contains(numbers[is_new]).any()
        return "it has games that are recorded already" if is_over else ""

    def digest(self) -> str:
        """A hash of all that the games are; equal games have equal digests."""
        digest = hashlib.sha256()
        ended = self.ended.by_number().with_used_nets()
        digest.update(shard_bytes(ended, compressed=False))
        if self.waiting is not None:
            order = np.argsort(self.waiting.records.numbers)
            waiting = self.waiting.take(order)
            waiting = replace(waiting, records=waiting.records.with_used_nets())
            digest.update(waiting.to_bytes())
        return digest.hexdigest()

    def only(self, ids: IdSet, seating: Seating | None) -> "BlockGames":
        """The games of some of the block's segments, or games, alone."""
        if seating is None or self.waiting is None:
            kept = np.flatnonzero(ids.contains(self.ended.numbers))
            return BlockGames(self.ended.take(kept), None)
        ended, waiting = (
            np.flatnonzero(ids.contains(seating.of_games(ids, numbers)))
            for numbers in (self.ended.numbers, self.waiting.records.numbers)
        )
        return BlockGames(self.ended.take(ended), self.waiting.take(waiting))

    def to_bytes(self, run_id: str) -> tuple[bytes, bytes]:
        """The games as a shard and as a file of those that wait, empty without any."""
        cut = self.waiting.to_bytes(run_id) if self.waiting is not None else b""
        return shard_bytes(self.ended, run_id), cut
