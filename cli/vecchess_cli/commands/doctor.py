"""``vecchess doctor``: check that vecchess works on this machine."""

from vecchess_cli.options import command_app
from vecchess_cli.output import Json, notes, print_json, print_lines, results

NEGATIVE = 3


def doctor(json: Json = False) -> int:
    """Print what is installed, and play a few games as a test.

    The exit code is 3 where a check fails.
    """
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
