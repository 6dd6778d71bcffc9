"""The rules of the house that a machine can check: imports run downwards, help needs little."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "vecchess"

# From the top down: a layer may import itself and what stands below it.
LAYERS = [
    ["self_test"],
    ["torture"],
    ["dash", "watch", "report"],
    ["monitor"],
    ["uci"],
    ["bench", "analysis", "ray_launcher", "export", "evaluate", "replay"],
    ["train"],
    ["arena"],
    ["selfplay"],
    ["importers"],
    ["store"],
    ["search"],
    ["inference"],
    ["snn"],
    ["chess"],
    ["config", "rng", "jit", "memory_layout", "runtime"],
    ["shapes", "errors", "safe_parse", "__init__"],
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
NO_TORCH = ["monitor", "chess", "search", "importers", "store", "config", "rng", "jit"]
SOURCES = sorted(PACKAGE.rglob("*.py"))


def layer_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_imports_run_downwards(file: Path) -> None:
    rank = RANK[layer_of(file)]
    for module in imported_modules(file):
        parts = module.split(".")
        assert parts[0] != "vecchess_cli", f"{file} imports the command line"
        if parts[0] != "vecchess" or len(parts) == 1:
            continue
        below = parts[1] if parts[1] in RANK else "__init__"
        assert rank <= RANK[below], f"{file} imports {module}, which stands above it"


@pytest.mark.parametrize("layer", NO_TORCH)
def test_layers_that_must_not_know_torch(layer: str) -> None:
    for file in SOURCES:
        if layer_of(file) == layer:
            roots = {module.split(".")[0] for module in imported_modules(file)}
            assert not roots & {"torch", "snntorch"}, file


@pytest.mark.parametrize(
    "module",
    [
        "vecchess_cli.root",
        "vecchess.monitor.run_view",
        "vecchess.selfplay.supervisor.supervisor",
        "vecchess.inference.engine",
    ],
)
def test_importing_brings_no_torch(module: str) -> None:
    program = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_help_imports_no_compiler() -> None:
    heavy = "('numba', 'numpy', 'torch')"
    program = f"import sys, vecchess_cli.root; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_files_and_functions_are_short() -> None:
    for file in SOURCES:
        text = file.read_text()
        assert text.count("\n") <= 400, file
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                assert length <= 60, f"{file}: {node.name} has {length} lines"
