"""``vecchess doctor``: check that vecchess works on this machine."""

from typing import Annotated

import typer

from vecchess.errors import ConfigError
from vecchess.runtime.signals import stopped_text
from vecchess_cli.options import command_app
from vecchess_cli.output import Json, note, notes, print_json, print_lines, results

NEGATIVE = 3


def doctor(
    torture: Annotated[
        float | None,
        typer.Option(
            min=0.1, help="Minutes of self-play under kills, pauses and full disks instead."
        ),
    ] = None,
    kills: Annotated[
        int | None, typer.Option(min=1, help="With --torture: end after this number of kills.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="With --torture: seed of all its choices.", show_default="0"),
    ] = None,
    json: Json = False,
) -> int:
    """Print what is installed, and play a few games as a test.

    The exit code is 3 where a check fails or, under torture, a game is lost.
    """
    if torture is not None:
        return _torture(torture, kills, seed or 0, json)
    if kills is not None or seed is not None:
        raise ConfigError("--kills and --seed need --torture MINUTES")
    from vecchess.self_test import examine

    facts = examine(notes())
    limits, names = facts["limits"], ("vecchess", "python", "system", "cache")
    rows = [(name, str(facts[name])) for name in names]
    cores = f"{facts['cores']}: {limits['cores']:g} ({limits['cores_source']})"
    memory = f"{limits['memory_mb'] or 0:,} MB ({limits['memory_source']})"
    rows += [("cores", cores), ("memory", memory)]
    versions = (f"{name} {version}" for name, version in facts["packages"].items())
    rows.append(("packages", ", ".join(versions)))
    rows.append(("gpus", ", ".join(facts["gpus"]) or "none, the processor is used"))
    for check in facts["checks"]:
        verdict = "passed" if check["passed"] else "FAILED"
        rows.append((verdict, f"{check['check']}: {check['found']}"))
    print_lines(results(json), rows)
    if json:
        print_json(facts)
    return 0 if facts["healthy"] else NEGATIVE


app = command_app(doctor)


def _torture(minutes: float, kills: int | None, seed: int, json: bool) -> int:
    from vecchess.runtime.signals import exit_code
    from vecchess.torture.run_torture import Torture

    report = Torture(seed, note).run(minutes, kills)
    stopped = f", {stopped_text(report['stopped_by'])}" if report["stopped_by"] else ""
    note(
        f"{report['runs']} runs of {report['games']:,} games with {report['starts']} starts in "
        f"{report['seconds']:.0f} s, {report['kills']} processes killed; seed {seed}{stopped}"
    )
    note(", ".join(f"{what}: {times}" for what, times in report["faults"].items() if times))
    note("BROKEN: " + "; ".join(report["broken"]) if report["broken"] else "nothing is lost")
    if json:
        print_json(report)
    return NEGATIVE if report["broken"] else exit_code(report["stopped_by"])
