"""``vecchess suite``: fixed examinations of players."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecchess.config import MatchConfig
from vecchess.runtime.signals import Stopped, StopSignals, exit_code, stopped_text
from vecchess_cli.options import PanelCommand, command_group, settings_options
from vecchess_cli.output import note, notes, print_result

if TYPE_CHECKING:
    from vecchess.suites.run_suite import Suite, SuiteProgress
    from vecchess.suites.suite_result import SuiteResult

app = command_group("Examine players: best moves, puzzles and won endings.")

OPTIONS = "limit concurrency gpus backend threads seed config quiet json"
Players = Annotated[list[str], typer.Argument(help='As for "vecchess match".', metavar="PLAYER...")]
Limit = Annotated[
    int | None, typer.Option(min=1, help="Of the positions, or of each ending, the first N.")
]


@app.command(cls=PanelCommand)
@settings_options(MatchConfig, {"Options": f"epd skip_bad {OPTIONS}"})
def moves(
    flags: dict[str, Any],
    players: Players,
    epd: Annotated[
        Path | None, typer.Option(help="EPD file with best moves (bm) instead of the package's.")
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out lines of the file that cannot be read.")
    ] = False,
    limit: Limit = None,
) -> int:
    """Count the best moves that players find, and the errors of their values.

    Example:  vecchess suite moves net:my.safetensors "net:my.safetensors?search=puct" greedy
    """
    from vecchess.suites.best_moves import MOVES, BestMoveSuite

    return _examine(lambda: BestMoveSuite(epd or MOVES, limit, skip_bad), flags)


@app.command(cls=PanelCommand)
@settings_options(MatchConfig, {"Options": OPTIONS})
def puzzles(
    flags: dict[str, Any],
    players: Players,
    limit: Limit = None,
) -> int:
    """Count the puzzles that players solve: positions with one good move.

    Example:  vecchess suite puzzles "net:my.safetensors?search=gumbel&sims=64" minimax:3
    """
    from vecchess.suites.best_moves import PUZZLES, BestMoveSuite

    return _examine(lambda: BestMoveSuite(PUZZLES, limit), flags)


@app.command(cls=PanelCommand)
@settings_options(MatchConfig, {"Options": OPTIONS})
def endings(
    flags: dict[str, Any],
    players: Players,
    limit: Limit = None,
) -> int:
    """Count the won endings that players mate in within fifty moves: KQK, KRK, KBBK and KPK.

    Example:  vecchess suite endings "net:my.safetensors?search=puct&sims=100"
    """
    from vecchess.suites.endings import EndingSuite

    return _examine(lambda: EndingSuite(limit), flags)


def _examine(make_suite: "Callable[[], Suite]", flags: dict[str, Any]) -> int:
    """Have the players sit the suite and show what they did; returns the exit code."""
    from vecchess.config import load_config
    from vecchess.runtime.progress import ProgressDisplay
    from vecchess.suites.run_suite import run_suite, suite_facts

    settings = load_config(MatchConfig, flags, flags["config"])
    found: list[SuiteResult] = []
    with StopSignals(interrupts=True) as stop:
        try:
            with ProgressDisplay(notes(), flags["quiet"]) as display, stop.interrupting():
                suite = make_suite()
                found += run_suite(
                    flags["players"], suite, settings,
                    lambda progress: display.update(lambda: _line(progress)),
                )  # fmt: skip
        except Stopped:
            note(f"{stopped_text(stop.reason)} before all players were examined")
            return exit_code(stop.reason)
    print_result(suite_facts(suite, found), flags["json"])
    return 0


def _line(progress: "SuiteProgress") -> str:
    share = f", {progress.hits / progress.done:.1%} so far" if progress.done else ""
    return f"{progress.player}: {progress.done:,} of {progress.total:,} positions{share}"
