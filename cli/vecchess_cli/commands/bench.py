"""``vecchess bench``: measure speed on this machine."""

from typing import Annotated, Any

import typer

from vecchess.config.bench_settings import (
    InferenceBench,
    SearchBench,
    ThroughputBench,
)
from vecchess.config.settings import build_from_flags
from vecchess_cli.options import PanelCommand, command_group, settings_options
from vecchess_cli.output import Json, note, print_result

BUSY = 0.9
"""Share of the threads' time on cores below which other processes disturbed the figures."""
app = command_group("Measure speed on this machine.")
THROUGHPUT = {
    "Options": "net gpus seconds cores slots concurrent_games movers search sims cache_mb threads "
    "backend exits seed json"
}
INFERENCE = {"Options": "net gpus slots positions seconds cores threads backend twin seed json"}
SEARCH = {
    "Options": "search sims games net gpus seconds cores cache_mb lanes slots threads backend "
    "seed json"
}


@app.command(cls=PanelCommand)
def perft(
    fen: Annotated[
        str | None, typer.Option(help="Position.", show_default="six known positions")
    ] = None,
    depth: Annotated[int | None, typer.Option(help="Plies to go down.", min=1, max=12)] = None,
    against: Annotated[
        str | None, typer.Option(help='"stockfish": count with it too, in turns.')
    ] = None,
    json: Json = False,
) -> None:
    """Count the leaves of the tree of legal moves, the usual test of move generators.

    Example:  vecchess bench perft --against stockfish
    """
    from vecchess.bench import perft_speed as library

    print_result(library.run(fen, depth, against), json, title="perft")


@app.command(cls=PanelCommand)
def movegen(
    games: Annotated[int, typer.Option(help="Games to play.", min=1)] = 20_000,
    threads: Annotated[int, typer.Option(help="Threads.", min=1, max=64)] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the moves.", min=0, max=(1 << 62) - 1)] = 0,
    json: Json = False,
) -> None:
    """Play uniformly random games to the end, with python-chess for comparison.

    Example:  vecchess bench movegen --threads 2 --json
    """
    from vecchess.bench import movegen_speed as library

    print_result(library.run(games, threads, seed), json, title="random games")


@app.command(cls=PanelCommand)
@settings_options(ThroughputBench, THROUGHPUT)
def throughput(settings: dict[str, Any], json: Json = False) -> None:
    """Measure whole self-play for some seconds: plies/s, batch fill, busy shares, bottleneck.

    Example:  vecchess bench throughput --net small --gpus cpu --cores 1 --json
    """
    from vecchess.bench import throughput as library
    from vecchess.config import load_config

    config = load_config(ThroughputBench, settings, environ={})
    print_result(
        library.run(config, config.seconds, config.cores), json, title="self-play throughput"
    )


@app.command(cls=PanelCommand)
@settings_options(InferenceBench, INFERENCE)
def inference(settings: dict[str, Any], json: Json = False) -> None:
    """Measure a network with and without its exits, and a ReLU network of the same sizes, in turns.

    Example:  vecchess bench inference --net small --gpus cpu --cores 1 --json
    """
    from vecchess.bench import inference as library

    facts = library.run(build_from_flags(InferenceBench, settings))
    print_result(facts, json)
    if facts["device"] == "cpu" and facts["cores_used"] < BUSY * facts["threads"]:
        note("others used the machine: measure again when it is quiet")


@app.command(cls=PanelCommand)
@settings_options(SearchBench, SEARCH)
def search(settings: dict[str, Any], json: Json = False) -> None:
    """Search positions of random games, many at a time: simulations/s, memory, cache.

    Example:  vecchess bench search --search puct --sims 800 --games 256 --cores 1 --json
    """
    from vecchess.bench import search as library

    print_result(library.run(build_from_flags(SearchBench, settings)), json, title="search")
