"""What the tests of the pages rest on: blocks are found, calls of vecchess are found and judged."""

import re
from pathlib import Path

import pytest
import typer

from tests.docs.blocks import ROOT, blocks_in
from tests.docs.calls import calls, check_call
from tests.docs.record import record
from vecchess.errors import ConfigError

PAGE = ROOT / "docs" / "made-up.md"
TEXT = """# A page

<!-- needs: gpu -->
```console
$ vecchess selfplay --gpus 0-7 \\
    --games 10
played 10
$ vecchess doctor
```

<!-- needs: gpu -->
Words between take a comment's meaning away.

```python
print(1 + 1)
```

```output
```

<!-- exit: 3 -->
```console
$ echo seen; exit 3
```
"""


def test_blocks_know_their_place_and_what_is_said_of_them() -> None:
    blocks = blocks_in(PAGE, TEXT)
    assert [(b.language, b.line, b.needs, b.exit_code) for b in blocks] == [
        ("console", 4, "gpu", 0),
        ("python", 14, "", 0),
        ("output", 18, "", 0),
        ("console", 22, "", 3),
    ]
    assert blocks[0].commands == [
        "vecchess selfplay --gpus 0-7 \\\n    --games 10",
        "vecchess doctor",
    ]


def test_a_need_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(ValueError, match="hurry"):
        blocks_in(PAGE, TEXT.replace("needs: gpu", "needs: hurry"))


def test_recording_fills_in_what_is_printed_and_can_be_repeated(tmp_path: Path) -> None:
    text = TEXT
    for name in ("once", "twice"):
        (tmp_path / name).mkdir()
        text = record(text, PAGE, tmp_path / name)
        assert "```output\n2\n```" in text
        assert "$ echo seen; exit 3\nseen\n```" in text
        assert "played 10" in text  # of what is not run


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("vecchess doctor", [["doctor"]]),
        ("X=1 vecchess net info a.safetensors | head -3", [["net", "info", "a.safetensors"]]),
        ("make setup && .venv/bin/vecchess doctor", [["doctor"]]),
        ("srun --wait=60 vecchess train --gpus all", [["train", "--gpus", "all"]]),
        ("torchrun -m vecchess_cli.main train --resume", [["train", "--resume"]]),
        ("cd vecchess && ls", []),
        ('vecchess match greedy "uci:stockfish?nodes=1"',
         [["match", "greedy", "uci:stockfish?nodes=1"]]),
    ],
)  # fmt: skip
def test_calls_are_found_however_vecchess_is_started(command: str, found: list[list[str]]) -> None:
    assert list(calls(command)) == found


@pytest.mark.parametrize(
    "wrong",
    ["selfplai", "selfplay --gamse 3", "selfplay --games many", "match greedy", "net inform a"],
)
def test_calls_that_the_program_would_refuse_are_told(wrong: str) -> None:
    with pytest.raises((typer.TyperException, ConfigError)):
        check_call(wrong.split())


def test_calls_that_it_takes_pass() -> None:
    for right in (
        "selfplay --games 3",
        "gather engine stockfish --out a",
        "net --help",
        "--version",
    ):
        check_call(right.split())


def test_every_decision_stands_in_the_list() -> None:
    listed = re.findall(r"(?m)^- (\d+\. .+)$", (ROOT / "docs" / "decisions.md").read_text())
    pages = (ROOT / "docs" / "decisions").glob("*.md")
    told = [
        title for page in pages for title in re.findall(r"(?m)^## (\d+\. .+)$", page.read_text())
    ]
    assert sorted(listed) == sorted(told)
