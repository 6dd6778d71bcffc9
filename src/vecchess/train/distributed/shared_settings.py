"""Settings of a machine that has to ask rank 0 for them (decision 97).

A run's settings lie in its folder. Where machines share none, only rank 0's disk has them: when a
run is resumed, the others learn from their own flags and variables which ranks they are and where
rank 0 is, and get the rest from rank 0 once all ranks have met.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vecchess.config import TrainConfig, resolve
from vecchess.config.load import ENV_PREFIX, overlaid

if TYPE_CHECKING:
    from vecchess.train.distributed.ranks import Ranks

OWN = {"node_rank", "gpus", "master_addr", "threads", "movers"}
"""Settings that may differ from machine to machine."""
NEEDED_TO_JOIN = OWN | {"nnodes", "master_port", "rank_timeout_s"}
"""Settings that a machine needs before it meets rank 0."""


def settings_before_joining(flags: Mapping[str, Any]) -> TrainConfig:
    """This machine's settings as far as they matter until it meets rank 0; defaults otherwise.

    ``flags`` are all that were given. Raises ConfigError as ``load_config``.
    """
    variables = {ENV_PREFIX + name.upper() for name in NEEDED_TO_JOIN}
    environ = {name: value for name, value in os.environ.items() if name in variables}
    needed = {name: value for name, value in flags.items() if name in NEEDED_TO_JOIN}
    file = flags["config"]
    values = {name: value for name, value in overlaid({}, file).items() if name in NEEDED_TO_JOIN}
    return resolve(TrainConfig, needed, values, str(file), environ)


def node_of(flags: Mapping[str, Any]) -> int:
    """The number of this machine, before it is known how many there are and where the first is.

    Raises ConfigError as ``load_config``.
    """
    any_cluster = {"nnodes": 4096, "master_addr": "unknown"}
    return settings_before_joining({**flags, **any_cluster}).node_rank


def settings_from_rank0(
    config: TrainConfig, flags: Mapping[str, Any] | None, ranks: "Ranks"
) -> TrainConfig:
    """``config`` where ``flags`` is None, else rank 0's settings below ``flags``, variables and the
    file that ``flags`` name.

    All ranks call it; rank 0 without ``flags``. Raises ConfigError where they do not fit together.
    """
    shared = config.model_dump(mode="json", exclude=OWN, exclude_none=True)
    from_rank0 = ranks.broadcast_object(shared)
    if flags is None:
        return config
    where = f"settings of rank 0 on {ranks.hosts[0]}"
    return resolve(TrainConfig, flags, overlaid(from_rank0, flags["config"]), where)
