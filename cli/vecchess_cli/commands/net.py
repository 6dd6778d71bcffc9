"""``vecchess net``: make, describe, check and measure network files."""

from pathlib import Path
from typing import Annotated, Any

import typer

from vecchess_cli.option_panels import PanelCommand, command_group
from vecchess_cli.output import Json, notes, print_json, print_lines, print_rows, results
from vecchess_cli.shared_options import Quiet

app = command_group("Make, describe, check and measure network files.")
FILE = "A network file (.safetensors), a hub folder, or default"
File = Annotated[Path, typer.Argument(help=f"{FILE}.")]
Network = Annotated[str, typer.Argument(help=f'{FILE}; or "module:..." of your own.')]


@app.command(cls=PanelCommand)
def new(
    sizes: Annotated[
        str,
        typer.Argument(help="tiny 4x32, small 6x64, base 10x128, large 20x256, or a TOML file."),
    ],
    out: Annotated[Path, typer.Option(help="File to write.")],
    seed: Annotated[int, typer.Option(help="Seed of the weights.", min=0)] = 0,
    history: Annotated[
        int | None,
        typer.Option(
            help="Positions of the game that it sees.",
            show_default="1, or the file's",
            min=1,
            max=8,
        ),
    ] = None,
    tactical: Annotated[
        bool | None,
        typer.Option(
            "--tactical/--no-tactical",
            help="See tactical planes: attacks, pins, checks, hanging pieces.",
            show_default="yes, or as the file says",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make an untrained network: the same file for the same seed on every machine.

    Example:  vecchess net new small --out small.safetensors

    Example:  vecchess net new small --history 4 --out seeing-four.safetensors
    """
    from vecchess.snn.create import create_network
    from vecchess.snn.integer.bounds import net_facts
    from vecchess.snn.integer.net_file import save_net

    _require_new(out)
    network = create_network(sizes, seed, history, tactical)
    save_net(network, out)
    _show(f"wrote {out}", net_facts(network), json)


@app.command(cls=PanelCommand)
def info(net: Network, json: Json = False) -> None:
    """Print sizes, time steps, grid and hash of a network, and the costs of early exits.

    Example:  vecchess net info default --json
    """
    from vecchess.networks.module_spelling import is_module
    from vecchess.snn.integer.bounds import net_facts
    from vecchess.snn.integer.net_file import load_net

    if is_module(net):
        from vecchess.networks.module_net import create_module_net

        _show(net, create_module_net(net, seed=0).facts(), json)
        return
    network = load_net(net)
    facts = net_facts(network) | {"calibration": network.calibration}
    if json:
        print_json(facts)
        return
    calibration = facts.pop("calibration")
    _show(net, facts, json)
    if calibration is not None:
        _show_calibration(network.exit_rule, calibration)


@app.command(cls=PanelCommand)
def check(net: Network, json: Json = False) -> None:
    """Prove that every value the network can produce is exact, or name one that is not.

    Of a module of your own it computes positions in several slots and compares their bits.

    Example:  vecchess net check small.safetensors
    """
    from vecchess.networks.module_spelling import is_module
    from vecchess.snn.integer.bounds import check_bounds
    from vecchess.snn.integer.net_file import load_net

    if is_module(net):
        _check_module(net, json)
        return
    report = check_bounds(load_net(net))
    if json:
        print_json(report.to_dict())
    else:
        rows = [
            [one.layer, one.quantity, f"{one.bound:,}", f"{one.bound / one.limit:.1%}"]
            for one in report.bounds
        ]
        columns = ["layer", "quantity", "at most", "of the exact range"]
        print_rows(results(), "", columns, rows, words=["quantity"])
        results().print(f"{net}: every sum is exact in float32 and int32, whatever the input")


@app.command(cls=PanelCommand)
def card(
    file: File,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Of the positions the first N.", show_default="all")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Measure a network by NeuroBench's metrics at the positions of `vecchess suite moves`.

    Footprint in bytes, the share of weights that are 0, the share of neurons that are silent,
    synaptic operations a position, and the share of best moves by the policy alone.

    Example:  vecchess net card default --limit 500
    """
    from vecchess.evaluate.net_card import net_card
    from vecchess.runtime.progress import ProgressDisplay

    with ProgressDisplay(notes(), quiet) as display:
        facts = net_card(
            file,
            limit=limit,
            on_done=lambda done, total: display.update(lambda: f"{done:,} of {total:,} positions"),
        )
    if json:
        print_json(facts)
    else:
        _show_card(facts)


@app.command(cls=PanelCommand, name="from-nir")
def from_nir(
    file: Annotated[Path, typer.Argument(help="A NIR file that `vecchess export nir` wrote.")],
    out: Annotated[Path, typer.Option(help="File to write.")],
    json: Json = False,
) -> None:
    """Make a network file of a NIR file: of its weights, which may have changed.

    Example:  vecchess net from-nir small.nir --out small.safetensors
    """
    from vecchess.export.nir_file import read_nir
    from vecchess.snn.integer.bounds import net_facts
    from vecchess.snn.integer.net_file import save_net

    _require_new(out)
    network = read_nir(file)
    save_net(network, out)
    _show(f"wrote {out}", net_facts(network), json)


def _check_module(text: str, json: bool) -> None:
    """Open a module's backend, which compares bits and raises NetworkError where they differ."""
    from vecchess.inference.exit_rule import ExitRule
    from vecchess.inference.module_backend import ModuleBackend
    from vecchess.networks.module_net import create_module_net

    net = create_module_net(text, seed=0)
    backend = ModuleBackend(net, 1, ExitRule.never())
    if json:
        print_json(
            net.facts() | {"device": "cpu", "chunk": backend.chunk, "same_in_any_slot": True}
        )
    else:
        results().print(
            f"{text}: the same bits in any of {backend.chunk} slots on this processor, of two time "
            "steps of random positions"
        )


def _show_card(facts: dict[str, Any]) -> None:
    """Print a card as two tables."""
    everywhere = [
        ("positions", f"{facts['positions']:,} of {facts['suite']['suite']}"),
        ("footprint", f"{facts['footprint']:,} bytes"),
        ("connection sparsity", f"{facts['connection_sparsity']:.4f}"),
    ]
    print_lines(results(), everywhere, f"{facts['net']}, {facts['sha256'][:12]}")
    columns = [
        "",
        "time steps",
        "activation sparsity",
        "MACs",
        "ACs",
        "dense",
        "best moves",
        "95 %",
    ]
    rows = []
    for name, words in (("all_steps", "all steps"), ("with_exits", "with exits")):
        part = facts[name]
        operations = part["synaptic_operations"].values()
        low, high = part["interval"]
        rows.append(
            [
                words,
                f"{part['time_steps']:.2f}",
                f"{part['activation_sparsity']:.4f}",
                *(f"{number:,.0f}" for number in operations),
                f"{part['classification_accuracy']:.1%}",
                f"{low:.1%} to {high:.1%}",
            ]
        )
    print_rows(results(), "", columns, rows)


def _require_new(out: Path) -> None:
    """Raise ConfigError unless ``out`` can be made."""
    from vecchess.errors import ConfigError

    if out.exists():
        raise ConfigError(f"{out} exists already: choose another name")
    if not out.parent.is_dir():
        raise ConfigError(f"there is no folder {out.parent} to write {out.name} to")


def _show_calibration(rule: dict[str, Any] | None, calibration: dict[str, Any]) -> None:
    """Print how the exit rule was chosen; one line for a calibration of another version."""
    from vecchess_cli.commands.calibrate import rule_line, show_calibration

    try:
        show_calibration(results(), calibration)
        results().print(rule_line(rule or {}, calibration["holdout"]["mean_time_steps"]))
    except (KeyError, TypeError, ValueError):
        results().print("its calibration is in a form that this version does not read")


def _show(title: str, facts: dict[str, Any], json: bool) -> None:
    if json:
        print_json(facts)
    else:
        print_lines(results(), [(name, str(value)) for name, value in facts.items()], title)
