"""``vecchess dash``: runs in the browser, live."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from vecchess_cli.options import command_app
from vecchess_cli.output import note

if TYPE_CHECKING:
    from vecchess.ports.address import Address

HELP = """Show runs in the browser: live boards, throughput, training, strength, comparisons.

It only reads, and serves this machine alone unless --host is given; a browser then needs the token
in the printed address. Ctrl-C ends it without effect on the runs. See docs/dash.md.

Examples:

  vecchess dash

  vecchess dash runs/first runs/second --open

  vecchess dash --host 0.0.0.0 --port 9000

  vecchess dash --net module:served:make?weights=FILE
"""


def dash(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN]...", help="Runs, their URLs, or folders of runs.", show_default="./runs"
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any.")] = 8765,
    token: Annotated[
        str, typer.Option(help="Token that a browser needs; random with --host.")
    ] = "",
    net: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NET",
            help="Network for the page Play beside those of the runs: a file, or module:... of "
            "your own; may be repeated.",
        ),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open a browser.")] = False,
    until_eof: Annotated[bool, typer.Option("--until-eof", hidden=True)] = False,
) -> None:
    """Serve the runs until Ctrl-C."""
    from vecchess.dash.serve import serve
    from vecchess.inference.source import find
    from vecchess.store.remote.run_places import followed_run

    for given in net or ():
        find(given).check()

    def print_address(address: "Address") -> None:
        typer.echo(f"dashboard: {address.url}", err=True)
        if open_browser:
            typer.launch(address.url)

    with ExitStack() as followed:
        places = [followed.enter_context(followed_run(run, note)) for run in runs or ["runs"]]
        serve(places, host, port, token, print_address, until_eof, net or ())


app = command_app(dash, HELP)
