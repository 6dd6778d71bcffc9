"""What verification finds, and what ``vecchess games`` makes of it."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.store.maintenance.made import add_shard, made_run
from tests.system.commands import inside, last_json
from vecchess.errors import FileUnreadable
from vecchess.store.maintenance import verify_games
from vecchess.store.maintenance.verify_games import verify
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_log import RunLog


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return made_run(tmp_path / "run", num_shards=4)


def file_of(run: RunFolder, index: int) -> Path:
    return run.games / run.manifest().entries[index].file


def test_a_good_run(run: RunFolder) -> None:
    seen: list[str] = []
    found = verify(run.games, run.run_id, seen.append)
    assert (found.verdict, found.games, found.shards) == ("good", 12, 4)
    assert seen == [entry.file for entry in run.manifest().entries]


def test_every_kind_of_fault(run: RunFolder, tmp_path: Path) -> None:
    other = made_run(tmp_path / "other", num_shards=1)
    add_shard(run, "unlisted.npz", [100], is_listed=False)
    add_shard(run, "later.npz", [15, 16])
    (run.games / "old.npz.set-aside").write_bytes(b"")
    file_of(run, 0).write_bytes(b"damaged")
    file_of(run, 1).unlink()
    found = verify(run.games, run.run_id)
    assert found.verdict == "damaged"
    assert found.damaged == [f"{file_of(run, 0)}: its sha256 differs from the manifest's"]
    assert found.missing == [file_of(run, 1).name]
    assert (found.unlisted, found.set_aside) == (["unlisted.npz"], ["old.npz.set-aside"])
    assert found.gaps == [(12, 15)]
    assert found.games == 8
    assert verify(run.games, other.run_id).foreign == [
        file_of(run, index).name for index in (2, 3, 4)
    ]


def test_games_that_a_training_left_unfinished(run: RunFolder) -> None:
    sha256 = hashlib.sha256(b"good").hexdigest()
    run.manifest().replace([replace(each, cut=sha256) for each in run.manifest().entries])
    run.cuts.mkdir(exist_ok=True)
    _removed, good, damaged, no_file = [run.cuts / each.file for each in run.manifest().entries]
    good.write_bytes(b"good")
    damaged.write_bytes(b"damaged")
    no_file.mkdir()
    found = verify(run.games, run.run_id)
    assert found.damaged == [
        f"{damaged}: its sha256 differs from the manifest's",
        f"cannot read {no_file}: it is no regular file",
    ]
    assert (found.verdict, found.missing, found.unreadable) == ("damaged", [], [])


def test_a_manifest_that_lists_a_game_twice(run: RunFolder) -> None:
    manifest = run.manifest().path
    lines = manifest.read_text().splitlines()
    manifest.write_text("\n".join([*lines, lines[-1]]) + "\n")
    found = verify(run.games, run.run_id)
    assert found.verdict == "damaged"
    assert "twice" in found.damaged[0]


def test_what_cannot_be_read_is_not_damaged(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = verify_games.read_file

    def fail(path: Path) -> bytes:
        if path == file_of(run, 2):
            raise FileUnreadable(f"cannot read {path}: Stale file handle")
        return read(path)

    monkeypatch.setattr(verify_games, "read_file", fail)
    monkeypatch.setattr(verify_games, "retried", lambda read, *args: read(*args))
    found = verify(run.games, run.run_id)
    assert (found.verdict, found.damaged, found.games) == ("cannot be read", [], 9)
    assert found.unreadable == [f"cannot read {file_of(run, 2)}: Stale file handle"]


def test_the_commands(run: RunFolder, tmp_path: Path) -> None:
    RunLog(run.path).write("worker died", worker="worker 0", reason="killed by SIGKILL")
    done = inside("games", "info", run.path)
    assert "12, 300 plies" not in done.stdout
    assert "small shards     4" in done.stdout
    assert "worker died: worker 0, killed by SIGKILL" in done.stdout
    facts = last_json(inside("games", "info", run.path, "--json"))["runs"][0]
    assert (facts["games"], facts["gaps"], facts["pruned_games"]) == (12, 0, 0)
    assert facts["events"][-1]["event"] == "worker died"
    merged = last_json(inside("games", "compact", run.path, "--shard-games", 6, "--json"))
    assert merged["folders"][0]["shards_after"] == 2
    dry = last_json(inside("games", "prune", run.path, "--keep-gb", 0, "--dry-run", "--json"))
    assert (dry["folders"][0]["games"], dry["dry_run"]) == (12, True)
    assert "verdict: good" in inside("games", "verify", run.path, run.path).stdout
    done = inside("games", "prune", run.path, "--keep-gb", 0)
    assert "12 games in 2 shards deleted" in done.stdout
    assert last_json(inside("games", "verify", run.path, "--json"))["folders"][0]["pruned"] == 12
    for arguments in (["verify", tmp_path], ["prune", run.path], ["compact", tmp_path / "none"]):
        done = inside("games", *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr


def refuse(path: Path) -> bytes:
    raise FileUnreadable(f"cannot read {path}: Input/output error")


@pytest.mark.parametrize(("fault", "code"), [("damaged", 1), ("cannot be read", 2)])
def test_the_exit_code_is_the_verdict(
    run: RunFolder, fault: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault == "damaged":
        file_of(run, 0).write_bytes(b"damaged")
    else:
        monkeypatch.setattr(verify_games, "retried", lambda read, *args: read(*args))
        monkeypatch.setattr(verify_games, "read_file", refuse)
    done = inside("games", "verify", run.path, "--json")
    assert done.returncode == code, done.stdout
    assert json.loads(done.stdout)["verdict"] == fault
