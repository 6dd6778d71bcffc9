"""``vecchess contribute``: play games for a run of another machine."""

from typing import Annotated, Any

import typer

from vecchess.config import ContributeConfig
from vecchess.runtime.signals import OnSignal, StopSignals, stopped_text
from vecchess.runtime.torch_environment import prepare_environment
from vecchess_cli.options import command_app, settings_options
from vecchess_cli.output import notes, print_result

EXAMPLES = """Play games for a run of another machine, until it is over.

RUN is the run's folder or URL, as its learner was given it (--executor mailbox). Any number of
players may come and go at any time: none of them changes a bit of what is learnt.

Examples:

  vecchess contribute s3://bucket/run --gpus all

  vecchess contribute /shared/runs/a

Ctrl-C, or a signal of a cluster, finishes the blocks in hand if that takes less than 20 seconds.
Credentials of buckets are taken from the environment, as by the tools of their owners.
"""
PANELS = {
    "Used first": "gpus syzygy",
    "Resources": "slots concurrent_games movers threads backend stall_timeout_s",
    "Output and help": "config quiet json",
}


@settings_options(ContributeConfig, PANELS)
def contribute(
    flags: dict[str, Any],
    run: Annotated[str, typer.Argument(metavar="RUN", help="Folder or URL of the run.")],
) -> int:
    """Play and print a summary; the help is EXAMPLES."""
    prepare_environment()
    with StopSignals(on_signal=OnSignal.EXIT) as stop:
        from vecchess.config import load_config
        from vecchess.fleet.contributor import contribute as play
        from vecchess.runtime.progress import ProgressDisplay
        from vecchess.store.remote.object_store import ObjectStore

        settings = load_config(ContributeConfig, flags, flags["config"])
        console = notes()
        store = ObjectStore.open(run, lambda line: console.print(line, markup=False))
        stop.set_action(OnSignal.SET_FLAG)
        summary = play(store, settings, stop, ProgressDisplay(console, flags["quiet"]))
    shown = {"blocks": f"{summary['blocks']:,}"}
    if summary["stopped_by"]:
        shown["ended"] = stopped_text(summary["stopped_by"])
    elif summary["run_is_over"]:
        shown["ended"] = "the run is over"
    print_result(summary, flags["json"], shown)
    return int(summary["exit_code"])


app = command_app(contribute, EXAMPLES)
