"""``vecchess``: the root command, and how errors become one line and an exit code."""

import os
import signal
import sys
from typing import Annotated

import typer

from vecchess_cli import (
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
INTERRUPTED = 130

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


def main() -> None:
    """Entry point of the ``vecchess`` program."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as scripts start what is to go on alone
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(run())


def run() -> int:
    """Run the command line; returns the exit code. Expected errors become one line on stderr."""
    from vecchess.errors import VecchessError

    try:
        code = app(standalone_mode=False)
        return code if isinstance(code, int) else 0
    except VecchessError as error:
        return _fail(str(error), error.exit_code)
    except typer.TyperException as error:
        return _fail(error.format_message(), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone, as in `vecchess ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # a full or vanished disk where no better words were found
        return _fail(str(error), 1)


def _fail(message: str, code: int) -> int:
    if message.startswith("Usage:"):  # a group without a command: its help is the answer
        print(message)
        return code
    line = " ".join(message.split())
    if line:
        print(f"vecchess: error: {line}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
