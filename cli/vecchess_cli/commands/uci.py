"""``vecchess uci``: the engine, for chess programs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from vecchess_cli.shared_options import Backend, Config, Exits, Syzygy

HELP = """Be a UCI engine: play and analyse in any chess program.

Start it without arguments and it counts men; --net names a network. What flags, variables
(VECCHESS_NET, ...) and a --config file say are the defaults of the options that the chess program
shows: see docs/uci.md.

Examples:

  vecchess uci --net my.safetensors

  vecchess uci bench

  vecchess uci go perft 5
"""


def uci(
    command: Annotated[
        list[str] | None,
        typer.Argument(help='One command to carry out, such as "bench"; then end.'),
    ] = None,
    net: Annotated[
        str | None,
        typer.Option(
            help='Network file, tiny, small, base, large, sizes (.toml), "constant" or "material", '
            "which counts men. [material]"
        ),
    ] = None,
    gpus: Annotated[
        str | None, typer.Option(help='Device, as for "vecchess selfplay". [auto]')
    ] = None,
    backend: Backend = None,
    threads: Annotated[
        int | None, typer.Option(help="Threads of the CPU backend; 0 chooses. [0]")
    ] = None,
    exits: Exits = None,
    hash_mb: Annotated[
        int | None, typer.Option(help="Memory for tree and cache, in MB. [512]")
    ] = None,
    lanes: Annotated[
        int | None,
        typer.Option(help="Questions open at a time, at most; 0: 32, on a GPU 256. [0]"),
    ] = None,
    search: Annotated[str | None, typer.Option(help='"puct" or "gumbel". [puct]')] = None,
    syzygy: Syzygy = None,
    seed: Annotated[
        int | None, typer.Option(help="Of a new network, and of moves drawn. [0]")
    ] = None,
    config: Config = None,
) -> None:
    """See HELP."""
    flags: dict[str, Any] = dict(locals())
    _run(flags, command or [], config)


uci.__doc__ = HELP


def _run(flags: dict[str, Any], command: list[str], config: Path | None) -> None:
    from vecchess.config import UciConfig, load_config
    from vecchess.uci.run_uci import run

    run(load_config(UciConfig, flags, config), command)
