"""The rules of the code base that a machine can check: layers, names, sizes, first lines."""

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "vecchess"
COMMANDS = ROOT / "cli" / "vecchess_cli"

# From the top down: a layer may import itself and what stands below it.
LAYERS = [
    ["self_test", "api"],
    ["browser"],
    ["dash", "watch"],
    ["monitor"],
    ["uci"],
    ["bench", "analysis", "export", "evaluate", "replay", "suites"],
    ["train"],
    ["fleet"],
    ["env"],
    ["arena"],
    ["selfplay"],
    ["importers"],
    ["store"],
    ["search"],
    ["inference"],
    ["lc0"],
    ["snn"],
    ["networks"],
    ["chess"],
    ["ports"],
    ["config", "rng", "jit", "llvm", "machine_limits", "memory_layout", "runtime"],
    ["spec"],
    ["shapes", "errors", "ragged", "safe_parse", "callable_package", "__init__"],
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
NO_TORCH = ["monitor", "chess", "search", "importers", "store", "config", "rng", "jit", "env"]

MAX_FILES = 20
"""Python files directly in one package."""
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60
"""Lines of a function from its ``def`` on, docstring included."""
LONG_FUNCTIONS: set[str] = set()
"""Functions that may be longer, each for a reason given beside it; five at the most."""
SHARED_STEMS: dict[str, str] = {
    "__init__": "Python's name for a package's own file",
    "backend": "one backend a device, each the file that implements the protocol of its package",
}
"""Names that several files may have, each with the reason."""
MIN_LINES = 120
"""A shorter module that one module of its own package alone imports belongs into that one."""
SINGLE_IMPORTERS: dict[str, str] = {
    "vecchess.arena.match.adjudication": "rules of adjudication, and the scheduler of games",
    "vecchess.dash.play.lent_engines": "a pool of engines, and the service that answers requests",
    "vecchess.dash.views.board_grid": "boards of a page, and the reader of all views",
    "vecchess.env.functional": "an environment of its own, which the package exports",
    "vecchess.inference.cuda.tuning": "measures tiles; the backend runs without it",
    "vecchess.inference.lc0_backend": "imported with torch, where a network of lc0 is opened",
    "vecchess.lc0.protobuf_wire": "the wire format, and what lc0 writes with it",
    "vecchess.replay.compare_records": "compares two records, whatever played them",
    "vecchess.selfplay.worker.inflight_saver": "a thread of its own that saves games",
    "vecchess.selfplay.worker.live_games": "a file of its own that watchers read",
    "vecchess_cli.commands.calibrate": "a command of its own, also below net",
    "vecchess_cli.root": "the table of commands, which tests import without the program",
}
"""Short modules with one importer that stay apart, each with the reason; fifteen at the most."""
VAGUE = re.compile(r"\b(whoever|nobody|somebody|anybody|everybody|for ever)\b", re.IGNORECASE)

Function = ast.FunctionDef | ast.AsyncFunctionDef
SOURCES = sorted(PACKAGE.rglob("*.py"))
ALL_SOURCES = sorted([*SOURCES, *COMMANDS.rglob("*.py")])


def name_of(file: Path) -> str:
    return str(file.relative_to(COMMANDS.parent if COMMANDS in file.parents else PACKAGE.parent))


def layer_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def nodes_of(file: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(file.read_text())))


def nodes(kind: type[ast.AST] | tuple[type[ast.AST], ...]) -> Iterator[tuple[Path, ast.AST]]:
    for file in ALL_SOURCES:
        for node in nodes_of(file):
            if isinstance(node, kind):
                yield file, node


@cache
def imported_modules(file: Path, for_types: bool = True) -> set[str]:
    """What ``file`` imports; ``for_types``: below ``if TYPE_CHECKING`` as well."""
    names: set[str] = set()
    left_out = set() if for_types else set(nodes_for_types(file))
    for node in nodes_of(file):
        if node in left_out:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def nodes_for_types(file: Path) -> Iterator[ast.AST]:
    """The nodes below ``if TYPE_CHECKING``."""
    for node in nodes_of(file):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from ast.walk(node)


def test_every_layer_exists_and_every_package_has_one() -> None:
    assert set(RANK) == {layer_of(file) for file in SOURCES}


def test_imports_run_downwards() -> None:
    found = [f"{name_of(file)}: {module}" for file in SOURCES for module in imports_upwards(file)]
    assert found == []


def imports_upwards(file: Path) -> list[str]:
    """What ``file`` imports from the command line or from a layer above its own."""
    found = []
    for module in imported_modules(file):
        root, _, rest = module.partition(".")
        part = rest.partition(".")[0]
        below = part if part in RANK else "__init__"
        is_above = root == "vecchess" and rest and RANK[layer_of(file)] > RANK[below]
        if is_above or root == "vecchess_cli":
            found.append(module)
    return found


def test_no_files_import_each_other_in_a_circle() -> None:
    modules = {name_of(f).removesuffix(".py").replace("/", "."): f for f in ALL_SOURCES}
    graph: dict[str, set[str]] = defaultdict(set)
    for module, file in modules.items():
        for target in imported_modules(file):
            for candidate in (target, target.rpartition(".")[0]):
                if candidate in modules and candidate != module:
                    graph[module].add(candidate)
                    break
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join([*path[path.index(module) :], module])
        if module not in done:
            for target in sorted(graph[module]):
                visit(target, (*path, module))
            done.add(module)

    for module in sorted(modules):
        visit(module, ())


@pytest.mark.parametrize("layer", NO_TORCH)
def test_layers_that_must_not_know_torch(layer: str) -> None:
    files = [file for file in SOURCES if layer_of(file) == layer]
    assert files
    for file in files:
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


def test_files_are_short_and_packages_small() -> None:
    for file in ALL_SOURCES:
        assert file.read_text().count("\n") <= MAX_FILE_LINES, file
    for folder, count in Counter(file.parent for file in ALL_SOURCES).items():
        assert count <= MAX_FILES, f"{folder} has {count} files"


def test_functions_are_short() -> None:
    assert len(LONG_FUNCTIONS) <= 5
    found = set()
    for file, node in nodes((ast.FunctionDef, ast.AsyncFunctionDef)):
        assert isinstance(node, Function)
        if (node.end_lineno or 0) - node.lineno + 1 > MAX_FUNCTION_LINES:
            found.add(f"{name_of(file)}:{node.name}")
    assert found == LONG_FUNCTIONS


def test_short_modules_with_one_importer_stand_in_it() -> None:
    modules = {name_of(f).removesuffix(".py").replace("/", "."): f for f in ALL_SOURCES}
    importers: dict[str, set[str]] = defaultdict(set)
    for module, file in modules.items():
        for target in imported_modules(file):
            known = target if target in modules else target.rpartition(".")[0]
            if known in modules and known != module:
                importers[known].add(module.removesuffix(".__init__"))
    found = {
        module
        for module, file in modules.items()
        if len(importers[module]) == 1
        and file.stem != "__init__"
        and file.read_text().count("\n") < MIN_LINES
        and modules_folder(importers[module], modules) == file.parent
    }
    assert found == set(SINGLE_IMPORTERS)
    assert len(SINGLE_IMPORTERS) <= 15


def modules_folder(names: set[str], modules: dict[str, Path]) -> Path:
    """The folder of the one module in ``names``."""
    (name,) = names
    return modules.get(name, modules.get(f"{name}.__init__", ROOT)).parent


def test_a_class_name_exists_once() -> None:
    places = defaultdict(list)
    for file, node in nodes(ast.ClassDef):
        assert isinstance(node, ast.ClassDef)
        places[node.name].append(name_of(file))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_a_file_name_exists_once() -> None:
    counts = Counter(file.stem for file in ALL_SOURCES)
    assert {stem for stem, count in counts.items() if count > 1} == set(SHARED_STEMS)
    assert len(SHARED_STEMS) <= 2 + 5  # __init__ and backend beside them


def test_first_lines_name_their_subject() -> None:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
    vague = []
    for file, node in nodes(kinds):
        first = (ast.get_docstring(node) or "").partition("\n")[0]  # type: ignore[arg-type]
        if VAGUE.search(first):
            vague.append(f"{name_of(file)}: {first}")
    assert vague == []
