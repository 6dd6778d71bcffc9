"""Settings of a machine that has to ask rank 0 for them.

A run's settings lie in its folder. Where machines share none, only rank 0's disk has them: when a
run goes on, the others know by their own flags and variables who they are and where rank 0 is,
and are told the rest once they meet.
"""

import os
from collections.abc import Mapping
from typing import Any

from vecchess.config import TrainConfig, load_config, resolve
from vecchess.config.load import ENV_PREFIX
from vecchess.train.distributed.ranks import Ranks

OWN = {"node_rank", "gpus", "master_addr", "threads", "movers"}
"""What may differ from machine to machine: which of them this is, and how it computes."""
KNOWN_BEFORE = OWN | {"nnodes", "master_port", "rank_timeout_s"}
"""What a machine must know before it meets rank 0."""


def settings_before_joining(flags: Mapping[str, Any]) -> TrainConfig:
    """This machine's settings as far as they matter until it meets rank 0; defaults otherwise.

    ``flags`` are all that were given. Raises ConfigError as ``load_config``.
    """
    variables = {ENV_PREFIX + name.upper() for name in KNOWN_BEFORE}
    environ = {name: value for name, value in os.environ.items() if name in variables}
    known = {name: value for name, value in flags.items() if name in KNOWN_BEFORE}
    return load_config(TrainConfig, known, None, environ)


def settings_from_rank0(
    config: TrainConfig, flags: Mapping[str, Any] | None, ranks: Ranks
) -> TrainConfig:
    """``config`` where ``flags`` is None, else rank 0's settings below ``flags`` and variables.

    All ranks call it; rank 0 without ``flags``. Raises ConfigError where they do not fit together.
    """
    shared = config.model_dump(mode="json", exclude=OWN, exclude_none=True)
    told = ranks.broadcast_object(shared)
    if flags is None:
        return config
    return resolve(TrainConfig, flags, told, f"settings of rank 0 on {ranks.hosts[0]}")


def shared_text(config: TrainConfig) -> str:
    """What has to be the same on all machines, as text."""
    return config.model_dump_json(exclude=OWN)
