"""Serves a dashboard of run folders until it is stopped (decision 163)."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from vecchess.dash.views.run_reader import RunReader, RunRegistry, safe_name
from vecchess.dash.web.asgi_app import make_app
from vecchess.dash.web.assets import PageFiles
from vecchess.dash.web.event_hub import MAX_CLIENTS, EventHub
from vecchess.errors import ConfigError
from vecchess.ports.address import Address, listen
from vecchess.ports.port_server import PortServer, server_config
from vecchess.safe_parse import encodable

MOST_CONNECTIONS = 2 * MAX_CLIENTS
NICENESS = 10


def serve(
    places: Sequence[Path],
    host: str,
    port: int,
    token: str,
    show_address: Callable[[Address], None],
    until_eof: bool = False,
    nets: Sequence[str] = (),
) -> None:
    """Show the runs at ``places`` until a signal comes, which is raised again then.

    ``show_address`` is called once it listens. until_eof: be the dashboard beside a run: end
    with standard input, wait for a run that is not there yet, take another port where ``port`` is
    taken, yield the CPU to all other processes, and give the address of the run's boards. nets:
    networks for the play page beside those of the runs, as ``vecchess uci --net`` takes them.
    Raises ConfigError where there is no run, the pages are not built, or the address cannot be
    used.
    """
    pages = PageFiles()
    registry = RunRegistry(places)
    if not until_eof and not registry.views():
        named = ", ".join(map(str, places))
        raise ConfigError(
            f"there is no run in {named}; name the folder of one, or start one: vecchess selfplay"
        )
    try:
        address = listen(host, port, token)
    except ConfigError:
        if not until_eof:
            raise
        address = listen(host, 0, token)
    reader = RunReader(registry)
    hub = EventHub(reader)
    app = make_app(reader, hub, pages, address.token, not address.is_loopback, nets)
    config = server_config(app, MOST_CONNECTIONS, lifespan="on")
    server = PortServer(config, before_end=hub.close)
    if until_eof:
        if hasattr(os, "nice"):
            os.nice(NICENESS)
        threading.Thread(target=_end_with_input, args=(server,), daemon=True).start()
    if until_eof and len(places) == 1:
        address = replace(address, page=run_page(places[0]))
    show_address(address)
    with asyncio.Runner() as runner:
        runner.run(server.serve([address.socket]))


def run_page(folder: Path) -> str:
    """The page of a run's boards, as it stands behind the # of the address."""
    return f"/run/{safe_name(encodable(folder.resolve().name))}/boards"


def _end_with_input(server: PortServer) -> None:
    sys.stdin.buffer.read()
    server.should_exit = True
