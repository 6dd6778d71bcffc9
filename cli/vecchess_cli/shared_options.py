"""Options that mean the same to several commands and are no settings."""

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[Path | None, typer.Option(help="TOML file with settings.", metavar="PATH")]
Resume = Annotated[bool, typer.Option("--resume", help="Resume the run in --run-dir.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]

# Of commands without a settings model.

Device = Annotated[str, typer.Option(help='Device, as for "vecchess selfplay".')]
Backend = Annotated[str, typer.Option(help='"auto", "cpu", "cuda", "torch" or "reference".')]
Threads = Annotated[int, typer.Option(help="Threads of the CPU backend; 0: by the cores.")]
