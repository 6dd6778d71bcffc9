"""Who may look: hosts, methods, tokens, and what browsers are told."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.dash.site import HOST, make_site, small_run
from vecchess.errors import ConfigError
from vecchess.ports.address import listen

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
    for other in ('view={"a": "b, c"}', "theme", "x y=1", "a@=1"):  # of programs on other ports
        cookies = {"cookie": f"{other}; {name}={TOKEN}"}
        assert client.get("/api/runs", headers=cookies).status_code == 200, other


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


def test_another_origin_gets_nothing_whichever_way_it_asks(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    own = "http://127.0.0.1:8765"
    for path in ("/api/runs", "/api/events?t=runs", "/api/play/", "/api/nothing"):
        for origin in ("http://evil.example", "null", "http://127.0.0.1:9999", "http://[", ""):
            answer = client.get(path, headers={"origin": origin})
            assert answer.status_code == 403, (path, origin)
            assert not any(name.startswith("access-control") for name in answer.headers)
        for site in ("cross-site", "same-site", "anything"):
            answer = client.get(path, headers={"sec-fetch-site": site})
            assert answer.status_code == 403, (path, site)
    for headers in ({"origin": own}, {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}):
        assert client.get("/api/runs", headers=headers).status_code == 200
    for origin in ("http://evil.example", "null"):
        answer = client.post("/api/play/position", json={}, headers={"origin": origin})
        assert answer.status_code == 403
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post("/api/play/position", content=b"a=b", headers=form).status_code == 415


def test_a_name_that_was_pointed_here_is_refused_with_its_own_origin(tmp_path: Path) -> None:
    """As after DNS rebinding: to the browser it is one site, and the page asks its own server."""
    client = client_of(tmp_path)
    here = {"host": "evil.example:8765", "origin": "http://evil.example:8765"}
    for path in ("/", "/api/runs", "/api/events?t=runs"):
        answer = client.get(path, headers=here | {"sec-fetch-site": "same-origin"})
        assert answer.status_code == 403
    assert client.post("/api/play/position", json={}, headers=here).status_code == 403
    twice = [("host", "localhost:8765"), ("host", "evil.example")]
    assert client.get("/api/runs", headers=twice).status_code == 400


def test_odd_methods_are_refused(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    for method in ("TRACE", "CONNECT", "PROPFIND", "X" * 200):
        for path in ("/", "/api/runs", "/api/play/position"):
            assert client.request(method, path).status_code in (404, 405), (method, path)


def test_bodies_end_somewhere(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    own = {"content-type": "application/json"}

    answer = client.post("/api/play/position", content=b"[" * 70_000, headers=own)
    assert (answer.status_code, "64 KiB" in answer.json()["error"]) == (413, True)
    for body in (b"", b"[" * 60_000, b"\xff", b"{}" * 9):
        answer = client.post("/api/play/position", content=body, headers=own)
        assert answer.status_code == 400, body[:9]
        assert len(answer.json()["error"]) < 300
