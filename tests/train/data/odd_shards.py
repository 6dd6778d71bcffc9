"""Sources of shards that are slow or never answer."""

import time

from vecchess.train.data.replay_window import GivenShards, ShardPart


class DeadShards(GivenShards):
    """As if a disk did not answer."""

    def parts(self, first: int, end: int) -> list[ShardPart]:
        time.sleep(300)
        return super().parts(first, end)


class SlowShards(GivenShards):
    """As if reading took long: 1.5 seconds of work before the shards are there."""

    def parts(self, first: int, end: int) -> list[ShardPart]:
        busy_until = time.process_time() + 1.5
        while time.process_time() < busy_until:
            pass
        return super().parts(first, end)
