"""``vecchess bench``: measure this machine; ratios against peers taken in the same run."""

from typing import Annotated, Any

import typer

from vecchess_cli.output import Json, print_json, print_table
from vecchess_cli.shared_options import NamedBackend, Threads

app = typer.Typer(help="Measure speed on this machine.", no_args_is_help=True)
Seconds = Annotated[float, typer.Option(help="Time to measure.", min=0.1)]
Cores = Annotated[int, typer.Option(help="Keep to so many cores; 0: all.", min=0)]
OneDevice = Annotated[
    str, typer.Option("--gpus", "--device", help="The device: auto, cpu, or a GPU's number.")
]
PositionSeed = Annotated[int, typer.Option(help="Seed of network and positions.", min=0)]


@app.command()
def perft(
    fen: Annotated[str | None, typer.Option(help="Position; without it six known ones.")] = None,
    depth: Annotated[int | None, typer.Option(help="Plies to go down.", min=1, max=12)] = None,
    against: Annotated[
        str | None, typer.Option(help='"stockfish": count with it too, in turn.')
    ] = None,
    json: Json = False,
) -> None:
    """Count the leaves of the tree of legal moves: the test and yardstick of the rules.

    Example:  vecchess bench perft --against stockfish
    """
    from vecchess.bench import perft_speed as library

    _show("perft", library.run(fen, depth, against), json)


@app.command()
def movegen(
    games: Annotated[int, typer.Option(help="Games to play.", min=1)] = 20_000,
    threads: Annotated[int, typer.Option(help="Threads.", min=1, max=64)] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the moves.", min=0)] = 0,
    json: Json = False,
) -> None:
    """Play uniformly random games to the end under the full rules, python-chess beside it.

    Example:  vecchess bench movegen --threads 2 --json
    """
    from vecchess.bench import movegen_speed as library

    _show("random games", library.run(games, threads, seed), json)


@app.command()
def throughput(
    net: Annotated[
        str, typer.Option(help='Preset, file, or "constant" for the machinery.')
    ] = "tiny",
    gpus: Annotated[str, typer.Option(help='Devices, as for "vecchess selfplay".')] = "auto",
    seconds: Seconds = 10.0,
    cores: Cores = 0,
    slots: Annotated[int, typer.Option(help="Positions in the network; 0 chooses.")] = 0,
    concurrent_games: Annotated[int, typer.Option(help="Games at a time; 0: twice.")] = 0,
    movers: Annotated[int, typer.Option(help="Mover threads; 0 chooses.")] = 0,
    search: Annotated[str, typer.Option(help='"none", "gumbel" or "puct".')] = "none",
    sims: Annotated[int, typer.Option(help="Simulations of a search.")] = 32,
    cache_mb: Annotated[int, typer.Option(help="Cache of evaluations; 0: none.")] = 64,
    threads: Threads = 0,
    backend: NamedBackend = "auto",
    exits: Annotated[bool, typer.Option("--exits/--no-exits", help="Leave once settled.")] = True,
    seed: Annotated[int, typer.Option(help="Seed of the network and the games.")] = 0,
    json: Json = False,
) -> None:
    """Whole self-play for some seconds: plies/s, fill, busy shares, verdict.

    Example:  vecchess bench throughput --net small --gpus cpu --cores 1 --json
    """
    flags: dict[str, Any] = dict(locals())
    from vecchess.bench import throughput as library
    from vecchess.config import SelfplayConfig, build

    names = SelfplayConfig.model_fields
    settings = {key: flags[key] for key in flags if key in names}
    settings["tree"] = {"search": search, "sims": sims, "cache_mb": cache_mb}
    config = build(SelfplayConfig, settings)
    _show("self-play throughput", library.run(config, seconds, cores), json)


@app.command()
def inference(
    net: Annotated[str, typer.Option(help="Preset or network file.")] = "small",
    gpus: OneDevice = "auto",
    slots: Annotated[int, typer.Option(help="Positions in the network; 0 chooses.", min=0)] = 0,
    positions: Annotated[
        int, typer.Option(help="Positions of random games to ask; 0: four a slot.", min=0)
    ] = 0,
    seconds: Annotated[
        float, typer.Option(help="Time to measure, preparations not counted.", min=0.1)
    ] = 60.0,
    cores: Cores = 0,
    threads: Annotated[int, typer.Option(help="Threads of everybody; 0: one a core.", min=0)] = 0,
    backend: Annotated[str, typer.Option(help="Ours; see vecchess selfplay.")] = "auto",
    peers: Annotated[
        bool, typer.Option("--peers/--no-peers", help="snntorch, spikingjelly and the ReLU twin.")
    ] = True,
    seed: PositionSeed = 0,
    json: Json = False,
) -> None:
    """Our engines, the usual libraries and a ReLU network in turns, on the same positions.

    Example:  vecchess bench inference --net small --gpus cpu --cores 1 --json
    """
    flags: dict[str, Any] = dict(locals())
    from vecchess.bench import inference as library
    from vecchess.config import build
    from vecchess_cli.tables.inference_tables import print_inference

    names = library.InferenceBench.model_fields
    facts = library.run(build(library.InferenceBench, {key: flags[key] for key in names}))
    print_inference(facts)
    if json:
        print_json(facts)


@app.command()
def training(
    net: Annotated[str, typer.Option(help="Preset, or a TOML file with sizes.")] = "tiny",
    batch_size: Annotated[int, typer.Option(help="Samples of a step.", min=1)] = 256,
    seconds: Seconds = 60.0,
    cores: Cores = 1,
    surrogate: Annotated[str, typer.Option(help="Ours; see vecchess train.")] = "atan",
    seed: PositionSeed = 0,
    json: Json = False,
) -> None:
    """Training steps on the processor: ours in both phases, and a plain snntorch loop, in turns.

    Example:  vecchess bench training --net tiny --batch-size 256 --json
    """
    flags: dict[str, Any] = dict(locals())
    from vecchess.bench import training as library
    from vecchess.config import build

    names = library.TrainingBench.model_fields
    config = build(library.TrainingBench, {key: flags[key] for key in names})
    _show("training", library.run(config), json)


@app.command()
def search(
    search: Annotated[str, typer.Option(help='"gumbel" or "puct".')] = "gumbel",
    sims: Annotated[int, typer.Option(help="Simulations a move.", min=1)] = 32,
    games: Annotated[int, typer.Option(help="Positions searched at a time.", min=1)] = 1024,
    net: Annotated[
        str, typer.Option(help='Network file, preset, "constant" or "material".')
    ] = "constant",
    gpus: OneDevice = "auto",
    seconds: Seconds = 10.0,
    cores: Cores = 0,
    cache_mb: Annotated[int, typer.Option(help="Cache of evaluations; 0: none.", min=0)] = 64,
    lanes: Annotated[int, typer.Option(help="Questions a tree may have open.", min=1)] = 1,
    slots: Annotated[int, typer.Option(help="Positions in the network; 0 chooses.", min=0)] = 0,
    threads: Threads = 0,
    backend: Annotated[str, typer.Option(help="Of the network; see vecchess selfplay.")] = "auto",
    seed: PositionSeed = 0,
    json: Json = False,
) -> None:
    """Search positions of random games, many at a time: simulations/s, memory, cache.

    Example:  vecchess bench search --search puct --sims 800 --games 256 --cores 1 --json
    """
    flags: dict[str, Any] = dict(locals())
    from vecchess.bench import search as library
    from vecchess.config import build

    names = library.SearchBench.model_fields
    config = build(library.SearchBench, {key: flags[key] for key in names})
    _show("search", library.run(config), json)


@app.command()
def loader(
    games: Annotated[int, typer.Option(help="Games to play first.", min=1)] = 1024,
    batch_size: Annotated[int, typer.Option(help="Positions a batch.", min=1)] = 256,
    seconds: Seconds = 10.0,
    cores: Cores = 1,
    seed: Annotated[int, typer.Option(help="Seed of games and draws.", min=0)] = 0,
    json: Json = False,
) -> None:
    """From recorded games to batches of a trainer: positions/s, here and in a loader process.

    Example:  vecchess bench loader --json
    """
    from vecchess.bench import loading as library

    _show("loader", library.run(games, batch_size, seconds, cores, seed), json)


def _show(title: str, facts: dict[str, Any], json: bool) -> None:
    """The facts for people on stderr, or as one JSON line."""
    if json:
        print_json(facts)
        return
    rows = [(name, _text(value)) for name, value in facts.items() if not isinstance(value, list)]
    print_table(title, rows)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 100 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(item)}" for key, item in value.items())
    return str(value)
