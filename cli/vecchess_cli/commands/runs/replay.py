"""``vecchess replay``: play recorded games again and compare."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from vecchess.config import SelfplayConfig
from vecchess_cli.option_panels import command_app
from vecchess_cli.output import Json, notes, print_json, results
from vecchess_cli.settings_options import settings_options
from vecchess_cli.shared_options import Quiet

NEGATIVE = 3
OPTIONS = "verify_all seed gpus slots movers threads backend quiet json"


@settings_options(SelfplayConfig, {"Options": OPTIONS})
def replay(
    settings: dict[str, Any],
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    game: Annotated[int | None, typer.Argument(help="Number of the game.", min=0)] = None,
    verify_all: Annotated[
        int | None,
        typer.Option(help="Check this number of games instead, drawn at random.", min=1),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of that draw.", min=0)] = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Play a recorded game again and compare it with the record, bit for bit.

    A game follows from the run's seed, its number and its network, on every machine: a game of
    eight GPUs comes out the same on a laptop. Moves, values, searches and the hash of all
    accumulators are compared. The exit code is 3 where something differs; what, is printed.

    Examples:  vecchess replay runs/first 17

    vecchess replay runs/first --verify-all 1000 --slots 64
    """
    from vecchess.errors import ConfigError
    from vecchess.replay.run_replay import replay_game, verify_games
    from vecchess.runtime.progress import ProgressDisplay
    from vecchess_cli.tables.replay_tables import show_game, show_progress, show_verdict

    if (game is None) == (verify_all is None):
        raise ConfigError("name one game, or --verify-all N: one of the two")
    console, display = results(json), ProgressDisplay(notes(), quiet)
    if game is not None:
        facts = replay_game(run, game, settings, display.print)
        if not quiet:
            show_game(console, facts)
        is_same = bool(facts["identical"])
    else:
        with display:
            show = partial(show_progress, display)
            facts = verify_games(run, verify_all or 0, seed, settings, display.print, show)
        show_verdict(console, facts)
        is_same = facts["different"] == 0
    if json:
        print_json(facts)
    return 0 if is_same else NEGATIVE


app = command_app(replay)
