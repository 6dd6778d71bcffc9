"""A small program of ranks, started as users start one.

``python -m tests.train.distributed.run_ranks PROGRAM FOLDER``

Further options are ``--gpus``, ``--nnodes``, ``--node-rank``, ``--master-addr``, ``--master-port``,
``--timeout-s`` and ``--start-s``.
"""

import argparse
import sys
from pathlib import Path

from tests.train.distributed import rank_programs
from vecchess.errors import VecchessError
from vecchess.runtime.devices import parse_gpus
from vecchess.train.distributed.environment import Cluster
from vecchess.train.distributed.launch import run_ranks


def main() -> int:
    """Run one of ``rank_programs``; errors become one line and an exit code, as ``vecchess``'s."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gpus", default="cpu")
    parser.add_argument("--nnodes", type=int, default=1)
    parser.add_argument("--node-rank", type=int, default=0)
    parser.add_argument("--master-addr", default="")
    parser.add_argument("--master-port", type=int, default=0)
    parser.add_argument("--timeout-s", type=float, default=45.0)
    parser.add_argument("--start-s", type=float, default=60.0)
    given = parser.parse_args()
    cluster = Cluster(given.nnodes, given.node_rank, given.master_addr, given.master_port)
    program = getattr(rank_programs, given.program)
    try:
        devices = parse_gpus(given.gpus)
        run_ranks(program, (given.folder,), devices, cluster, given.timeout_s, given.start_s)
    except VecchessError as error:
        if str(error):
            print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
