"""Our engines beside snntorch, spikingjelly and plain torch, on the same positions, in turns.

Run from the root of the repository, as ``python -m bench.peers inference`` or ``training``; the
options are those of ``vecchess bench``. spikingjelly comes with ``pip install "vecchess[peers]"``.
"""

from typing import Any

import typer
from bench.peers.training import TrainingBench, run

from vecchess.config.bench_settings import InferenceBench
from vecchess.config.settings import build_from_flags
from vecchess_cli.commands.bench import INFERENCE, show_facts
from vecchess_cli.option_panels import PanelCommand
from vecchess_cli.output import Json, print_json, print_rows, results
from vecchess_cli.settings_options import settings_options
from vecchess_cli.tables.inference_tables import print_inference

COLUMNS = (
    "mean T",
    "T / mean T",
    "continuous",
    "of ideal",
    "of slots' ideal",
    "by batches",
    "of ideal",
)

TRAINING = {"Options": "net batch_size seconds cores surrogate seed json"}

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)


@app.command(cls=PanelCommand)
@settings_options(InferenceBench, INFERENCE)
def inference(settings: dict[str, object], json: Json = False) -> None:
    """Measure our engines, the usual libraries and a ReLU network in turns, and early exits."""
    from bench.peers.race import run

    facts = run(build_from_flags(InferenceBench, settings))
    console = results(json)
    print_inference(console, facts)
    if facts["exit_patterns"]:
        print_rows(console, "", COLUMNS, _patterns(facts["exit_patterns"]))
    for line in _lines(facts):
        console.print(line)
    if json:
        print_json(facts)


@app.command(cls=PanelCommand)
@settings_options(TrainingBench, TRAINING)
def training(settings: dict[str, object], json: Json = False) -> None:
    """Measure training steps of ours, in both phases, and of a plain snntorch loop, in turns."""
    show_facts("training", run(build_from_flags(TrainingBench, settings)), json)


def _patterns(rows: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [
            f"{row['mean_time_steps']:.2f}",
            f"{row['ideal']:.2f}",
            f"{row['speedup']:.2f}",
            f"{row['share_of_ideal']:.1%}",
            f"{row['share_of_slots_ideal']:.1%}",
            f"{row['batch_synchronous_speedup']:.2f}",
            f"{row['batch_synchronous_share_of_ideal']:.1%}",
        ]
        for row in rows
    ]


def _lines(facts: dict[str, Any]) -> list[str]:
    rates, ceilings = facts["spike_rates"], facts["ceilings"]
    shares = {row["name"]: row.get("share_of_roofline") for row in facts["backends"]}
    energy = facts["energy_proxy_nj"]
    return [
        "of the roofline: "
        + ", ".join(f"{name} {share:.1%}" for name, share in shares.items() if share),
        f"spikes per neuron and step: {sum(rates.values()) / len(rates):.1%} "
        f"({', '.join(f'{name} {rate:.1%}' for name, rate in rates.items())})",
        "energy proxy, nJ a position (0.9 pJ an accumulate, 4.6 a multiply-accumulate): "
        + ", ".join(f"{name} {value:,.0f}" for name, value in energy.items() if value),
        f"ceilings: int8 {ceilings['int8_ops_per_s'] / 1e9:,.0f} Gop/s, float32 "
        f"{ceilings['fp32_ops_per_s'] / 1e9:,.0f}, int16 additions "
        f"{ceilings['int16_adds_per_s'] / 1e9:,.0f}, memory "
        f"{ceilings['bytes_per_s'] / 1e9:,.1f} GB/s",
    ]


if __name__ == "__main__":
    app()
