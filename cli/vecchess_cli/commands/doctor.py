"""``vecchess doctor``: does it work here?"""

from typing import Annotated

import typer

from vecchess.errors import ConfigError
from vecchess_cli.output import Json, people, print_json

NEGATIVE = 3


def doctor(
    torture: Annotated[
        float | None,
        typer.Option(
            min=0.1, help="Minutes of self-play under kills, pauses and full disks instead."
        ),
    ] = None,
    kills: Annotated[
        int | None, typer.Option(min=1, help="With --torture: enough after so many.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="With --torture: of all its choices.  [default: 0]")
    ] = None,
    json: Json = False,
) -> int:
    """Say what is installed, which devices there are, and play a few games to prove it works.

    Ends with exit code 3 where a check fails, or, under torture, a game is lost.
    """
    if torture is not None:
        return _torture(torture, kills, seed or 0, json)
    if kills is not None or seed is not None:
        raise ConfigError("--kills and --seed go with --torture MINUTES")
    from vecchess.self_test import examine

    console = people()
    facts = examine(console)
    for name in ("vecchess", "python", "system", "cores", "cache"):
        console.print(f"{name:10} {facts[name]}", soft_wrap=True)
    versions = ", ".join(f"{name} {version}" for name, version in facts["packages"].items())
    console.print(f"{'packages':10} {versions}", soft_wrap=True)
    console.print(f"{'gpus':10} {', '.join(facts['gpus']) or 'none: the processor is used'}")
    for check in facts["checks"]:
        verdict = "passed" if check["passed"] else "FAILED"
        console.print(f"{verdict}     {check['check']}: {check['found']}", soft_wrap=True)
    if json:
        print_json(facts)
    return 0 if facts["healthy"] else NEGATIVE


def _torture(minutes: float, kills: int | None, seed: int, json: bool) -> int:
    from vecchess.runtime.signals import exit_code, stopped_text
    from vecchess.torture.run_torture import Torture

    console = people()

    def say(line: str) -> None:
        console.print(line, soft_wrap=True, highlight=False, markup=False)

    report = Torture(seed, say).run(minutes, kills)
    stopped = f", {stopped_text(report['stopped_by'])}" if report["stopped_by"] else ""
    say(
        f"{report['runs']} runs of {report['games']:,} games with {report['starts']} starts in "
        f"{report['seconds']:.0f} s, {report['kills']} processes killed; seed {seed}{stopped}"
    )
    say(", ".join(f"{what}: {times}" for what, times in report["faults"].items() if times))
    say("BROKEN: " + "; ".join(report["broken"]) if report["broken"] else "nothing is lost")
    if json:
        print_json(report)
    return NEGATIVE if report["broken"] else exit_code(report["stopped_by"])
