"""What never comes into the sources: ways to read a file that run what is in it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted(file for place in ("src", "cli") for file in (ROOT / place).rglob("*.py"))
NEVER_IMPORTED = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "yaml"}
NEVER_CALLED = {"eval", "exec", "compile", "__import__"}
HAS_TO_SAY = {("torch", "load"): ("weights_only", True), ("np", "load"): ("allow_pickle", False)}


def faults(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".")[0] for alias in node.names]
            yield from (f"imports {name}" for name in names if name in NEVER_IMPORTED)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in (
            NEVER_IMPORTED
        ):
            yield f"imports from {node.module}"
        elif isinstance(node, ast.Call):
            yield from _faults_of_call(node)


def _faults_of_call(call: ast.Call) -> Iterator[str]:
    function = call.func
    if isinstance(function, ast.Name) and function.id in NEVER_CALLED:
        yield f"calls {function.id}"
    if not isinstance(function, ast.Attribute):
        return
    if isinstance(function.value, ast.Name):
        wanted = HAS_TO_SAY.get((function.value.id, function.attr))
        said = {word.arg: getattr(word.value, "value", None) for word in call.keywords}
        if wanted is not None and said.get(wanted[0]) is not wanted[1]:
            yield f"{function.value.id}.{function.attr} without {wanted[0]}={wanted[1]}"
    if function.attr == "recv" and not call.args:
        yield "unpickles what comes through a pipe"
    said_shell = {word.arg: getattr(word.value, "value", None) for word in call.keywords}
    if said_shell.get("shell") is True:
        yield "gives a line to a shell"


def test_nothing_that_is_read_is_run() -> None:
    found = [
        f"{file.relative_to(ROOT)} {fault}"
        for file in SOURCES
        for fault in faults(file.read_text())
    ]
    assert SOURCES
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from yaml import load",
        "torch.load(x)",
        "torch.load(x, weights_only=False)",
        "np.load(x)",
        "np.load(x, allow_pickle=True)",
        "eval(x)",
        "pipe.recv()",
        "subprocess.run(x, shell=True)",
    ],
)
def test_it_would_be_noticed(text: str) -> None:
    assert list(faults(text))
