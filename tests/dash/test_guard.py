"""Who may look: hosts, methods, tokens, and what browsers are told."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.dash.site import HOST, make_site, small_run
from vecchess.dash.address import listen
from vecchess.errors import ConfigError

TOKEN = "a-token-of-some-length"


def client_of(folder: Path, **settings: object) -> TestClient:
    small_run(folder / "run")
    return TestClient(make_site(folder, folder / "run", **settings), base_url=HOST)  # type: ignore[arg-type]


def test_only_names_of_this_machine_are_answered(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    for host in ("localhost:9000", "127.0.0.1", "[::1]:8765", "LOCALHOST"):
        assert client.get("/", headers={"host": host}).status_code == 200, host
    for host in ("evil.example", "127.0.0.1.evil.example:8765", "localhost.evil", "", "[::2]"):
        assert client.get("/api/runs", headers={"host": host}).status_code == 403, host


def test_it_only_reads(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        answer = client.request(method, "/api/runs")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    assert client.post("/api/play/nothing").status_code == 404, "the play page looks for itself"
    assert client.post("/api/play/../runs").status_code == 405


def test_pages_of_others_get_nothing(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    assert client.get("/api/runs", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert client.get("/", headers={"sec-fetch-site": "cross-site"}).status_code == 200
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert client.get("/api/nothing").headers["x-content-type-options"] == "nosniff"


def test_a_token_is_shown_once_and_then_a_cookie(tmp_path: Path) -> None:
    client = client_of(tmp_path, token=TOKEN, any_host=True)
    for path in ("/", "/api/runs", "/static/main-ABCD.js", "/api/events?t=runs"):
        assert client.get(path).status_code == 401
    for wrong in ("", "x", TOKEN[:-1], f"{TOKEN}x", "\u00e9"):
        assert client.get("/", params={"token": wrong}).status_code == 401
    first = client.get("/", params={"token": TOKEN}, headers={"host": "far.example"})
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert client.get("/api/runs").status_code == 200, "the cookie is enough"
    client.cookies.clear()
    name = cookie.partition("=")[0]
    assert client.get("/api/runs", headers={"cookie": f"{name}=wrong"}).status_code == 401
    assert client.get("/api/runs", headers={"cookie": f"{name}={TOKEN}"}).status_code == 200


def test_other_machines_need_a_token_that_is_made_up() -> None:
    for host in ("127.0.0.1", "localhost", "::1"):
        with listen(host, 0).socket:
            pass
    here, everywhere = listen("127.0.0.1", 0), listen("0.0.0.0", 0)
    given = listen("0.0.0.0", 0, "abc")
    with here.socket, everywhere.socket, given.socket:
        assert (here.token, here.is_loopback) == ("", True)
        assert len(everywhere.token) >= 20
        assert not everywhere.is_loopback
        assert everywhere.url.endswith(f":{everywhere.port}/?token={everywhere.token}")
        assert given.token == "abc"


def test_a_port_that_is_taken_is_a_line() -> None:
    with listen("127.0.0.1", 0).socket as taken, pytest.raises(ConfigError, match="--port 0"):
        listen("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(ConfigError, match="--token"):
        listen("127.0.0.1", 0, "a b;c")
    for host in ("", "no such host", "198.51.100.7", "x" * 70):
        with pytest.raises(ConfigError):
            listen(host, 0)
