"""Options that mean the same to several commands and are no settings."""

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[Path | None, typer.Option(help="TOML file with settings.", metavar="PATH")]
Resume = Annotated[bool, typer.Option("--resume", help="Resume the run in --run-dir.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
