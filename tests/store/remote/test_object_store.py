"""Objects in folders, in memory and on a server of S3; servers and disks that fail."""

import errno
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.store.remote.stores import faulty_store
from vecchess.errors import ConfigError
from vecchess.store.remote import object_store
from vecchess.store.remote.object_store import ObjectStore, StoreUnreachable, WaitStopped, is_url


@pytest.fixture(params=["folder", "file", "memory", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "s3":
        return str(request.getfixturevalue("s3_place"))
    if request.param == "memory":
        return f"memory://{tmp_path}"
    return str(tmp_path / "a b") if request.param == "folder" else f"file://{tmp_path}/a%20b"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(object_store, "MOST_PAUSE_S", 0.01)


def test_what_is_there_is_not_made_again(place: str) -> None:
    store = ObjectStore.open(place)
    assert store.get("fleet/a") is None
    assert store.create("fleet/a", b"1")
    assert not store.create("fleet/a", b"2")
    assert not store.create("fleet/a", b"1")
    assert ObjectStore.open(place).get("fleet/a") == b"1"
    store.put("fleet/a", b"3")
    assert store.get("fleet/a") == b"3"
    store.delete(["fleet/a", "fleet/none"])
    store.delete([])
    assert store.get("fleet/a") is None


def test_ranges_end_with_the_object(place: str) -> None:
    store = ObjectStore.open(place)
    store.put("a", b"abcdef")
    found = [store.get_range("a", start, length) for start, length in ((0, 2), (4, 9), (6, 1))]
    assert found == [b"ab", b"ef", b""]
    assert store.get_range("b", 0, 1) is None


def test_a_listing_has_all_names_of_a_prefix_in_order(place: str) -> None:
    store = ObjectStore.open(place)
    names = [f"a/{number:04d}" for number in range(203)] + ["a/b/c", "ab", "a.b", "b"]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda name: store.put(name, name.encode()), names))
    assert store.names("") == sorted(names)
    assert store.names("a/") == sorted(name for name in names if name.startswith("a/"))
    assert store.names("a/b") == ["a/b/c"]
    assert store.names("none/") == store.names("b/") == []
    assert [each.size for each in store.listed("ab")] == [2]


def test_a_content_is_sent_again_only_where_it_is_another(place: str) -> None:
    store = ObjectStore.open(place)
    assert store.get_new("a") is None
    store.put("a", b"1")
    data, tag = store.get_new("a") or (None, "")
    assert data == b"1"
    assert store.get_new("a", tag) == (None, tag)
    assert store.listed("a")[0].tag == tag
    store.put("a", b"2")
    assert (store.get_new("a", tag) or ())[0] == b"2"


def test_of_many_threads_one_makes_an_object(place: str) -> None:
    store = ObjectStore.open(place)
    with ThreadPoolExecutor(8) as threads:
        for number in range(10):
            data = [bytes([player]) * 1000 for player in range(8)]
            made = [*threads.map(lambda each, n=number: store.create(f"n/{n}", each), data)]
            assert made.count(True) == 1
            assert store.get(f"n/{number}") == data[made.index(True)]


def make_all(place: str, player: int) -> list[bool]:
    store = ObjectStore.open(place)
    return [store.create(f"n/{number}", bytes([player]) * 1000) for number in range(40)]


def test_of_many_processes_one_makes_an_object(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    with context.Pool(4) as pool:
        made = pool.starmap(make_all, [(str(tmp_path), player) for player in range(4)])
    for number, winners in enumerate(zip(*made, strict=True)):
        assert winners.count(True) == 1
        found = ObjectStore.open(tmp_path).get(f"n/{number}")
        assert found == bytes([winners.index(True)]) * 1000
    assert not [*tmp_path.rglob(".partial-*")]


def test_lost_requests_and_lost_answers_change_nothing(place: str) -> None:
    store = faulty_store(ObjectStore.open(place), 0.3)
    assert all(store.create(f"a/{number}", b"%d" % number) for number in range(40))
    assert not any(store.create(f"a/{number}", b"another") for number in range(40))
    assert [store.get(f"a/{number}") for number in range(40)] == [b"%d" % n for n in range(40)]
    assert len(store.names("a/")) == 40
    assert store.attempts.failures > 20  # type: ignore[attr-defined]


def test_a_store_is_probed_for_what_it_overwrites(place: str) -> None:
    store = ObjectStore.open(place)
    store.probe()
    assert store.names("") == []
    careless = ObjectStore.open(place)
    careless.attempts.create = (  # type: ignore[method-assign]
        lambda name, data: not careless.attempts.put(name, data)
    )
    with pytest.raises(ConfigError, match=r"overwrites .*choose a server that knows"):
        careless.probe()
    assert store.names("") == []


class Away(BaseHTTPRequestHandler):
    """A server that answers with ``code`` and ``body``."""

    code, body = 503, b""

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(self.code)
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    do_PUT = do_POST = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def away(s3_place: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Away]]:
    """A server in place of S3's, and what it answers."""
    kind = type("Answering", (Away,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
    yield kind
    server.shutdown()
    server.server_close()


REQUESTS: list[Callable[[ObjectStore], object]] = [
    lambda store: store.create("a", b"1"),
    lambda store: store.put("a", b"1"),
    lambda store: store.get("a"),
    lambda store: store.get_range("a", 0, 1),
    lambda store: store.names("a/"),
    lambda store: store.delete(["a"]),
]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("code", "body"),
    [
        *((code, b"") for code in (408, 429, 500, 502, 503, 504)),
        (400, b"<Error><Code>RequestTimeout</Code></Error>"),
        (409, b"<Error><Code>ConditionalRequestConflict</Code></Error>"),
    ],
)
def test_a_server_that_may_answer_later_is_asked_again(
    code: int, body: bytes, away: type[Away], s3_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_store, "REPORTED_FAILURES", 1)  # a busy machine may fail once alone
    away.code, away.body = code, body
    for request in REQUESTS:
        lines: list[str] = []
        store = ObjectStore.open(s3_place, lines.append, patience_s=0.05)
        with pytest.raises(StoreUnreachable, match=f"^cannot reach {s3_place}: .+$"):
            request(store)
        assert len(lines) == 1
        assert lines[0].startswith(f"cannot reach {s3_place}, asking again until it answers: ")
        store.give_up = lambda: True
        with pytest.raises(WaitStopped, match="stopped while"):
            request(store)


@pytest.mark.parametrize(
    ("code", "body", "reason"),
    [
        (400, b"<Error><Code>AuthorizationHeaderMalformed</Code></Error>", "400 .*Malformed"),
        (401, b"", "401 Unauthorized"),
        (
            403,
            b"<Error><Code>AccessDenied</Code><Message>No.</Message></Error>",
            "AccessDenied No.",
        ),
        (404, b"<Error><Code>NoSuchBucket</Code></Error>", "there is no such bucket"),
        (501, b"<Error><Code>NotImplemented</Code></Error>", "NotImplemented"),
    ],
)
def test_what_waiting_does_not_mend_is_an_error_at_once(
    code: int, body: bytes, reason: str, away: type[Away], s3_place: str
) -> None:
    away.code, away.body = code, body
    for request in REQUESTS:
        with pytest.raises(ConfigError, match=f"^{s3_place}: .*{reason}.*$"):
            request(ObjectStore.open(s3_place))


def test_a_server_that_comes_back_is_told_of_twice(
    away: type[Away], s3_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []

    def come_back(line: str) -> None:
        lines.append(line)
        away.code, away.body = 200, b"found"

    store = ObjectStore.open(s3_place, come_back)
    store.put("a", b"1")
    assert [line.partition(" (")[0].split(",")[0] for line in lines] == [
        f"cannot reach {s3_place}",
        f"{s3_place} answers again",
    ]
    store.put("a", b"1")
    assert len(lines) == 2


def test_servers_that_are_not_there_are_named_with_the_cause(
    s3_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for endpoint, cause in (
        ("http://127.0.0.1:1", "Connection refused"),
        ("http://none.invalid", "dns error"),
    ):
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        with pytest.raises(StoreUnreachable, match=cause):
            ObjectStore.open(s3_place, patience_s=0.01).get("a")


def test_a_disk_that_fails_for_a_while_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, failures = os.link, [errno.EIO, errno.ESTALE, errno.ENOSPC, errno.EMFILE]

    def failing(source: Path, target: Path) -> None:
        if failures:
            raise OSError(failures.pop(), "away")
        link(source, target)

    monkeypatch.setattr(os, "link", failing)
    lines: list[str] = []
    assert ObjectStore.open(tmp_path, lines.append).create("a", b"1")
    assert len(lines) == 2
    assert os.listdir(tmp_path) == ["a"]


def test_a_network_disk_may_lose_the_answer_to_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def answered_twice(source: Path, target: Path) -> None:
        link(source, target)
        raise FileExistsError

    monkeypatch.setattr(os, "link", answered_twice)
    assert ObjectStore.open(tmp_path).create("a", b"1")


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.EACCES, errno.EROFS])
def test_a_folder_that_cannot_hold_objects_is_refused(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, "refused")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(ConfigError, match=f"{tmp_path}/a: refused"):
        ObjectStore.open(tmp_path).create("a", b"1")
    assert os.listdir(tmp_path) == []


def test_partial_files_of_lost_writers_are_no_objects(tmp_path: Path) -> None:
    store = ObjectStore.open(tmp_path)
    store.put("a/b", b"1")
    (tmp_path / "a" / ".partial-0-c").write_bytes(b"half")
    assert store.names("") == store.names("a/") == ["a/b"]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("s4://bucket/run", "begins with s3://, gs://, az://, file://"),
        ("http://host/run", "begins with s3://"),
        ("file://run", "three slashes"),
        ("file:///", "three slashes"),
        ("s3://", "recogni"),
        ("az://container/run", "[Aa]ccount"),
    ],
)
def test_wrong_urls_are_refused_in_one_line(url: str, reason: str) -> None:
    assert is_url(url)
    with pytest.raises(ConfigError, match=f"^{url}.*{reason}.*$"):
        ObjectStore.open(url)


def test_a_bucket_needs_obstore_and_a_folder_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_store, "_obstore", object_store._obstore.__wrapped__)
    monkeypatch.setitem(sys.modules, "obstore.exceptions", None)
    with pytest.raises(ConfigError, match=r"obstore is not installed: pip install .*\[fleet\]"):
        ObjectStore.open("s3://bucket/run")
    for place in (str(tmp_path), f"file://{tmp_path}"):
        assert ObjectStore.open(place).create(f"{is_url(place)}", b"1")
