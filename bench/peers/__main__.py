"""Our engines beside snntorch, spikingjelly and plain torch, on the same positions, in turns.

Run from the root of the repository, as ``python -m bench.peers inference`` or ``training``; the
options are those of ``vecchess bench``. spikingjelly comes with ``pip install "vecchess[peers]"``.
"""

import typer
from bench.peers.training import TrainingBench, run

from vecchess.config.bench_settings import InferenceBench
from vecchess.config.settings import build_from_flags
from vecchess_cli.commands.bench import INFERENCE
from vecchess_cli.options import PanelCommand, settings_options
from vecchess_cli.output import Json, print_result

TRAINING = {"Options": "net batch_size seconds cores surrogate seed json"}
app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)


@app.command(cls=PanelCommand)
@settings_options(InferenceBench, INFERENCE)
def inference(settings: dict[str, object], json: Json = False) -> None:
    """Measure our engines, the usual libraries and a ReLU network in turns, and early exits."""
    from bench.peers.race import run

    print_result(run(build_from_flags(InferenceBench, settings)), json)


@app.command(cls=PanelCommand)
@settings_options(TrainingBench, TRAINING)
def training(settings: dict[str, object], json: Json = False) -> None:
    """Measure training steps of ours, in both phases, and of a plain snntorch loop, in turns."""
    print_result(run(build_from_flags(TrainingBench, settings)), json, title="training")


if __name__ == "__main__":
    app()
