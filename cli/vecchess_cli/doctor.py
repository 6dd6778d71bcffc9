"""``vecchess doctor``: does it work here?"""

from vecchess_cli.output import Json, people, print_json

NEGATIVE = 3


def doctor(json: Json = False) -> int:
    """Say what is installed, which devices there are, and play a few games to prove it works.

    Ends with exit code 3 where a check fails.
    """
    from vecchess.doctor import examine

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
