"""Whatever fails while it thinks, the engine answers from its tree, and goes on."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess
import pytest

from vecchess.config import UciConfig
from vecchess.errors import ConfigError, DeviceError
from vecchess.runtime.reporting import no_report
from vecchess.search.game_search import GameSearch
from vecchess.search.tablebase import Tablebase, folders_of
from vecchess.uci.engine_options import Options
from vecchess.uci.engine_state import EngineState
from vecchess.uci.session import Session

TABLES = Path(__file__).parents[1] / "data" / "syzygy"
QUEEN_UP = "8/2k5/8/8/8/4p3/8/KQ6 w - - 0 1"
CONFIG = UciConfig(net="material", threads=1, hash_mb=16, gpus="cpu")


def played(config: UciConfig, *commands: str) -> tuple[list[str], list[str]]:
    """The moves that it answers with, and lines with errors."""
    lines: list[str] = []
    session = Session(config, lines.append)
    for command in commands:
        session.execute(command)
        assert session.wait(60)
    session.close(10)
    moves = [line.split()[1] for line in lines if line.startswith("bestmove")]
    return moves, [line for line in lines if "error" in line or "syzygy" in line]


@pytest.mark.parametrize("damage", ["junk", "cut off", "short"])
def test_a_damaged_table_is_left_out_and_named(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "tables"
    shutil.copytree(TABLES, folder)
    table = folder / "KQvK.rtbw"
    data = table.read_bytes()
    spoilt = {"junk": b"junk\n", "cut off": data[:-16], "short": data[:80]}[damage]
    table.write_bytes(spoilt)
    go = f"position fen {QUEEN_UP}", "go nodes 400"
    moves, errors = played(CONFIG.model_copy(update={"syzygy": folder}), *go, *go)
    assert len(moves) == 2
    board = chess.Board(QUEEN_UP)
    for uci in moves:
        after = board.copy()
        after.push_uci(uci)
        assert not any(
            after.piece_at(move.to_square)
            for move in after.legal_moves
            if after.is_capture(move) and after.piece_type_at(move.to_square) == 5
        )
    assert sum("KQvK.rtbw" in line for line in errors) == 1


def test_games_that_depend_on_tables_end_with_a_line(tmp_path: Path) -> None:
    shutil.copytree(TABLES, tmp_path / "tables")
    (tmp_path / "tables" / "KRvK.rtbw").write_bytes(b"")
    with pytest.raises(ConfigError, match=r"KRvK\.rtbw cannot be read"):
        Tablebase(tmp_path / "tables")


def test_several_folders(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder, name in ((one, "KQvK"), (other, "KPvK")):
        folder.mkdir()
        shutil.copy(TABLES / f"{name}.rtbw", folder)
    both = Path(f"{one}:{other}")
    assert folders_of(both) == [one, other]
    assert folders_of(one) == [one]
    assert len(Tablebase(both)._tables.wdl) == 4


@pytest.mark.parametrize(
    "failure",
    [DeviceError("lost"), MemoryError(), OSError("gone"), RuntimeError("a bug"), ValueError("x")],
    ids=lambda error: type(error).__name__,
)
def test_an_error_while_it_thinks_is_answered_from_the_tree(
    failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute: Callable[..., Any] = GameSearch.compute

    def failing(self: GameSearch) -> Any:
        if self.visits > 600:
            raise failure
        return compute(self)

    fen = "4k3/8/8/3q4/8/8/3R4/3RK3 w - - 0 1"  # the first legal move is not the capture
    lines: list[str] = []
    session = Session(CONFIG, lines.append)
    session.execute("isready")
    assert session.wait(60)
    monkeypatch.setattr(GameSearch, "compute", failing)
    session.execute(f"position fen {fen}")
    session.execute("go nodes 5000")
    assert session.wait(60)
    monkeypatch.setattr(GameSearch, "compute", compute)
    session.execute("go nodes 50")
    assert session.wait(60)
    session.close(10)
    assert [line.split()[1] for line in lines if line.startswith("bestmove")] == ["d2d5", "d2d5"]


@pytest.mark.parametrize(
    ("wrong", "kept", "words"),
    [
        ({"syzygy": Path("/missing")}, {"net": "material", "threads": 1}, "syzygy none"),
        ({"net": "/missing.safetensors"}, {"threads": 1, "hash_mb": 24}, "net default"),
        ({"hash_mb": 1 << 24}, {"net": "material", "threads": 1}, "hash_mb"),
        (
            {"syzygy": Path("/missing"), "hash_mb": 1 << 24},
            {"net": "material", "threads": 1},
            "syzygy none",
        ),
    ],
)
def test_only_what_is_wrong_falls_back(
    wrong: dict[str, Any], kept: dict[str, Any], words: str
) -> None:
    config = UciConfig(net="material", threads=1, hash_mb=24, gpus="cpu").model_copy(update=wrong)
    told: list[str] = []
    opened = EngineState(Options(config), told.append, no_report).load(config)
    assert {name: getattr(opened, name) for name in kept} == kept
    assert len(told) == 1
    assert words in told[0]
    for name, value in wrong.items():
        assert getattr(opened, name) != value
