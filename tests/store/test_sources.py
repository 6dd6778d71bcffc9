"""Games of a run in which a shard is damaged: left out with a line, and never touched."""

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tests.selfplay.playing import LoudBackend, play
from vecchess.config import GameConfig, SelfplayConfig, to_toml
from vecchess.errors import ConfigError, DataError, FileUnreadable
from vecchess.evaluate.calibrate_exits import CalibrationPlan, _games
from vecchess.export.game_source import ExportSource
from vecchess.export.pgn_export import export_pgn
from vecchess.runtime.devices import CPU
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.records import GameRecords
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import write_shard
from vecchess.store.sources import read_games
from vecchess.train.data.replay_window import GivenShards, ReplayWindow

pytestmark = pytest.mark.plain

DAMAGED, WHOLE = "0.npz", "1.npz"


@pytest.fixture(scope="module")
def records() -> GameRecords:
    return play(GameConfig(max_plies=20, random_plies=3), 6, LoudBackend(16), seed=1)


@pytest.fixture
def run(tmp_path: Path, records: GameRecords) -> RunFolder:
    """Two shards: one is damaged, one is whole."""
    run = RunFolder(tmp_path / "run")
    run.create()
    run.config.write_text(to_toml(SelfplayConfig()))
    manifest = Manifest(run.games)
    for index, name in enumerate((DAMAGED, WHOLE)):
        part = records.take(np.arange(2 * index, 2 * index + 2))
        manifest.append(ShardEntry.of(name, write_shard(run.games / name, part), part))
    data = (run.games / DAMAGED).read_bytes()
    (run.games / DAMAGED).write_bytes(data[:-50] + b"x" * 50)
    return run


def files_of(run: RunFolder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.games.iterdir()}


def require_told(said: list[str]) -> None:
    assert len(said) == 1
    assert "\n" not in said[0]
    assert said[0].startswith("a shard is left out: ")
    assert f"{DAMAGED} is not the file that was written" in said[0]


@pytest.mark.parametrize("place", ["run", "folder"])
def test_damaged_shards_are_left_out(run: RunFolder, records: GameRecords, place: str) -> None:
    before, said = files_of(run), []
    where = run.path if place == "run" else run.games
    found = read_games([where], said.append)
    assert found.digest() == records.take(np.arange(2, 4)).digest()
    require_told(said)
    with pytest.raises(DataError, match="not the file that was written"):
        read_games([where])
    assert files_of(run) == before


def test_export_and_calibrate_leave_them_out(run: RunFolder, tmp_path: Path) -> None:
    before, said = files_of(run), []
    out = tmp_path / "games.pgn"
    assert export_pgn(ExportSource(run.path, report_line=said.append), out) == 2
    require_told(said)
    assert [line for line in out.read_text().splitlines() if line.startswith("[Round")] == [
        '[Round "2"]',
        '[Round "3"]',
    ]
    told = io.StringIO()
    console = Console(file=told, soft_wrap=True)
    found = _games(SelfplayConfig(), CPU, CalibrationPlan(games=(run.path,)), console)
    assert found.numbers.tolist() == [2, 3]
    require_told(told.getvalue().splitlines())
    assert files_of(run) == before


def test_learning_from_such_a_run_leaves_them_out(run: RunFolder) -> None:
    before, said = files_of(run), []
    shelf = GivenShards([run.path])
    window = ReplayWindow(shelf, report_line=said.append)
    window.update(len(shelf))
    assert len(window.table) == 1
    require_told(said)
    assert files_of(run) == before


@pytest.mark.usefixtures("no_pauses")
def test_a_missing_shard_ends_the_command_with_a_line(run: RunFolder, tmp_path: Path) -> None:
    """Its games would be lost without a word that anyone need read."""
    (run.games / DAMAGED).unlink()
    out = tmp_path / "games.pgn"
    for read in (
        lambda: read_games([run.path], [].append),
        lambda: export_pgn(ExportSource(run.path, report_line=[].append), out),
        lambda: ReplayWindow(GivenShards([run.path])).update(2),
    ):
        with pytest.raises(FileUnreadable, match=f"cannot read .*{DAMAGED}: No such file"):
            read()
    assert not out.exists()


def test_where_nothing_is_left_there_is_a_word(run: RunFolder) -> None:
    (run.games / WHOLE).write_bytes(b"no shard")
    for place in (run.path, run.games):
        with pytest.raises(DataError, match="can be read"):
            read_games([place], [].append)
    with pytest.raises(ConfigError, match="not a readable shard"):
        read_games([run.games / WHOLE], [].append)
