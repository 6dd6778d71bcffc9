"""Options that mean the same to several commands, as types of their parameters."""

from pathlib import Path
from typing import Annotated

import typer

# Of commands whose settings come from flags, variables and files: None means not given.

Gpus = Annotated[
    str | None,
    typer.Option(help='"auto", "all", "0-7", "0,2,5", GPU UUIDs, "cpu" or "cpu:4". [auto]'),
]
Seed = Annotated[int | None, typer.Option(help="Seed of every random choice. [0]")]
Config = Annotated[Path | None, typer.Option(help="TOML file with settings.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Temperature = Annotated[
    str | None, typer.Option(help='Sampling temperature, "1.0" or by ply "1.0,30:0.5". [1.0]')
]
Openings = Annotated[Path | None, typer.Option(help="Start positions: an EPD, FEN or PGN file.")]
Chess960 = Annotated[bool | None, typer.Option("--chess960", help="Start from the 960 positions.")]
RandomPlies = Annotated[int | None, typer.Option(help="Uniformly random plies at the start. [0]")]
Syzygy = Annotated[Path | None, typer.Option(help="Folder of Syzygy tablebases.")]
Backend = Annotated[
    str | None, typer.Option(help='"auto", "cpu", "cuda", "torch" or "reference". [auto]')
]
Exits = Annotated[
    bool | None,
    typer.Option("--exits/--no-exits", help="Leave the network once settled. [--exits]"),
]

MetricsPort = Annotated[
    int | None, typer.Option(help="Port on which Prometheus may ask; 0: none. [0]")
]
MetricsHost = Annotated[
    str | None, typer.Option(help="Address of that port; 0.0.0.0 for other machines. [127.0.0.1]")
]

# Of commands with defaults of their own, which the help then shows.

Device = Annotated[str, typer.Option(help='Device, as for "vecchess selfplay".')]
NamedBackend = Annotated[str, typer.Option(help='"auto", "cpu", "cuda", "torch" or "reference".')]
Threads = Annotated[int, typer.Option(help="Threads of the CPU backend; 0 chooses.")]
