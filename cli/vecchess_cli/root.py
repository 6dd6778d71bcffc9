"""``vecchess``: the root command, and all there are."""

from typing import Annotated

import typer

from vecchess_cli.commands import (
    analyse,
    bench,
    calibrate,
    compare,
    dash,
    doctor,
    eval,
    export,
    gather,
    match,
    net,
    ray,
    replay,
    report,
    selfplay,
    train,
    tune,
    uci,
    watch,
)

HELP = """Self-play server, trainer and engine for chess with spiking neural networks.

Start with `vecchess selfplay`: it makes a small network and plays 64 games on this machine.
"""

app = typer.Typer(
    help=HELP,
    invoke_without_command=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("selfplay")(selfplay.selfplay)
app.command("train")(train.train)
app.add_typer(ray.app, name="ray")
app.command("watch")(watch.watch)
app.command("report")(report.report)
app.command("match")(match.match)
app.command("analyse")(analyse.analyse)
app.command("replay")(replay.replay)
app.command("eval")(eval.evaluate)
app.command("compare")(compare.compare)
app.command("uci")(uci.uci)
app.command("dash")(dash.dash)
app.add_typer(net.app, name="net")
app.command("calibrate")(calibrate.calibrate)
app.command("tune")(tune.tune)
app.add_typer(bench.app, name="bench")
app.add_typer(gather.app, name="gather")
app.add_typer(export.app, name="export")
app.command("doctor")(doctor.doctor)


def _print_version(wanted: bool) -> None:
    if wanted:
        from vecchess import __version__

        typer.echo(f"vecchess {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Say which."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
