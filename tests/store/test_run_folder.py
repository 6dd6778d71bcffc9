"""The folder of a run: what is there, who may write, and how it says no."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.games import made_up
from vecchess.errors import ConfigError, DataError, FileUnreadable
from vecchess.runtime import retried_read
from vecchess.store import manifest as manifests
from vecchess.store.manifest import ShardEntry
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import write_shard

pytestmark = pytest.mark.plain


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    run = RunFolder(tmp_path / "runs" / "one")
    run.create()
    return run


def test_making_one_touches_nothing(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "one")
    assert not run.has_begun
    assert list(tmp_path.iterdir()) == []
    names = {name: path.name for name, path in vars(run).items()}
    assert names == {
        "path": "one", "games": "games", "nets": "nets", "live": "live",
        "inflight": "inflight", "cuts": "cuts", "inputs": "inputs", "config": "config.toml",
    }  # fmt: skip


def test_it_is_there_once_it_has_settings(run: RunFolder) -> None:
    assert sorted(path.name for path in run.path.iterdir()) == ["games", "nets", "run_id"]
    run.create()
    with pytest.raises(ConfigError, match=r"one is not a run: it has no config\.toml"):
        RunFolder.existing(run.path)
    run.config.write_text("")
    with pytest.raises(ConfigError, match=f"it has runs, such as {run.path}"):
        RunFolder.existing(run.path.parent)
    assert run.has_begun
    assert RunFolder.existing(run.path).path == run.path


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot write to .*file/run: .*; choose another --run"):
        RunFolder(tmp_path / "file" / "run").create()
    with pytest.raises(ConfigError, match=r"cannot write to .*none: No such file"):
        RunFolder(tmp_path / "none").locked().__enter__()


def test_a_place_that_cannot_be_looked_into_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bool:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(ConfigError, match=r"cannot look into .*: Permission denied"):
        RunFolder(tmp_path).has_begun  # noqa: B018


def test_only_one_writes(run: RunFolder) -> None:
    program = (
        "import sys; from pathlib import Path; from vecchess.store.run_folder import RunFolder\n"
        "with RunFolder(Path(sys.argv[1])).locked(): print('mine', flush=True); input()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(run.path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "mine\n"
    with pytest.raises(ConfigError, match="another vecchess is writing to"), run.locked():
        pass
    child.communicate("\n")
    with run.locked():
        pass
    with run.locked():
        pass


def test_records_come_in_the_order_of_their_numbers(run: RunFolder) -> None:
    with pytest.raises(DataError, match="has no recorded games yet"):
        run.records()
    manifest = run.manifest()
    for name, numbers in (("a.npz", [5, 2]), ("b.npz", [3])):
        games = made_up(numbers)
        manifest.append(ShardEntry.of(name, write_shard(run.games / name, games), games))
    assert run.records().numbers.tolist() == [2, 3, 5]
    (run.games / "a.npz").write_bytes(b"")
    said: list[str] = []
    assert run.records(said.append).numbers.tolist() == [3]
    (run.games / "b.npz").write_bytes(b"")
    with pytest.raises(DataError, match="has no recorded games that can be read"):
        run.records(said.append)
    assert len(said) == 3
    with pytest.raises(DataError, match=r"a\.npz is not the file that was written"):
        run.records()


def test_small_files_are_replaced(run: RunFolder) -> None:
    for values in ({"games": 1, "name": "x"}, {"games": 2}):
        run.write_json("status.json", values)
        text = (run.path / "status.json").read_text()
        assert json.loads(text) == values
        assert text.endswith("}\n")
    assert sorted(path.name for path in run.path.iterdir()) == [
        "games", "nets", "run_id", "status.json",
    ]  # fmt: skip


def test_games_whose_run_is_out_of_reach_for_a_moment_are_not_begun_anew(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    games = made_up([0, 1])
    run.manifest().append(ShardEntry.of("a.npz", write_shard(run.games / "a.npz", games), games))
    before = run.manifest().path.read_bytes()

    def away(*_: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "away")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "exists", lambda _: False)
        patch.setattr(manifests, "open_regular", away)
        run.create()
    assert run.manifest().path.read_bytes() == before

    (run.path / "run_id").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(manifests, "open_regular", away)
        patch.setattr(retried_read, "PAUSES_S", ())
        with pytest.raises(FileUnreadable, match="away"):
            run.create()
    assert run.manifest().path.read_bytes() == before


def test_what_was_shown_goes_and_folders_stay(run: RunFolder) -> None:
    run.clear_live()  # there is none
    (run.live / "kept").mkdir(parents=True)
    for name in ("1.npz", ".partial-2.npz"):
        (run.live / name).write_text("x")
    run.clear_live()
    assert [path.name for path in run.live.iterdir()] == ["kept"]


@pytest.mark.usefixtures("no_pauses")
def test_a_run_has_an_id_from_its_creation_on(tmp_path: Path) -> None:
    run, other = RunFolder(tmp_path / "run"), RunFolder(tmp_path / "other")
    for made in (run, other):
        made.create()
    first = run.run_id
    assert len(first) == 32
    assert first != other.run_id
    run.create()
    assert run.run_id == first
    (run.path / "run_id").write_text(first[:9])
    with pytest.raises(DataError, match="run_id is damaged"):
        _ = run.run_id
    (run.path / "run_id").unlink()
    with pytest.raises(DataError, match=r"cannot read .*run_id.* an older vecchess has none"):
        _ = run.run_id
