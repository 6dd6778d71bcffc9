"""A run at a URL and its copies: pulled, pushed, killed at each request, followed, taken over."""

import hashlib
import json
import os
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.store.games import made_up
from vecchess.errors import ConfigError, DataError, FileBusy
from vecchess.runtime.atomic_write import write_atomically
from vecchess.runtime.signals import StopSignals
from vecchess.store.id_set import IdSet
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.records import GameRecords
from vecchess.store.remote import run_mirror, run_places
from vecchess.store.remote.block_file import BlockName, pack_block
from vecchess.store.remote.object_store import PROBES, Attempts, ObjectStore
from vecchess.store.remote.run_mirror import RunMirror
from vecchess.store.remote.run_places import (
    copy_folder,
    followed_run,
    learner_copy,
    run_here,
    settings_copy,
)
from vecchess.store.run_folder import CUTS, LATEST, RUN_ID_FILE, RunFolder
from vecchess.store.shard import shard_bytes

RUN_ID = "5" * 32
SEATS = 2
"""Shards and segments of a generation: a local worker's, and a player's."""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def place(tmp_path: Path) -> str:
    return f"file://{tmp_path}/bucket/run"


def begin_run(folder: Path) -> None:
    """The files of a run, as a learner makes them; one that has begun goes on."""
    run = RunFolder(folder)
    run.create()
    write_atomically(folder / RUN_ID_FILE, RUN_ID.encode())
    write_atomically(folder / "pins.json", b"{}")
    (folder / "inputs" / "net").mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "inputs" / "net" / "first.safetensors", b"first")
    (folder / "live").mkdir(exist_ok=True)
    (folder / "live" / "0.npz").write_bytes(b"boards")
    write_atomically(run.config, b"seed = 1\n")


@cache
def made_shard(segment: int, run_id: str) -> tuple[GameRecords, bytes]:
    records = made_up([segment], seed=segment)
    return records, shard_bytes(records, run_id)


def play(store: ObjectStore, folder: Path, generation: int) -> None:
    """The games of a generation: of each seat a shard and a cut, one of them from the fleet."""
    run = RunFolder(folder)
    run.cuts.mkdir(exist_ok=True)
    manifest = run.manifest()
    for seat in range(SEATS):
        segment = generation * SEATS + seat
        if segment in range(*manifest.segments.span):
            continue
        records, shard = made_shard(segment, RUN_ID)
        cut = b"cut of %d" % segment
        name = f"0000-000-c3a281-{segment:06d}.npz"
        if seat:
            block = BlockName(generation, seat, "player")
            store.create(block.object, pack_block(shard, cut))
            name = block.file
        (run.games / name).write_bytes(shard)
        (run.cuts / name).write_bytes(cut)
        digest = hashlib.sha256(shard).hexdigest()
        entry = ShardEntry.of(name, digest, records)
        segments = IdSet([(segment, segment + 1)])
        cut_digest = hashlib.sha256(cut).hexdigest()
        manifest.append(
            ShardEntry(entry.file, digest, entry.ids, entry.stats, segments, cut_digest)
        )


def learn(folder: Path, generation: int) -> None:
    """Publish a network and save a checkpoint; what is old is pruned."""
    run = RunFolder(folder)
    manifest = run.manifest()
    old = [each for each in manifest.entries if each.segments.span[1] <= generation * SEATS]
    if old:
        manifest.replace([each for each in manifest.entries if each not in old], old)
    for each in old:
        (run.games / each.file).unlink()
    for path in run.cuts.iterdir():
        played = int(path.stem[-6:]) // SEATS if path.name[0] == "0" else int(path.name[1:7])
        if played < generation:
            path.unlink()
    net = f"run-{generation}.safetensors"
    write_atomically(run.nets / net, b"net %d" % generation)
    run.write_json(LATEST, {"file": net, "generation": generation})
    lines = "".join(f"{number}\n" for number in range(generation + 1))
    write_atomically(folder / "metrics.jsonl", lines.encode())
    checkpoints = folder / "checkpoints"
    checkpoints.mkdir(exist_ok=True)
    write_atomically(checkpoints / f"{generation:06d}.safetensors", b"state %d" % generation)
    for path in sorted(checkpoints.iterdir())[:-2]:
        path.unlink()
    run.write_json("status.json", {"generation": generation})


def go_on(store: ObjectStore, folder: Path, end: int) -> None:
    """A learner from where it is to the generation ``end``, with a push after each."""
    mirror = RunMirror(store, folder)
    mirror.begin(resume=False, restarts=True)
    begin_run(folder)
    mirror.push()
    checkpoints = sorted((folder / "checkpoints").glob("*"))
    first = int(checkpoints[-1].stem) + 1 if checkpoints else 0
    for generation in range(first, end):
        play(store, folder, generation)
        mirror.push()
        learn(folder, generation)
        mirror.push()


def tree(store: ObjectStore) -> dict[str, bytes]:
    """All objects of a run, but those in which times or draws differ."""
    names = [name for name in store.names("") if not name.startswith(PROBES)]
    found = {name: store.get(name) or b"" for name in names}
    index = json.loads(found.pop(run_mirror.INDEX))
    found["index"] = ",".join(sorted(index["files"])).encode()
    manifest = found[run_mirror.MANIFEST].splitlines()
    return found | {run_mirror.MANIFEST: b"\n".join(manifest[1:])}


def check_whole(folder: Path) -> None:
    """Raise AssertionError where a file of a run names one that is not there or another one."""
    run = RunFolder(folder)
    manifest = Manifest(run.games)
    for each in manifest.entries:
        assert hashlib.sha256((run.games / each.file).read_bytes()).hexdigest() == each.sha256
    known = -1
    if (folder / LATEST).exists():
        latest = run.read_json(LATEST)
        known = latest["generation"]
        assert (run.nets / latest["file"]).read_bytes() == b"net %d" % known
        assert manifest.segments.span[1] >= (known + 1) * SEATS
    for path in (folder / "checkpoints").glob("*"):
        assert int(path.stem) <= known


class Killed(BaseException):
    """The process ends here."""


class MortalAttempts:
    """Requests to ``inner``; after so many the process is killed."""

    def __init__(self, inner: Attempts, left: int) -> None:
        self._inner, self._left, self._lock = inner, left, threading.Lock()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        request = getattr(self._inner, name)

        def attempt(*arguments: Any) -> Any:
            with self._lock:
                self._left -= 1
                if self._left < 0:
                    raise Killed
            return request(*arguments)

        return attempt


def test_a_run_comes_back_from_its_url(place: str, tmp_path: Path) -> None:
    store = ObjectStore.open(place)
    go_on(store, tmp_path / "learner", 5)
    names = store.names("")
    assert len([name for name in names if name.startswith("fleet/blocks/")]) == 1
    assert len([name for name in names if name.startswith("games/0")]) == 1
    assert not [name for name in names if name.startswith(("games/b", "cuts/b", "live/"))]
    again = RunMirror(store, tmp_path / "again")
    again.begin(resume=True)
    check_whole(tmp_path / "again")

    def files_of(folder: Path) -> dict[str, bytes]:
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("[!.]*")
            if path.is_file() and path.parent.name != "live"
        }

    found = files_of(tmp_path / "again")
    more = found.keys() - files_of(tmp_path / "learner")  # cuts that a block's object still has
    assert all(name.startswith("cuts/b") for name in more)
    assert {n: found[n] for n in found if n not in more} == files_of(tmp_path / "learner")
    before = tree(store)
    again.push()
    assert tree(store) == before
    unneeded = list((tmp_path / "learner" / "cuts").glob("b*"))
    for cut in unneeded:
        cut.unlink()
    RunMirror(store, tmp_path / "learner").begin(resume=True)
    assert unneeded
    assert not any(cut.exists() for cut in unneeded), "a learner has removed them"


def test_a_bucket_holds_a_run(s3_place: str, tmp_path: Path) -> None:
    go_on(ObjectStore.open(s3_place), tmp_path / "learner", 2)
    check_whole(run_here(s3_place, print))
    with learner_copy(s3_place, True, print) as folder:
        check_whole(folder)
        play(ObjectStore.open(s3_place), folder, 2)
        learn(folder, 2)
    check_whole(folder := run_here(s3_place, print))
    assert RunFolder(folder).read_json(LATEST)["generation"] == 2


@pytest.mark.thorough
def test_a_learner_killed_at_any_request_goes_on_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    unharmed = ObjectStore.open(f"memory://{tmp_path}/unharmed")
    go_on(unharmed, tmp_path / "unharmed", 3)
    expected = tree(unharmed)
    for fatal in range(10_000):
        place = f"memory://{tmp_path}/{fatal}"
        store = ObjectStore.open(place)
        mortal = ObjectStore(place, MortalAttempts(store.attempts, fatal))
        try:
            go_on(mortal, tmp_path / f"{fatal}-killed", 2)
            break
        except Killed:
            pass
        if store.get("config.toml") is not None:
            reader = tmp_path / f"{fatal}-reader"
            RunMirror(ObjectStore.open(place), reader).pull()
            check_whole(reader)
        go_on(store, tmp_path / f"{fatal}-again", 3)
        check_whole(tmp_path / f"{fatal}-again")
        assert tree(store) == expected
    assert fatal > 40


def test_a_reader_finds_all_files_at_every_request_of_a_learner(place: str, tmp_path: Path) -> None:
    store = ObjectStore.open(place)
    reader = RunMirror(ObjectStore.open(place), tmp_path / "reader")

    class Watched:
        def __getattr__(self, name: str) -> Callable[..., Any]:
            request = getattr(store.attempts, name)

            def attempt(*arguments: Any) -> Any:
                answer = request(*arguments)
                if name in ("put", "delete") and store.get("config.toml"):
                    reader.pull()
                    check_whole(tmp_path / "reader")
                return answer

            return attempt

    go_on(ObjectStore(place, Watched()), tmp_path / "learner", 5)
    assert not (tmp_path / "reader" / "checkpoints").exists()
    assert not list((tmp_path / "reader").glob(f"{CUTS}/*"))


def test_one_begins_a_run_and_one_goes_on(place: str, tmp_path: Path) -> None:
    store = ObjectStore.open(place)
    with pytest.raises(ConfigError, match=f"^{place} is not a run"):
        RunMirror(store, tmp_path / "0").begin(resume=True)
    first, second = (RunMirror(store, tmp_path / name) for name in "ab")
    for mirror in (first, second):
        mirror.begin(resume=False)
        begin_run(mirror.folder)
    first.push()
    with pytest.raises(ConfigError, match=f"another vecchess has begun a run at {place}"):
        second.push()
    with pytest.raises(ConfigError, match=f"^{place} holds a run already: add --resume"):
        RunMirror(store, tmp_path / "c").begin(resume=False)
    third = RunMirror(store, tmp_path / "c")
    third.begin(resume=True)
    play(store, first.folder, 0)
    with pytest.raises(DataError, match=f"another vecchess has gone on with {place}"):
        first.push()
    play(store, third.folder, 0)
    third.push()
    check_whole(third.folder)


def test_a_run_that_was_copied_by_other_means_is_read(place: str, tmp_path: Path) -> None:
    source = tmp_path / "bucket" / "run"
    begin_run(source)
    nothing = ObjectStore.open(tmp_path / "nothing")
    play(nothing, source, 0)
    block = BlockName(0, 1, "player")
    ObjectStore.open(place).put(block.object, nothing.get(block.object) or b"")
    learn(source, 0)
    folder = run_here(place, print)
    check_whole(folder)
    assert folder.name == "run"
    assert (folder / "inputs" / "net" / "first.safetensors").read_bytes() == b"first"


def test_another_run_at_the_same_url_replaces_the_copy(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ObjectStore.open(place)
    go_on(store, tmp_path / "a", 2)
    folder = run_here(place, print)
    store.delete(store.names(""))
    monkeypatch.setattr("tests.store.remote.test_run_mirror.RUN_ID", "6" * 32)
    go_on(store, tmp_path / "b", 1)
    assert run_here(place, print) == folder
    check_whole(folder)
    assert not (folder / "nets" / "run-1.safetensors").exists()


def test_objects_that_are_missing_or_planted_do_no_harm(place: str, tmp_path: Path) -> None:
    store = ObjectStore.open(place)
    go_on(store, tmp_path / "learner", 2)
    store.delete(["games/0000-000-c3a281-000002.npz", "nets/run-1.safetensors"])
    index = json.loads(store.get(run_mirror.INDEX) or b"")
    index["files"] |= {"../../outside": "1", "/etc/outside": "1", ".hidden": "1", "a/../../b": "1"}
    store.put(run_mirror.INDEX, json.dumps(index).encode())
    folder = run_here(place, print)
    assert (folder / "games" / "b000001-00001-player.npz").exists()
    assert not (folder / "games" / "0000-000-c3a281-000002.npz").exists()
    assert not [path for path in tmp_path.rglob("*") if path.name in ("outside", ".hidden", "b")]
    for name, content in (
        (run_mirror.MANIFEST, b"{}\nx\n"),
        (run_mirror.INDEX, b"{"),
        (run_mirror.INDEX, b"[]"),
    ):
        store.put(name, content)
        with pytest.raises(DataError, match=f"{name} is damaged"):
            run_here(place, print)


def test_a_follower_asks_little_and_sees_what_is_new(place: str, tmp_path: Path) -> None:
    store = ObjectStore.open(place)
    go_on(store, tmp_path / "learner", 1)
    asked: list[str] = []

    class Counting:
        def __getattr__(self, name: str) -> Callable[..., Any]:
            asked.append(name)
            return getattr(store.attempts, name)  # type: ignore[no-any-return]

    reader = RunMirror(ObjectStore(place, Counting()), tmp_path / "reader")
    reader.refresh(with_shards=False)
    asked.clear()
    reader.refresh(with_shards=False)
    reader.refresh_status()
    asked.clear()
    reader.refresh(with_shards=False)
    reader.refresh_status()
    assert asked == ["get", "get"]
    assert not list((tmp_path / "reader" / "games").glob("*.npz"))
    store.put("status.json", b'{"generation": 0.5}')
    reader.refresh_status()
    assert (tmp_path / "reader" / "status.json").read_bytes() == b'{"generation": 0.5}'
    go_on(store, tmp_path / "learner", 3)
    reader.refresh(with_shards=True)
    check_whole(tmp_path / "reader")
    assert RunFolder(tmp_path / "reader").read_json(LATEST)["generation"] == 2


def test_a_followed_run_is_kept_up_to_date(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_places, "FOLLOW_INTERVAL_S", 0.01)
    store = ObjectStore.open(place)
    go_on(store, tmp_path / "learner", 1)
    with followed_run(place, print) as folder:
        go_on(store, tmp_path / "learner", 2)
        written = threading.Event()
        for _ in range(3000):
            if (folder / "nets" / "run-1.safetensors").exists() and (
                RunFolder(folder).read_json(LATEST)["generation"] == 1
            ):
                break
            written.wait(0.01)
    check_whole(folder)
    assert RunFolder(folder).read_json(LATEST)["generation"] == 1
    assert "follow-run" not in {thread.name for thread in threading.enumerate()}


def test_a_learner_shares_its_status_and_at_the_end_all(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_places, "STATUS_INTERVAL_S", 0.01)
    store = ObjectStore.open(place)
    with learner_copy(place, False, print) as folder:
        assert folder == copy_folder(place, "learner")
        with pytest.raises(FileBusy, match="another vecchess"), learner_copy(place, False, print):
            pass
        mirror = RunMirror.of_copy(folder, print)
        assert mirror is not None
        begin_run(folder)
        mirror.push()
        RunFolder(folder).write_json("status.json", {"generation": "now"})
        for _ in range(3000):
            if store.get("status.json") is not None:
                break
            threading.Event().wait(0.01)
        assert b"now" in (store.get("status.json") or b"")
        play(store, folder, 0)
        learn(folder, 0)
    assert store.names("checkpoints/") == ["checkpoints/000000.safetensors"]
    with learner_copy(place, True, print) as folder:
        check_whole(folder)


def test_a_learner_that_was_replaced_says_no_more(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been taken for dead, and is asked to stop as soon as that shows."""
    monkeypatch.setattr(run_places, "STATUS_INTERVAL_S", 0.01)
    store, said, stop = ObjectStore.open(place), list[bytes | None](), StopSignals()

    def learn_on() -> None:
        with learner_copy(place, False, print, stop=stop) as folder:
            begin_run(folder)
            play(store, folder, 0)
            learn(folder, 0)
            mirror = RunMirror.of_copy(folder, print)
            assert mirror is not None
            mirror.push()
            threading.Event().wait(0.1)
            assert not stop.reason
            other = RunMirror(store, folder.parent.parent / "other")
            other.begin(resume=True)
            learn(other.folder, 1)
            other.push()
            store.put("status.json", b"other")
            RunFolder(folder).write_json("status.json", {"generation": "replaced"})
            for _ in range(3000):
                if stop.reason:
                    break
                threading.Event().wait(0.01)
            said.append(store.get("status.json"))

    with pytest.raises(DataError, match="another vecchess has gone on"):
        learn_on()
    assert said == [b"other"]
    assert "another vecchess" in stop.reason


def test_a_run_that_never_calls_for_it_is_written_at_times(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_places, "STATUS_INTERVAL_S", 0.01)
    store = ObjectStore.open(place)
    with learner_copy(place, False, print, push_every_s=0.0) as folder:
        begin_run(folder)
        play(store, folder, 0)
        for _ in range(3000):
            if store.names("games/0"):
                break
            threading.Event().wait(0.01)
        assert store.names("games/0") != []


def test_further_ranks_see_the_settings_of_a_run_and_no_more(place: str, tmp_path: Path) -> None:
    with settings_copy(place, print) as folder:
        assert not RunFolder(folder).has_begun
    go_on(ObjectStore.open(place), tmp_path / "learner", 1)
    with settings_copy(place, print) as folder:
        assert [path.name for path in folder.iterdir()] == ["config.toml"]
    assert not folder.exists()
    with settings_copy(str(tmp_path), print) as folder:
        assert folder == tmp_path


def test_settings_that_are_wrong_leave_no_run(place: str) -> None:
    with pytest.raises(ConfigError), learner_copy(place, False, print):
        raise ConfigError("wrong")
    assert ObjectStore.open(place).names("") == []


def test_a_copy_never_leaves_its_place() -> None:
    for odd in ("file:///runs/..", "file:///runs/.", "s3://bucket/../"):
        assert copy_folder(odd).name == "run"


def test_a_folder_is_used_as_it_is(tmp_path: Path) -> None:
    assert run_here(str(tmp_path), print) == tmp_path
    with followed_run(str(tmp_path), print) as folder:
        assert folder == tmp_path
    with learner_copy(str(tmp_path), False, print) as folder:
        assert folder == tmp_path
    assert RunMirror.of_copy(tmp_path, print) is None
