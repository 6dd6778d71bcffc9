"""``vecchess analyse``: the best moves of a position, and how play would go on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecchess_cli.output import Json, people, print_json
from vecchess_cli.shared_options import Backend, Config, Exits, Syzygy

if TYPE_CHECKING:
    from rich.console import Console

    from vecchess.analysis.analysis_result import Analysis

EXAMPLES = """Search a position and print its best lines, with what they promise the side to move.

Without options: the start position, 800 simulations, judged by counting men.

Examples:

  vecchess analyse

  vecchess analyse "r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4"

  vecchess analyse startpos --moves "e2e4 e7e5" --net my.safetensors --sims 10000 --multipv 5

  vecchess analyse --net small --sims 1000000 --seconds 10 --json

The lines appear on stderr, on a terminal while they are found; stdout gets "bestmove e2e4", or
one JSON object. Ctrl-C ends the search early, as "stop" does in UCI: what was found so far is
printed and the exit code is 0. Settings have a variable (VECCHESS_SIMS, ...) and a key in a
--config file.
"""


def analyse(
    fen: Annotated[
        list[str] | None, typer.Argument(help='A FEN, or "startpos". [startpos]')
    ] = None,
    moves: Annotated[
        str, typer.Option(help='UCI moves that led on from there, "e2e4 e7e5": they may repeat.')
    ] = "",
    net: Annotated[
        str | None,
        typer.Option(
            help='Network file, tiny, small, base, large, sizes (.toml), "constant" or "material", '
            "which counts men. [material]"
        ),
    ] = None,
    search: Annotated[
        str | None, typer.Option(help='"puct", or "gumbel" for few simulations. [puct]')
    ] = None,
    sims: Annotated[int | None, typer.Option(help="Simulations. [800]")] = None,
    seconds: Annotated[
        float | None, typer.Option(help="End the search after so long; 0: never. [0]")
    ] = None,
    multipv: Annotated[int | None, typer.Option(help="Lines to show. [3]")] = None,
    lanes: Annotated[
        int | None,
        typer.Option(
            "--lanes", "--leaves", help="Questions open at a time; 0: sims / 100, 1 to 32. [0]"
        ),
    ] = None,
    draw_score: Annotated[
        float | None, typer.Option(help="Worth of a draw to the side to move, -1 to 1. [0]")
    ] = None,
    syzygy: Syzygy = None,
    cache_mb: Annotated[
        int | None, typer.Option(help="Cache of evaluations, in MB; 0: none. [64]")
    ] = None,
    tree_mb: Annotated[
        int | None, typer.Option(help="Memory for the tree, in MB; 0: what it may need. [0]")
    ] = None,
    gpus: Annotated[
        str | None, typer.Option(help='Device, as for "vecchess selfplay". [auto]')
    ] = None,
    backend: Backend = None,
    threads: Annotated[
        int | None, typer.Option(help="Threads of the CPU backend; 0 chooses. [0]")
    ] = None,
    exits: Exits = None,
    seed: Annotated[
        int | None, typer.Option(help="Of a new network, and of the move drawn. [0]")
    ] = None,
    chess960: Annotated[
        bool | None, typer.Option("--chess960", help="Write castling as king takes rook.")
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """See EXAMPLES."""
    flags: dict[str, Any] = dict(locals())
    from vecchess.analysis.parse_position import STARTPOS
    from vecchess.analysis.run_analysis import analyse as library
    from vecchess.config import AnalyseConfig, load_config
    from vecchess_cli.tables.analysis_tables import picture

    settings = load_config(AnalyseConfig, flags, config)
    position, console = " ".join(fen or [STARTPOS]), people()

    def say(line: str) -> None:
        console.print(line, markup=False)

    with _live(console) as look:
        found, judge = library(settings, position, moves.split(), say, look)
    console.print(picture(found))
    if json:
        print_json(found.to_dict() | judge)
    else:
        typer.echo(f"bestmove {found.best[0]}")


analyse.__doc__ = EXAMPLES


@contextmanager
def _live(console: "Console") -> "Iterator[Callable[[Analysis], None] | None]":
    """What draws the lines in place while they are found; None where there is no terminal."""
    from rich.live import Live

    from vecchess_cli.tables.analysis_tables import picture

    if not console.is_terminal or console.is_dumb_terminal:
        yield None
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield lambda found: live.update(picture(found), refresh=True)
