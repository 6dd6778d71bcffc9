"""``vecchess net``: make, describe, check and measure network files."""

from pathlib import Path
from typing import Annotated, Any

import typer

from vecchess_cli.options import PanelCommand, command_group
from vecchess_cli.output import Json, print_facts, print_result

app = command_group("Make, describe, check and measure network files.")
NET_HELP = 'A network file (.safetensors), a hub folder, or default; or "module:..." of your own.'
Network = Annotated[str, typer.Argument(help=NET_HELP)]


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
    move_inputs: Annotated[
        bool | None,
        typer.Option(
            "--move-inputs/--no-move-inputs",
            help="Read of each move what it takes, what hangs afterwards, and checks.",
            show_default="no, or as the file says",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make an untrained network: the same file for the same seed on every machine.

    Example:  vecchess net new small --out small.safetensors

    Example:  vecchess net new small --history 4 --out seeing-four.safetensors
    """
    from vecchess.runtime.atomic_write import require_place
    from vecchess.snn.create import InputSettings, create_network
    from vecchess.snn.integer.bounds import net_facts
    from vecchess.snn.integer.net_file import save_net

    require_place(out, is_new=True)
    inputs = InputSettings(history=history, tactical=tactical, move_inputs=move_inputs)
    network = create_network(sizes, seed, inputs)
    save_net(network, out)
    print_result(net_facts(network), json, title=f"wrote {out}")


@app.command(cls=PanelCommand)
def info(net: Network, json: Json = False) -> None:
    """Print sizes, time steps, grid and hash of a network, and the costs of early exits.

    Example:  vecchess net info default --json
    """
    from vecchess.inference.source import find
    from vecchess.snn.integer.bounds import net_facts
    from vecchess.snn.integer.net_file import load_net

    if find(net).kind == "module":
        from vecchess.networks.module_net import create_module_net

        print_result(create_module_net(net, seed=0).facts(), json, title=net)
        return
    network = load_net(net)
    facts = net_facts(network)
    shown = facts | {"calibration": _calibration(network.exit_rule, network.calibration)}
    print_result(facts | {"calibration": network.calibration}, json, shown, net)


@app.command(cls=PanelCommand)
def check(net: Network, json: Json = False) -> None:
    """Prove that every value the network can produce is exact, or end with one that is not.

    Of a module of your own it computes positions in several slots and compares their bits.

    Example:  vecchess net check small.safetensors
    """
    from vecchess.inference.source import find
    from vecchess.snn.integer.bounds import check_bounds
    from vecchess.snn.integer.net_file import load_net

    if find(net).kind == "module":
        _check_module(net, json)
        return
    report = check_bounds(load_net(net))
    report.require_exact()
    facts = report.to_dict()
    bounds = [
        {"layer": one["layer"], "quantity": one["quantity"], "at_most": one["bound"],
         "of_the_exact_range": f"{one['bound'] / one['limit']:.1%}"}
        for one in facts["bounds"]
    ]  # fmt: skip
    verdict = "every sum is exact in float32 and int32, whatever the input"
    print_result(facts, json, {"net": net, "verdict": verdict, "bounds": bounds})


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
    from vecchess.runtime.atomic_write import require_place
    from vecchess.snn.integer.bounds import net_facts
    from vecchess.snn.integer.net_file import save_net

    require_place(out, is_new=True)
    network = read_nir(file)
    save_net(network, out)
    print_result(net_facts(network), json, title=f"wrote {out}")


def _check_module(text: str, json: bool) -> None:
    """Open a module's backend, which compares bits and raises NetworkError where they differ."""
    from vecchess.inference.module_backend import ModuleBackend
    from vecchess.networks.module_net import create_module_net
    from vecchess.snn.integer.integer_net import ExitRule

    net = create_module_net(text, seed=0)
    backend = ModuleBackend(net, 1, ExitRule.never())
    verdict = (
        f"the same bits in any of {backend.chunk} slots on this processor, of two time steps of "
        "random positions"
    )
    facts = net.facts() | {"device": "cpu", "chunk": backend.chunk, "same_in_any_slot": True}
    print_result(facts, json, {"net": text, "verdict": verdict})


def _calibration(rule: dict[str, Any] | None, calibration: dict[str, Any] | None) -> Any:
    """What people read of how the exit rule was chosen; one line for another version's."""
    from rich.console import Console

    from vecchess.snn.integer.integer_net import ExitRule
    from vecchess_cli.commands.calibrate import calibration_tables

    try:
        whole = ExitRule.from_metadata(rule).to_metadata()
        tables = calibration and calibration_tables(calibration, whole)
        print_facts(Console(quiet=True), {"calibration": tables})
        return tables
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return "in a form that this version does not read"
