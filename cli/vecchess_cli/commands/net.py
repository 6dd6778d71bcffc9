"""``vecchess net``: make, describe and check network files."""

from pathlib import Path
from typing import Annotated, Any

import typer

from vecchess_cli.option_panels import PanelCommand, command_group
from vecchess_cli.output import Json, print_json, print_lines, print_rows, results

app = command_group("Make, describe and check network files.")
File = Annotated[Path, typer.Argument(help="A network file (.safetensors), or default.")]


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
            help="See tactical planes: attacks, pins, checks, men that hang.",
            show_default="yes, or as the file says",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make an untrained network: the same file for the same seed on every machine.

    Example:  vecchess net new small --out small.safetensors

    Example:  vecchess net new small --history 4 --out seeing-four.safetensors
    """
    from vecchess.errors import ConfigError
    from vecchess.snn.create import create_network
    from vecchess.snn.integer.bounds import net_facts
    from vecchess.snn.integer.net_file import save_net

    if out.exists():
        raise ConfigError(f"{out} exists already: choose another name")
    if not out.parent.is_dir():
        raise ConfigError(f"there is no folder {out.parent} to write {out.name} to")
    network = create_network(sizes, seed, history, tactical)
    save_net(network, out)
    _show(f"wrote {out}", net_facts(network), json)


@app.command(cls=PanelCommand)
def info(file: File, json: Json = False) -> None:
    """Print sizes, time steps, grid and hash of a network, and the costs of early exits.

    Example:  vecchess net info default --json
    """
    from vecchess.snn.integer.bounds import net_facts
    from vecchess.snn.integer.net_file import load_net

    network = load_net(file)
    facts = net_facts(network) | {"calibration": network.calibration}
    if json:
        print_json(facts)
        return
    calibration = facts.pop("calibration")
    _show(str(file), facts, json)
    if calibration is not None:
        _show_calibration(network.exit_rule, calibration)


@app.command(cls=PanelCommand)
def check(file: File, json: Json = False) -> None:
    """Prove that every value the network can produce is exact, or name one that is not.

    Example:  vecchess net check small.safetensors
    """
    from vecchess.snn.integer.bounds import check_bounds
    from vecchess.snn.integer.net_file import load_net

    report = check_bounds(load_net(file))
    if json:
        print_json(report.to_dict())
    else:
        rows = [
            [one.layer, one.quantity, f"{one.bound:,}", f"{one.bound / one.limit:.1%}"]
            for one in report.bounds
        ]
        columns = ["layer", "quantity", "at most", "of the exact range"]
        print_rows(results(), "", columns, rows, words=["quantity"])
        results().print(f"{file}: every sum is exact in float32 and int32, whatever the input")


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
