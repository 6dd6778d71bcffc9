"""``vecchess games``: verify, compact, prune and describe recorded games."""

from pathlib import Path
from typing import Annotated, Any

import typer

from vecchess.errors import ConfigError
from vecchess_cli.options import PanelCommand, Quiet, command_group, run_here
from vecchess_cli.output import Json, note, notes, print_facts, print_json, results

SCHEMA = 1
MOST_GAPS = 5
"""Gaps in the numbers of games are listed up to so many."""
EXIT_CODES = {"good": 0, "damaged": 1, "cannot be read": 2}

app = command_group("Verify, compact, prune and describe the recorded games of runs.")
Runs = Annotated[
    list[str],
    typer.Argument(help="Folders or URLs of runs, or folders of imported games.", metavar="RUN..."),
]


@app.command(cls=PanelCommand)
def info(runs: Runs, json: Json = False) -> None:
    """Print how many games and shards runs have, their space on disk, and their newest events.

    Example:  vecchess games info runs/first
    """
    from vecchess.store.maintenance.games_folder import games_info

    found = [games_info(run_here(run)) | {"run": run} for run in runs]
    for facts in found:
        events = [_event_row(event) for event in facts["events"]]
        print_facts(results(json), facts | {"events": events})
    if json:
        print_json({"schema": SCHEMA, "runs": found})


@app.command(cls=PanelCommand)
def verify(runs: Runs, quiet: Quiet = False, json: Json = False) -> int:
    """Read every recorded game and compare it with the manifest: checksums, numbers, results.

    A run may go on meanwhile. The exit code is 0 where all is good, 1 where shards are damaged,
    missing or of another run, and 2 where some cannot be read now and no other is damaged.

    Example:  vecchess games verify runs/first runs/second
    """
    from vecchess.runtime.progress import ProgressDisplay
    from vecchess.store.maintenance.games_folder import games_folder
    from vecchess.store.maintenance.verify_games import verify as verify_folder

    found = []
    with ProgressDisplay(notes(), quiet) as display:
        for folder in map(games_folder, map(run_here, runs)):
            show = lambda file: display.update(lambda: f"reading {file}")  # noqa: E731
            found.append(verify_folder(folder.path, folder.run_id, show))
    for each in found:
        gaps = "; ".join(f"{first} to {end - 1}" for first, end in each.gaps[:MOST_GAPS])
        lines = each.to_dict() | {"gaps": gaps + " and more" * (len(each.gaps) > MOST_GAPS)}
        print_facts(results(json), {name: value for name, value in lines.items() if value})
    verdicts = {each.verdict for each in found}
    verdict = next(one for one in ("damaged", "cannot be read", "good") if one in verdicts)
    results(json).print(f"verdict: {verdict}")
    if json:
        folders = [each.to_dict() for each in found]
        print_json({"schema": SCHEMA, "verdict": verdict, "folders": folders})
    return EXIT_CODES[verdict]


@app.command(cls=PanelCommand)
def compact(
    runs: Runs,
    shard_games: Annotated[
        int | None,
        typer.Option(help="Games of a large shard.", show_default="the run's own", min=2),
    ] = None,
    json: Json = False,
) -> None:
    """Join small shards into large ones, each with its games in the order of their numbers.

    The run may go on meanwhile, and a training may read it. A kill at any moment loses nothing:
    the next compaction goes on.

    Example:  vecchess games compact runs/first
    """
    from vecchess.store.maintenance.compact_games import compact as compact_folder
    from vecchess.store.maintenance.games_folder import games_folder
    from vecchess.store.manifest import Manifest

    found = []
    for folder in map(games_folder, map(_writable, runs)):
        size = shard_games or folder.shard_games
        done = compact_folder(
            Manifest(folder.path, must_exist=True), folder.run_id, size, folder.generation, note
        )
        found.append({"folder": str(folder.path), **vars(done)})
        results(json).print(
            f"{folder.path}: {done.shards_before:,} shards before, {done.shards_after:,} now; "
            f"{done.games:,} games moved",
            markup=False,
        )
    if json:
        print_json({"schema": SCHEMA, "folders": found})


@app.command(cls=PanelCommand)
def prune(
    runs: Runs,
    keep_generations: Annotated[
        int | None,
        typer.Option(help="Generations of a training to keep, the newest.", min=1),
    ] = None,
    keep_gb: Annotated[
        float | None, typer.Option(help="Size in GB to keep of each run, the newest games.", min=0)
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Delete nothing; tell what would be deleted.")
    ] = False,
    json: Json = False,
) -> None:
    """Delete the oldest games. Their numbers stay recorded: they are not played again.

    What a training of the same run still reads, now or when it is resumed from a checkpoint that it
    keeps, stays. Other runs that learn from these games are not known here.

    Example:  vecchess games prune runs/taught --keep-generations 40 --dry-run
    """
    from vecchess.store.maintenance.games_folder import games_folder
    from vecchess.store.maintenance.prune_games import choice_of
    from vecchess.store.maintenance.prune_games import prune as prune_folder
    from vecchess.store.manifest import Manifest

    found = []
    for folder in map(games_folder, map(_writable, runs)):
        choose = choice_of(folder, keep_generations, keep_gb)
        done = prune_folder(
            Manifest(folder.path, must_exist=True), choose, folder.generation > 0, dry_run
        )
        found.append({"folder": str(folder.path), **done.to_dict()})
        words = "would be deleted" if dry_run else "deleted"
        more = "; a training still reads the others" if done.is_short else ""
        results(json).print(
            f"{folder.path}: {done.games:,} games in {done.shards:,} shards {words}, "
            f"{done.num_bytes / 1e9:.3f} GB; {done.bytes_left / 1e9:.3f} GB stay{more}",
            markup=False,
        )
    if json:
        print_json({"schema": SCHEMA, "dry_run": dry_run, "folders": found})


def _writable(run: str) -> Path:
    """The folder of a run whose games are rewritten; raises ConfigError for a URL."""
    from vecchess.store.remote.object_store import is_url

    if is_url(run):
        raise ConfigError(
            f"{run} is a URL: games there are only read; the training that writes them prunes "
            "them, by its setting keep_gb"
        )
    return Path(run)


def _event_row(event: dict[str, Any]) -> dict[str, str]:
    """An event of the run log: when, and what in one line."""
    from datetime import UTC

    from vecchess.runtime.reporting import format_time

    hidden = ("schema", "time_unix", "event", "traceback", "stderr", "pid", "host")
    facts = [str(value) for name, value in event.items() if name not in hidden and value]
    text = ": ".join([event["event"], ", ".join(facts)])
    return {"time": format_time(event["time_unix"], "%Y-%m-%d %H:%M:%S", UTC), "event": text}
