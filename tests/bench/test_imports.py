"""Scripts that no test runs still fit the package that they import."""

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(path.relative_to(ROOT) for path in ROOT.glob("bench/**/*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=str)
def test_what_a_script_imports_is_there(script: Path) -> None:
    tree = ast.parse((ROOT / script).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(("vecchess", "bench.")):
            module = importlib.import_module(str(node.module))
            for name in node.names:
                is_there = hasattr(module, name.name)
                assert is_there or importlib.util.find_spec(f"{module.__name__}.{name.name}"), (
                    f"{script}:{node.lineno}: {module.__name__} has no {name.name}"
                )
