"""``vecchess uci``: the engine, for chess programs."""

from typing import Annotated, Any

import typer

from vecchess.config import UciConfig
from vecchess_cli.options import command_app, settings_options

HELP = """Be a UCI engine: play and analyse in any chess program.

Without arguments it plays with the trained network of vecchess; --net names another. Flags,
variables (VECCHESS_NET, ...) and a --config file set the defaults of the options that the chess
program shows: see docs/uci.md.

Examples:

  vecchess uci --net my.safetensors

  vecchess uci bench

  vecchess uci go perft 5
"""
PANELS = {
    "Options": "net gpus backend threads exits hash_mb lanes search syzygy seed config",
}


@settings_options(UciConfig, PANELS)
def uci(
    flags: dict[str, Any],
    command: Annotated[
        list[str] | None,
        typer.Argument(help='One command to carry out, such as "bench"; then end.'),
    ] = None,
) -> None:
    """Be the engine; the help is HELP."""
    from vecchess.config import load_config
    from vecchess.uci.run_uci import run

    run(load_config(UciConfig, flags, flags["config"]), command or [])


app = command_app(uci, HELP)
