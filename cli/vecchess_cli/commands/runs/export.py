"""``vecchess export``: games, networks and measurements in formats that others read."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vecchess_cli.options import PanelCommand, Run, beside, command_group, run_here
from vecchess_cli.output import Json, note, notes, print_json, require_one_output

if TYPE_CHECKING:
    from vecchess.export.game_source import ExportSource, OnExported

DIFFERENT = 3
"""Exit code where the comparison found a difference."""

NIR_NOTES = {
    "exact": "NIR's LIF node resets to a value, our neurons subtract the threshold: each layer of "
    "neurons is a graph of LI, Threshold, Scale and Delay nodes that gives our spikes",
    "lif": "NIR's LIF node resets to a value, our neurons subtract the threshold: this graph's "
    "spikes differ from ours, unless its reader subtracts",
}
"""What NIR cannot express, in a line."""

app = command_group("Write games, networks and measurements in other formats.")

Place = Annotated[
    str,
    typer.Argument(help="A run, its URL, a folder of shards or a shard.", metavar="RUN"),
]
Net = Annotated[Path, typer.Argument(help="Network file, or default.", metavar="NET")]
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
    bits: Annotated[
        bool,
        typer.Option("--bits", help="Write all that a replay compares into comments and tags."),
    ] = False,
    games: Games = None,
    json: Json = False,
) -> None:
    """Write recorded games as PGN, in the order of their numbers.

    A comment has the evaluation of the position on the board: [%eval] in pawns, White's view, as
    lichess scores them; [%wdl] win, draw, loss of the mover in thousandths; [%visits] of the
    search; [%steps] of the network.

    Example:  vecchess export pgn runs/first
    """
    place = run_here(run)
    out = out or beside(run, place, "games.pgn")
    require_one_output(out, json)
    from vecchess.export.pgn_export import export_pgn

    with _games(place, games) as (source, on_exported):
        num_games = export_pgn(source, out, comments, bits, on_exported)
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
    place = run_here(run)
    out = out or beside(run, place, "lc0")
    from vecchess.export.lc0_export import export_lc0

    with _games(place, games) as (source, on_exported):
        num_games, num_plies = export_lc0(source, out, on_exported)
    facts = {"games": num_games, "plies": num_plies}
    _report(f"{num_games:,} games, {num_plies:,} positions", out, facts, json)


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
    place = run_here(run)
    out = out or beside(run, place, "plies.csv" if plies else "games.csv")
    require_one_output(out, json)
    from vecchess.export.csv_table import export_csv

    with _games(place, games) as (source, on_exported):
        num_games, num_rows = export_csv(source, out, plies, on_exported)
    facts = {"games": num_games, "rows": num_rows}
    _report(f"{num_rows:,} rows of {num_games:,} games", out, facts, json)


@app.command(cls=PanelCommand)
def onnx(
    net: Net,
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
    out = out or _beside(net, ".onnx")
    require_one_output(out, json)
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


@app.command(cls=PanelCommand)
def nir(
    net: Net,
    out: Annotated[
        Path | None, typer.Option(help=OUT_HELP, show_default="NET with the suffix .nir")
    ] = None,
    neurons: Annotated[
        Literal["exact", "lif"],
        typer.Option(help="Graphs that reset as ours do, or NIR's LIF nodes, which reset to 0."),
    ] = "exact",
    json: Json = False,
) -> None:
    """Write a network as NIR, the neuromorphic intermediate representation.

    NIR's LIF node cannot subtract the threshold, as our neurons do: a layer of neurons is a graph
    of leaky integrator, thresholds, scales and delays. `vecchess net from-nir` reads it back.

    Example:  vecchess export nir small.safetensors
    """
    out = out or _beside(net, ".nir")
    require_one_output(out, json)
    from vecchess.export.nir_file import export_nir
    from vecchess.snn.integer.net_file import load_net

    network = load_net(net)
    done = export_nir(network, out, neurons)
    note(NIR_NOTES[neurons])
    facts = {"sha256": network.sha256, "neurons": neurons, **done._asdict()}
    what = f"{done.num_bytes:,} bytes, {done.nodes:,} nodes, {done.edges:,} edges"
    _report(what, out, facts, json)


@app.command(cls=PanelCommand)
def hub(
    net: Net,
    out: Annotated[
        Path | None, typer.Option(help="Folder to make.", show_default="NET with the suffix -hub")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the model in its card.", show_default="NET's")
    ] = None,
    licence: Annotated[
        str | None,
        typer.Option("--license", help='Licence in the card, as the hub spells it: "gpl-3.0".'),
    ] = None,
    json: Json = False,
) -> None:
    """Write a network as a folder for a model hub: model card, config.json, model.safetensors.

    `--net FOLDER` reads it, as it is or downloaded.

    Example:  vecchess export hub small.safetensors --license gpl-3.0
    """
    from vecchess.export.hub_folder import export_hub
    from vecchess.snn.integer.net_file import load_net

    out = out or _beside(net, "-hub")
    network = load_net(net)
    num_bytes = export_hub(network, out, name or net.stem, licence)
    facts = {"sha256": network.sha256, "bytes": num_bytes}
    _report(f"a network of {num_bytes:,} bytes", out, facts, json)


@app.command(cls=PanelCommand)
def web(
    out: Annotated[Path, typer.Option(help="Folder to make.")],
    net: Annotated[
        str | None, typer.Option(help="Network file, or default.", show_default="default, or RUN's")
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(help="A run, or its URL, whose games the page can play again."),
    ] = None,
    json: Json = False,
) -> None:
    """Write the play page with its engine as static files: no server computes anything.

    The page plays, analyses, shows spikes, and plays recorded games of self-play again: those of
    RUN, or of runs with default settings. Serve the folder: python -m http.server -d FOLDER

    Example:  vecchess export web --out page
    """
    from vecchess.browser.export_web import export_web
    from vecchess.config import DEFAULT_NET, SelfplayConfig, build
    from vecchess.replay.replayer import newest_network, settings_of
    from vecchess.store.run_folder import RunFolder

    config, chosen = build(SelfplayConfig, {}), net or DEFAULT_NET
    if run is not None:
        folder = RunFolder.existing(run_here(run, with_shards=False))
        config, chosen = settings_of(folder, {}), net or newest_network(folder)
    name = DEFAULT_NET if chosen == DEFAULT_NET else Path(chosen).stem
    facts = export_web(chosen, name, out, config)
    what = f"a page of {facts['files']} files, {facts['bytes']:,} bytes"
    _report(what, out, facts, json)


@app.command(cls=PanelCommand)
def tracker(
    run: Run,
    to: Annotated[str, typer.Option(help="trackio, wandb or mlflow, which has to be installed.")],
    project: Annotated[str, typer.Option(help="Project, or experiment, there.")] = "vecchess",
    json: Json = False,
) -> None:
    """Log the measurements of a run to an experiment tracker, on this machine.

    Each call makes a new run in the tracker, with all that was measured so far, and the tags that
    TensorBoard has.

    Example:  vecchess export tracker runs/first --to mlflow
    """
    from contextlib import redirect_stdout

    from vecchess.export.tracker_export import export_tracker

    with redirect_stdout(sys.stderr):  # the libraries tell what they do
        num_points = export_tracker(run_here(run, with_shards=False), to, project)
    note(f"logged {num_points:,} numbers to {to}, project {project}")
    if json:
        print_json({"schema": 1, "tracker": to, "project": project, "points": num_points})


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


def _beside(net: Path, ending: str) -> Path:
    """Where what is made of ``net`` goes, unless the user says where."""
    if not net.name:
        from vecchess.errors import ConfigError

        raise ConfigError(f'NET is "{net}": give a network file')
    return net.with_name(net.stem + ending)
