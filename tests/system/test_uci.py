"""``vecchess uci`` as a program: how it starts, what it takes on the command line, how it ends."""

import signal
import subprocess
import sys

import pytest

from tests.system.commands import inside, vecchess

UCI = [sys.executable, "-m", "vecchess_cli.main", "uci", "--net", "material"]


def start() -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    return subprocess.Popen(UCI, stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=1)


def hear(process: "subprocess.Popen[str]", answer: str) -> list[str]:
    """Lines up to one that begins so."""
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or not lines[-1].startswith(answer):
        lines.append(process.stdout.readline().rstrip("\n"))
        assert process.poll() is None, lines
    return lines


def tell(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")


@pytest.mark.thorough
def test_a_command_on_the_command_line() -> None:
    done = vecchess("uci", "bench", 2)
    assert done.returncode == 0, done.stderr
    assert "evaluating with default on " in done.stderr
    assert done.stdout.splitlines()[-2].startswith("Nodes searched  : ")


@pytest.mark.slow
def test_a_bench_counts_the_same_nodes_again() -> None:
    bench = ["uci", "--net", "material", "bench", 2]
    one, other = (vecchess(*bench).stdout.splitlines()[-2] for _ in range(2))
    assert one == other


@pytest.mark.slow
def test_the_rest_of_the_command_line_is_one_command() -> None:
    perft = vecchess("uci", "go", "perft", 3)
    assert "Nodes searched: 8902" in perft.stdout.splitlines()


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--net", "nowhere.safetensors"], "there is no network file"),
        (["--hash-mb", 3], "--hash-mb must be at least 16"),
        (["--search", "alphabeta"], "search"),
    ],
)
def test_what_cannot_be_started(options: list[object], part: str) -> None:
    done = inside("uci", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("vecchess: error: ")
    assert part in done.stderr
    assert done.stderr.count("\n") == 1


def test_it_answers_before_anything_heavy_is_imported() -> None:
    program = (
        "import sys; from vecchess.config import UciConfig; "
        "from vecchess.uci.session import Session; said = []; "
        "session = Session(UciConfig(), said.append); session.execute('uci'); "
        "print(said[-1], [name for name in ('torch', 'numba') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "uciok []\n", done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize(
    "end",
    ["quit", pytest.param("end of input", marks=pytest.mark.slow), "stdout closed", "Ctrl-C"],
)
def test_ends_while_it_searches(end: str) -> None:
    with start() as process:
        tell(process, "isready")
        hear(process, "readyok")
        tell(process, "go infinite")
        hear(process, "info depth")
        assert process.stdin is not None
        assert process.stdout is not None
        if end == "quit":
            tell(process, "quit")
            assert hear_rest(process)[-1].startswith("bestmove ")
        elif end == "end of input":
            process.stdin.close()
            assert hear_rest(process)[-1].startswith("bestmove ")
        elif end == "stdout closed":
            process.stdout.close()
        else:
            process.send_signal(signal.SIGINT)
        assert process.wait(60) == (130 if end == "Ctrl-C" else 0)
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def hear_rest(process: "subprocess.Popen[str]") -> list[str]:
    """What is said to the end."""
    assert process.stdout is not None
    return process.stdout.read().splitlines()
