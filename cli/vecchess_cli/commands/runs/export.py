"""``vecchess export``: recorded games and networks in formats that others read."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vecchess_cli.option_panels import PanelCommand, command_group
from vecchess_cli.output import Json, note, notes, print_json

if TYPE_CHECKING:
    from vecchess.export.game_source import ExportSource, OnExported

DIFFERENT = 3
"""Exit code where the comparison found a difference."""

app = command_group("Write recorded games and networks in other formats.")

Place = Annotated[Path, typer.Argument(help="A run, a folder of shards or a shard.", metavar="RUN")]
OUT_HELP = 'File to write, "-" for stdout.'
Games = Annotated[
    str | None, typer.Option(help='Numbers of the games, as in "0-99".', show_default="all")
]


@app.command(cls=PanelCommand)
def pgn(
    run: Place,
    out: Annotated[Path | None, typer.Option(help=OUT_HELP, show_default="RUN/games.pgn")] = None,
    comments: Annotated[
        bool,
        typer.Option("--comments/--no-comments", help="Write evaluations into comments."),
    ] = True,
    games: Games = None,
    json: Json = False,
) -> None:
    """Write recorded games as PGN, in the order of their numbers.

    A comment has the evaluation of the position on the board: [%eval] in pawns, White's view, as
    lichess scores them; [%wdl] win, draw, loss of the mover in thousandths; [%visits] of the
    search; [%steps] of the network.

    Example:  vecchess export pgn runs/first
    """
    out = out or _beside(run, "games.pgn")
    _require_one(out, json)
    from vecchess.export.pgn_export import export_pgn

    with _games(run, games) as (source, on_exported):
        num_games = export_pgn(source, out, comments, on_exported)
    _report(f"{num_games:,} games", out, {"games": num_games}, json)


@app.command(cls=PanelCommand)
def lc0(
    run: Place,
    out: Annotated[
        Path | None, typer.Option(help="Folder to make.", show_default="RUN/lc0")
    ] = None,
    games: Games = None,
    json: Json = False,
) -> None:
    """Write recorded games as training data of lc0: V6 records, a gzip file a game.

    Example:  vecchess export lc0 runs/first
    """
    out = out or _beside(run, "lc0")
    from vecchess.export.lc0_export import export_lc0

    with _games(run, games) as (source, on_exported):
        written = export_lc0(source, out, on_exported)
    _report(f"{written.games:,} games, {written.plies:,} positions", out, written._asdict(), json)


@app.command(cls=PanelCommand)
def csv(
    run: Place,
    out: Annotated[
        Path | None,
        typer.Option(help=OUT_HELP, show_default="RUN/games.csv, or RUN/plies.csv"),
    ] = None,
    plies: Annotated[bool, typer.Option("--plies", help="A row a ply, not a row a game.")] = False,
    games: Games = None,
    json: Json = False,
) -> None:
    """Write statistics of recorded games as CSV: a row a game, or a row a ply.

    Example:  vecchess export csv runs/first
    """
    out = out or _beside(run, "plies.csv" if plies else "games.csv")
    _require_one(out, json)
    from vecchess.export.csv_table import export_csv

    with _games(run, games) as (source, on_exported):
        num_games, num_rows = export_csv(source, out, plies, on_exported)
    facts = {"games": num_games, "rows": num_rows}
    _report(f"{num_rows:,} rows of {num_games:,} games", out, facts, json)


@app.command(cls=PanelCommand)
def onnx(
    net: Annotated[Path, typer.Argument(help="Network file, or default.", metavar="NET")],
    out: Annotated[
        Path | None, typer.Option(help=OUT_HELP, show_default="NET with the suffix .onnx")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Time steps.", show_default="the network's own")
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check/--no-check", help="Compare with our own backend in onnxruntime."),
    ] = True,
    json: Json = False,
) -> None:
    """Write a network as ONNX, all time steps unrolled, exact to the bit.

    Example:  vecchess export onnx small.safetensors
    """
    out = out or net.with_suffix(".onnx")
    _require_one(out, json)
    from vecchess.export.onnx_export import export_onnx
    from vecchess.snn.integer.net_file import load_net

    network = load_net(net)
    done = export_onnx(network, out, steps, check)
    parity = done.parity
    if parity is not None:
        note(
            f"onnxruntime and our reference: {parity.different:,} of {parity.numbers:,} "
            f"accumulators differ, {parity.positions:,} positions"
        )
    facts = {
        "sha256": network.sha256,
        "time_steps": done.time_steps,
        "bytes": done.num_bytes,
        "written": done.written,
        "parity": None if parity is None else parity._asdict(),
    }
    if done.written:
        _report(f"{done.num_bytes:,} bytes, {done.time_steps} time steps", out, facts, json)
        return
    note(f"{out} is not written: this onnxruntime is not exact")
    if json:
        print_json({"schema": 1, **facts, "out": str(out)})
    raise typer.Exit(DIFFERENT)


def _beside(run: Path, name: str) -> Path:
    """Where an export goes by default: into the folder of games, or beside the shard."""
    return run.with_name(f"{run.stem}-{name}") if run.is_file() else run / name


@contextmanager
def _games(run: Path, numbers: str | None) -> "Iterator[tuple[ExportSource, OnExported]]":
    """The games of a run to be exported, and a function that shows how many are done."""
    from vecchess.export.game_source import ExportSource, parse_numbers
    from vecchess.runtime.progress import ProgressDisplay

    wanted = None if numbers is None else parse_numbers(numbers)
    with ProgressDisplay(notes()) as display:
        yield (
            ExportSource(run, wanted, display.print),
            lambda done, total: display.update(lambda: f"{done:,}/{total:,} games"),
        )


def _report(what: str, out: Path, facts: Mapping[str, object], json: bool) -> None:
    if str(out) != "-":
        note(f"wrote {what} to {out}")
    if json:
        print_json({"schema": 1, **facts, "out": str(out)})


def _require_one(out: Path, json: bool) -> None:
    """Refuse --json together with --out -, before anything is read."""
    if json and str(out) == "-":
        from vecchess.errors import ConfigError

        raise ConfigError("--json and --out - both want stdout: drop one")
