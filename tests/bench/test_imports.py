"""Scripts that no test runs still fit the package that they import.

python -m tests.bench.test_imports
"""

import ast
import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def missing_names(script: Path) -> Iterator[str]:
    """What a script imports of the package, or of another script, and is not there."""
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(("vecchess", "bench.")):
            module = importlib.import_module(str(node.module))
            for name in (each.name for each in node.names):
                within = f"{module.__name__}.{name}"
                if not (hasattr(module, name) or importlib.util.find_spec(within)):
                    yield f"{script}:{node.lineno}: {module.__name__} has no {name}"


@pytest.mark.thorough
def test_what_scripts_import_is_there() -> None:
    """In a process of its own: Triton is imported here as it is on a GPU."""
    command = [sys.executable, "-m", "tests.bench.test_imports"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


if __name__ == "__main__":
    faults = [line for path in sorted(ROOT.glob("bench/**/*.py")) for line in missing_names(path)]
    print("\n".join(faults), end="")
    sys.exit(bool(faults))
