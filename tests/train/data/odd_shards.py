"""Sources of shards that are slow or never answer; without torch, as loader processes are."""

import time

from vecchess.store.shard import ShardFile
from vecchess.train.data.replay_window import GivenShards


class DeadShards(GivenShards):
    """As if a disk did not answer."""

    def first(self, num_shards: int) -> list[ShardFile]:
        time.sleep(300)
        return super().first(num_shards)


class SlowShards(GivenShards):
    """As if reading took long: 1.5 seconds of work before the shards are there."""

    def first(self, num_shards: int) -> list[ShardFile]:
        end = time.process_time() + 1.5
        while time.process_time() < end:
            pass
        return super().first(num_shards)
