"""``vecchess replay``: play recorded games again and compare."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecchess.config import SelfplayConfig
from vecchess.errors import ConfigError
from vecchess.runtime.progress import ProgressDisplay, bar_line
from vecchess_cli.options import Run, command_app, run_here, settings_options
from vecchess_cli.output import notes, print_result, results, text_of

if TYPE_CHECKING:
    from vecchess.replay.run_replay import ReplayProgress

NEGATIVE = 3
RESOURCES = "gpus slots movers threads backend"
OPTIONS = f"verify_all seed {RESOURCES} quiet json"
MOST_SHOWN = 10
"""Most games that differ are shown one by one."""
NAMES = {
    "action": "move",
    "steps": "time steps",
    "prob": "probability of the move",
    "full": "full search",
    "thought": "time steps of the search",
    "tag": "hash of the answers so far",
    "target": "policy target",
    "fingerprint": "hash of all answers",
    "length": "plies",
    "start": "start position",
}
"""Column -> a clearer name, where it needs one."""


@settings_options(SelfplayConfig, {"Options": OPTIONS})
def replay(
    flags: dict[str, Any],
    run: Run,
    game: Annotated[int | None, typer.Argument(help="Number of the game.", min=0)] = None,
    verify_all: Annotated[
        int | None,
        typer.Option(help="Check this number of games instead, drawn at random.", min=1),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of that draw.", min=0)] = 0,
) -> int:
    """Play a recorded game again and compare it with the record, bit for bit.

    A game follows from the run's seed, its number and its network, on every machine: a game of
    eight GPUs comes out the same on a laptop. Moves, values, searches and the hash of all
    accumulators are compared. The exit code is 3 where something differs; what, is printed.

    Examples:  vecchess replay runs/first 17

    vecchess replay runs/first --verify-all 1000 --slots 64
    """
    from vecchess.replay.run_replay import replay_game, verify_games

    if (game is None) == (verify_all is None):
        raise ConfigError("name one game, or --verify-all N: one of the two")
    resources = {name: flags[name] for name in RESOURCES.split()}
    display = ProgressDisplay(notes(), flags["quiet"])
    folder = run_here(run)
    if game is not None:
        facts = replay_game(folder, game, resources, display.print)
        found, verdict = [facts["difference"]], verdict_of_game(facts)
    else:
        with display:
            show = partial(show_progress, display)
            facts = verify_games(folder, verify_all or 0, seed, resources, display.print, show)
        found, verdict = facts["differences"][:MOST_SHOWN], verdict_of_games(facts)
    shown = {name: value for name, value in facts.items() if not name.startswith("difference")}
    shown["differences"] = [difference_row(one) for one in found if one]
    is_shown = game is None or not flags["quiet"]
    print_result(facts, flags["json"], shown if is_shown else {})
    if is_shown:
        results(flags["json"]).print(verdict, markup=False)
    return NEGATIVE if found and found[0] else 0


app = command_app(replay)


def difference_row(difference: dict[str, Any]) -> dict[str, Any]:
    """Where a game differs first, and what."""
    recorded, now = (difference.get(f"move_{name}") or "over" for name in ("recorded", "now"))
    move = recorded if recorded == now else f"{recorded} / {now}"
    return {
        "game": difference["game"],
        "first_at_ply": "none" if difference["ply"] is None else difference["ply"],
        "move": "" if difference["ply"] is None else move,
        "recorded / now": "; ".join(
            f"{NAMES.get(one['what'], one['what'])}: {text_of('', one['recorded'])} / "
            f"{text_of('', one['now'])}"
            for one in difference["changes"]
        ),
    }


def verdict_of_game(facts: dict[str, Any]) -> str:
    """Whether a game is the same, in words."""
    if facts["difference"] is not None:
        tags = [change["what"] for change in facts["difference"]["changes"]] == ["tag"]
        return "it differs" + "; hashes alone: the answers may differ a ply or two before" * tags
    if facts["hashes_known"]:
        return "bit-identical"
    return "the same; recorded before there were hashes, so accumulators were not compared"


def verdict_of_games(facts: dict[str, Any]) -> str:
    """Whether many games are the same, in words."""
    if facts["different"]:
        return f"{facts['different']:,} differ"
    unknown = facts["hashes_unknown"]
    if not unknown:
        return "all bit-identical"
    return f"all the same; accumulators of {unknown:,} were not recorded, so not compared"


def show_progress(display: ProgressDisplay, progress: "ReplayProgress") -> None:
    """Show how far the check of many games has come."""
    counts = f"{progress.plies:,} plies, {len(progress.differences):,} differ"
    games = f"{progress.done:,}/{progress.wanted:,} games"
    display.update(
        lambda: f"{games}, {counts}",
        lambda: bar_line(progress.done, progress.wanted, games, counts),
    )
