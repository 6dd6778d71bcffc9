"""The makers of suites, with an engine that likes the first move by name."""

import runpy
import sys
from pathlib import Path

import pytest

from tests.importers import alphabetical
from vecchess.config.import_settings import EngineLabelsConfig
from vecchess.importers.label_games import gather_labels
from vecchess.suites.epd import read_best_moves

BENCH = Path(__file__).parents[2] / "bench"
PGN = """[Result "1-0"]

1. e4 e5 2. Nf3 Nc6 3. Bc4 Nf6 4. Ng5 d5 5. exd5 Nxd5 6. Nxf7 Kxf7 7. Qf3+ Ke6 8. Nc3 1-0

[Result "0-1"]

1. e4 d5 2. exd5 Qxd5 3. Nc3 Qa5 4. d4 c6 5. Nf3 Nf6 6. Bd2 Bf5 7. Bc4 e6 8. O-O Bb4 0-1
"""


@pytest.fixture
def games(tmp_path: Path) -> Path:
    file = tmp_path / "games.pgn"
    file.write_text(PGN)
    return file


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object
) -> tuple[int, str]:
    """Exit code, and what is printed."""
    monkeypatch.setattr(sys, "argv", [*map(str, words)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(BENCH / f"{words[0]}.py"), run_name="__main__")
    code = ended.value.code
    printed = capsys.readouterr()
    return (code if isinstance(code, int) else 0), printed.out if code == 0 else printed.err


def test_labels_become_best_moves(
    games: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    engine = alphabetical.write_engine(tmp_path)
    gather_labels(EngineLabelsConfig(engine=engine, every=2), [games], tmp_path / "labels")
    command = ["make_moves", f"one={tmp_path}/labels", f"two={tmp_path}/labels"]
    code, text = run(monkeypatch, capsys, *command)
    assert code == 0
    (file := tmp_path / "moves.epd").write_text(text)
    suite = read_best_moves(file)
    assert len(set(text.splitlines())) == len(suite) == len(set(map(bytes, suite.positions)))
    assert suite.values == pytest.approx(0.1, abs=2e-3)
    assert set(suite.sources) == {"one", "two"}
    assert run(monkeypatch, capsys, *command, "--positions", 3) == (
        0,
        "".join(f"{line}\n" for line in text.splitlines()[:3]),
    )
    code, text = run(monkeypatch, capsys, "make_moves", "labels")
    assert (code, text.splitlines()[-1][-30:]) == (2, "give each source as NAME=PLACE")


def test_puzzles_are_found_once_and_go_on_where_they_were_stopped(
    games: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scores = alphabetical.ENGINE.replace("40 - 30 * rank", "400 - 300 * rank")
    monkeypatch.setattr(alphabetical, "ENGINE", scores)
    engine = alphabetical.write_engine(tmp_path)

    def make(name: str, *options: object) -> str:
        out = tmp_path / name
        command = ["make_puzzles", games, "--engine", engine, "--nodes", 100, "--out", out]
        assert run(monkeypatch, capsys, *command, *options)[0] == 0
        return out.read_text()

    whole = make("whole.epd", "--concurrency", 2)
    assert [line.split()[-1] for line in whole.splitlines()] == ['"hold.0";', '"hold.1";']
    assert read_best_moves(tmp_path / "whole.epd").sources == ["hold", "hold"]
    first = make("parts.epd", "--puzzles", 1)
    assert first == whole.splitlines(keepends=True)[0]
    (tmp_path / "parts.epd").write_text(first + "half a li")
    assert make("parts.epd") == whole
    command = ["make_puzzles", games, "--out", tmp_path / "no.epd", "--engine", "nothing-here"]
    code, text = run(monkeypatch, capsys, *command)
    assert (code, "there is no engine" in text) == (2, True)
