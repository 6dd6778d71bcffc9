"""Our engines beside snntorch, spikingjelly and plain torch, on the same positions, in turns.

Run from the root of the repository, as ``python -m bench.peers inference`` or ``training``; the
options are those of ``vecchess bench``. spikingjelly comes with ``pip install "vecchess[peers]"``.
"""

import typer

from vecchess.config.bench_settings import InferenceBench, TrainingBench
from vecchess.config.settings import build_from_flags
from vecchess_cli.commands.bench import INFERENCE, TRAINING, show_facts
from vecchess_cli.option_panels import PanelCommand
from vecchess_cli.output import Json, print_json, results
from vecchess_cli.settings_options import settings_options
from vecchess_cli.tables.inference_tables import print_inference

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)


@app.command(cls=PanelCommand)
@settings_options(InferenceBench, INFERENCE)
def inference(settings: dict[str, object], json: Json = False) -> None:
    """Measure our engines, the usual libraries and a ReLU network in turns."""
    from bench.peers.open_peers import open_peers

    from vecchess.bench.inference import run

    facts = run(build_from_flags(InferenceBench, settings), open_peers)
    print_inference(results(json), facts)
    if json:
        print_json(facts)


@app.command(cls=PanelCommand)
@settings_options(TrainingBench, TRAINING)
def training(settings: dict[str, object], json: Json = False) -> None:
    """Measure training steps of ours and of a plain snntorch loop, in turns."""
    from bench.peers.training_loop import TrainingLoop

    from vecchess.bench.training import run

    config = build_from_flags(TrainingBench, settings)
    show_facts("training", run(config, {"snntorch": TrainingLoop}), json)


if __name__ == "__main__":
    app()
