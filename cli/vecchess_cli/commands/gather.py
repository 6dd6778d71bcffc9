"""``vecchess gather``: games of others as shards for training."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vecchess.config.import_settings import (
    EngineGamesConfig,
    EngineLabelsConfig,
    NetworkLabelsConfig,
)
from vecchess.config.settings import build_from_flags
from vecchess.errors import ConfigError
from vecchess.runtime.progress import ProgressDisplay
from vecchess.runtime.signals import Stopped, StopSignals, exit_code, stopped_text
from vecchess_cli.options import PanelCommand, command_group, run_here, settings_options
from vecchess_cli.output import Json, note, notes, print_json, results

if TYPE_CHECKING:
    from vecchess.importers.import_folder import ImportProgress, OnImportProgress
    from vecchess.importers.pgn_import import ImportCounts

app = command_group("Collect games of others to learn from.")

OPTIONS = """games nodes multipv concurrency seed openings random_plies random_move_share
max_plies out json"""
LABEL_OPTIONS = "engine net lc0 nodes multipv every concurrency seed skip_bad out json"
LABELLERS = "engine", "net", "lc0"
Out = Annotated[Path, typer.Option(help="Folder for the shards.")]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Leave out games of PGN files with errors.")
]


@app.command(cls=PanelCommand)
def pgn(
    files: Annotated[list[Path], typer.Argument(help="PGN files.", metavar="FILE...")],
    out: Out,
    skip_bad: SkipBad = False,
    json: Json = False,
) -> None:
    """Write the finished games of PGN files as shards. Variations and comments are left out.

    Example:  vecchess gather pgn games.pgn --out data/games
    """
    from vecchess.importers.pgn_import import import_pgn

    with ProgressDisplay(notes()) as display:
        counts = import_pgn(
            files, out, skip_bad, on_progress=lambda now: display.update(lambda: _counts_line(now))
        )
    console = results(json)
    console.print(
        f"wrote {counts.games:,} games, {counts.plies:,} plies to {out}; left out: "
        f"{counts.unfinished:,} without a result, {counts.empty:,} without moves, "
        f"{counts.bad:,} with errors",
        markup=False,
    )
    if counts.first_bad:
        console.print(f"the first with errors: {counts.first_bad}", markup=False)
    if counts.first_cut:
        console.print(f"cut off, perhaps: {counts.first_cut}", markup=False)
    if json:
        print_json(counts.to_dict() | {"out": str(out)})


@app.command(cls=PanelCommand)
@settings_options(EngineGamesConfig, {"Options": OPTIONS})
def engine(
    flags: dict[str, Any],
    engine: Annotated[str, typer.Argument(help="Program that speaks UCI.")],
    out: Out,
) -> int:
    """Let a UCI engine play itself; the same command resumes where it was stopped.

    Example:  vecchess gather engine stockfish --games 1000 --nodes 500 --out data/stockfish
    """
    from vecchess.importers.engine_games import gather_engine_games

    config = build_from_flags(EngineGamesConfig, flags)

    def show(facts: dict[str, Any]) -> str:
        return (
            f"{facts['games']:,} games, {facts['plies']:,} plies in {out}: "
            f"+{facts['white_wins']} ={facts['draws']} -{facts['black_wins']}"
        )

    def line(progress: "ImportProgress") -> str:
        return f"{progress.plies_per_s:,.0f} plies/s"

    return _gather(
        lambda say: gather_engine_games(config, out, say), line, show, out, flags["json"]
    )


@app.command(cls=PanelCommand)
@settings_options(EngineLabelsConfig, {"Options": LABEL_OPTIONS})
def label(
    flags: dict[str, Any],
    places: Annotated[
        list[str],
        typer.Argument(
            help="Runs, their URLs, folders of shards, shards and PGN files.", metavar="PLACE..."
        ),
    ],
    out: Out,
    engine: Annotated[str | None, typer.Option(help="Program that speaks UCI.")] = None,
    net: Annotated[
        str | None, typer.Option(help="Network file, default, or module:..., instead.")
    ] = None,
    lc0: Annotated[Path | None, typer.Option(help="Weight file of lc0, instead.")] = None,
    skip_bad: SkipBad = False,
) -> int:
    """Let a UCI engine, or a network, label positions of recorded games; the same command resumes.

    Example:  vecchess gather label runs/first --engine stockfish --every 3 --out data/labels

    Example:  vecchess gather label runs/first --net default --out data/labels

    Example:  vecchess gather label runs/first --lc0 maia-1900.pb.gz --out data/labels
    """
    work = _labelling(flags)

    def show(facts: dict[str, Any]) -> str:
        return f"{facts['searched_plies']:,} positions of {facts['games']:,} games in {out}"

    def line(progress: "ImportProgress") -> str:
        return f"{progress.positions_per_s:,.0f} positions/s"

    folders = [run_here(place) for place in places]
    return _gather(
        lambda say: work(folders, out, skip_bad, say, note), line, show, out, flags["json"]
    )


def _labelling(flags: dict[str, Any]) -> Callable[..., dict[str, Any]]:
    """The function that labels places as ``flags`` say."""
    if sum(flags[kind] is not None for kind in LABELLERS) != 1:
        raise ConfigError("what is to label? give --engine PROGRAM, --net NETWORK or --lc0 FILE")
    if flags["engine"] is not None:
        from vecchess.importers.label_games import gather_labels

        return partial(gather_labels, build_from_flags(EngineLabelsConfig, flags))
    if flags["nodes"] is not None or flags["multipv"] is not None:
        raise ConfigError("--nodes and --multipv belong to --engine: a network answers at once")
    from vecchess.importers.network_label import gather_network_labels

    return partial(gather_network_labels, build_from_flags(NetworkLabelsConfig, flags))


def _gather(
    work: "Callable[[OnImportProgress], dict[str, Any]]",
    line: "Callable[[ImportProgress], str]",
    show: Callable[[dict[str, Any]], str],
    out: Path,
    json: bool,
) -> int:
    """Do ``work``, display its progress with the speed as ``line`` writes it, and ``show`` the
    facts; returns the exit code."""

    def progress_line(progress: "ImportProgress") -> str:
        target = f"/{progress.target:,}" if progress.target else ""
        return f"{progress.seconds:6.0f} s  {progress.games:,}{target} games  {line(progress)}"

    with StopSignals(interrupts=True) as stop:
        try:
            with ProgressDisplay(notes()) as display, stop.interrupting():
                facts = work(lambda progress: display.update(lambda: progress_line(progress)))
        except Stopped:
            note(f"{stopped_text(stop.reason)}; resume with the same command")
            return exit_code(stop.reason)
    results(json).print(show(facts), markup=False)
    if json:
        print_json(facts | {"out": str(out)})
    return 0


def _counts_line(counts: "ImportCounts") -> str:
    left_out = counts.unfinished + counts.empty + counts.bad
    return f"{counts.games:,} games, {counts.plies:,} plies; {left_out:,} games left out"
