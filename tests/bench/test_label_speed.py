"""The bench of labels, in small."""

import json
import runpy
import sys
from pathlib import Path

import pytest

from tests.importers.alphabetical import write_engine

PROGRAM = Path(__file__).parents[2] / "bench" / "label_speed.py"


def test_both_clients_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    games, asked = tmp_path / "games.pgn", tmp_path / "asked"
    games.write_text('[Result "1-0"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. O-O Nf6 1-0\n')
    monkeypatch.setenv("ASKED", str(asked))
    options = ["--engine", write_engine(tmp_path), "--rounds", "1", "--nodes", "5"]
    monkeypatch.setattr(sys, "argv", ["label_speed", str(games), *options])
    runpy.run_path(str(PROGRAM), run_name="__main__")
    facts = json.loads(capsys.readouterr().out)
    assert 0 < facts["positions"] <= 3
    assert [(row["nodes"], row["multipv"]) for row in facts["results"]] == [(5, 1), (5, 5)]
    for row in facts["results"]:
        assert row["raw pipe"].keys() == row["python-chess"].keys()
        assert min(row["raw pipe"].values()) > 0
    fens = asked.read_text().splitlines()
    assert len(fens) == 4 * facts["positions"]
    assert len(set(fens)) == facts["positions"]
