"""The play page's part of the server: who may ask, what is answered, what is left running."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import httpx
import numpy as np
import pytest

from tests.dash.play.site import play_app, served, tiny_network
from vecchess.analysis.parse_position import STARTPOS, position_reached, request_at
from vecchess.analysis.spike_trace import SpikeTracer
from vecchess.chess.planes import num_planes
from vecchess.dash.play import play_engine
from vecchess.dash.play import service as play_service
from vecchess.dash.play.parse_requests import MOST_BYTES
from vecchess.dash.play.play_engine import PlayStrength
from vecchess.dash.play.service import MOST_REQUESTS, PlayService
from vecchess.snn.integer.net_file import load_net

BACK_RANK = "6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1"
MATED = ["f2f3", "e7e5", "g2g4", "d8h4"]
MODULE = "module:tests.networks.modules:leaking?least=2"
PATIENCE_S = 20.0
NICENESS = 1
"""Less than is usual: other tests must not hold these up for long."""


class Table:
    """A service with a spiking network and a ReLU one, and a client."""

    def __init__(self, service: PlayService, client: httpx.Client, nets: dict[str, Path]) -> None:
        self.service, self.client, self.nets = service, client, nets
        self.address = str(client.base_url).rstrip("/")

    @property
    def running(self) -> dict[str, int]:
        """The processes that run, by network."""
        names = {str(file): name for name, file in self.nets.items()}
        running = self.service.engines.running.items()
        return {names.get(net, net): engine.pid for net, engine in running}

    def ask(self, path: str, timeout: float = 60, **body: Any) -> Any:
        return self.client.post(f"/api/play{path}", json=body, timeout=timeout)

    @contextmanager
    def analysis(self, **body: Any) -> Iterator[Iterator[str]]:
        """The lines of an analysis, which is hung up at the end of the block."""
        with self.client.stream("POST", "/api/play/analyse", json=body) as answer:
            yield answer.iter_lines()

    def events(self, path: str, **body: Any) -> list[dict[str, Any]]:
        answer = self.ask(path, **body)
        assert answer.headers["content-type"].startswith("text/event-stream")
        return [
            json.loads(event.removeprefix("data: ")) for event in answer.text.split("\n\n")[:-1]
        ]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """One for all: a process for each network, which takes seconds to start."""
    folder = tmp_path_factory.mktemp("nets")
    nets = {
        f"run/{neuron}": tiny_network(folder / f"{neuron}.safetensors", neuron)
        for neuron in ("lif", "relu")
    }

    async def networks() -> dict[str, Path]:
        return nets

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(play_service, "MOST_ENGINES", 5)
        patch.setattr(play_engine, "NICENESS", NICENESS)
        service = PlayService(networks, [MODULE])
        with (
            served(lambda: play_app(service)) as address,
            httpx.Client(base_url=address, timeout=60) as client,
        ):
            yield Table(service, client, nets)
            pids = [engine.pid for engine in service.engines.running.values()]
    for pid in pids:
        assert is_gone(pid), "nothing is left running"


def is_gone(pid: int) -> bool:
    deadline = monotonic() + PATIENCE_S
    while monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        sleep(0.02)
    return False


def test_what_is_offered(table: Table) -> None:
    offer = table.client.get("/api/play/").json()
    assert offer["networks"] == ["default", MODULE, "run/lif", "run/relu", "material"]
    assert offer["sims"] == [0, 16, 64, 256, 1000]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:81"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "ADDRESS", "sec-fetch-site": "same-origin"}, 200),
        ({"content-type": "application/json; charset=utf-8"}, 200),
    ],
)
@pytest.mark.parametrize("path", ["/position", "/read", "/pgn", "/spikes", "/move", "/analyse"])
def test_other_sites_cannot_ask(
    table: Table, path: str, headers: dict[str, str], status: int
) -> None:
    body = {"text": BACK_RANK} if path == "/read" else {"moves": MATED}
    if path in ("/spikes", "/move", "/analyse"):
        body["network"] = "material"
    sent = {"content-type": "application/json"} | headers
    sent = {name: value.replace("ADDRESS", table.address) for name, value in sent.items()}
    answer = table.client.post(f"/api/play{path}", content=json.dumps(body), headers=sent)
    refused = path == "/spikes" and status == 200  # the game is over, which is a fault of its own
    assert answer.status_code == (400 if refused else status)
    if status != 200:
        assert set(answer.json()) == {"error"}


def test_only_posts_are_taken(table: Table) -> None:
    assert table.client.get("/api/play/move").status_code == 405
    assert table.client.post("/api/play/", json={}).status_code == 405


def test_bodies_are_bounded(table: Table) -> None:
    assert table.ask("/read", text="x" * MOST_BYTES).status_code == 413


@pytest.mark.parametrize(
    ("path", "body", "reason"),
    [
        ("/position", {"start": "8/8/8/8/8/8/8/8 w - - 0 1"}, "no king"),
        ("/position", {"moves": ["e2e5"]}, "not legal"),
        ("/position", {"typed": "Ke2"}, "no legal move"),
        ("/read", {"text": "1. e4 e5 2. Ke3"}, "cannot be read"),
        ("/pgn", {"moves": ["e2e5"]}, "not legal"),
    ],
)
def test_what_chess_forbids_is_an_answer(
    table: Table, path: str, body: dict[str, Any], reason: str
) -> None:
    """A browser logs every other status in red, as if the page were broken."""
    answer = table.ask(path, **body)
    assert answer.status_code == 200
    assert set(answer.json()) == {"error"}
    assert reason in answer.json()["error"]


@pytest.mark.parametrize(
    ("path", "body", "reason"),
    [
        ("/position", {"moves": "e2e4"}, "moves: "),
        ("/position", {"more": 1}, "more: "),
        ("/read", {"chess960": 960}, "chess960: "),
        ("/move", {"network": "material", "sims": 1001}, "sims: "),
        ("/move", {"network": "material", "elo": 3000}, "elo: "),
        ("/analyse", {"network": "material", "sims": 10**9}, "sims: "),
        ("/spikes", {"network": "../../etc/passwd"}, "no network"),
        ("/spikes", {"network": "run/lif", "moves": MATED}, "no legal move"),
    ],
)
def test_bad_requests_are_answered_in_a_line(
    table: Table, path: str, body: dict[str, Any], reason: str
) -> None:
    answer = table.ask(path, **body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert reason in error
    assert "\n" not in error


@pytest.mark.parametrize("network", ["/etc/passwd", "run/gone"])
def test_networks_are_looked_up_by_name(table: Table, network: str) -> None:
    (event,) = table.events("/move", network=network)
    assert "there is no network" in event["error"]


def test_a_game_is_read_and_written(table: Table) -> None:
    facts = table.ask("/read", text="1. f3 e5 2. g4 Qh4#").json()
    assert facts["outcome"] == {"result": "0-1", "reason": "checkmate", "can_go_on": False}
    moves = [ply["uci"] for ply in facts["plies"][1:]]
    pgn = table.ask("/pgn", moves=moves, white="You", black="n", date="2026.11.21").json()["pgn"]
    for line in ('[White "You"]', '[Date "2026.11.21"]', '[Result "0-1"]', "2. g4 Qh4# 0-1"):
        assert line in pgn
    resigned = table.ask("/pgn", moves=["e2e4"], result="1-0", termination="resignation").json()
    assert '[Termination "resignation"]' in resigned["pgn"]
    assert resigned["pgn"].rstrip().endswith("1. e4 1-0")


@pytest.mark.thorough
def test_spikes_of_places_left_behind_are_not_waited_for(table: Table) -> None:
    """A browser hangs up at each arrow key, while the process may still be starting: these requests
    are the first for their network."""
    asked = {"network": "run/lif"}
    for patience in (0.02, 0.05) * MOST_REQUESTS:
        with suppress(httpx.TimeoutException):
            table.ask("/spikes", timeout=patience, **asked, moves=["e2e4"])
    seen = table.ask("/spikes", **asked)
    assert seen.status_code == 200
    assert {move["uci"][1] for move in seen.json()["policy"]} <= {"1", "2"}, "not a late answer"
    first = table.running["run/lif"]
    for patience in (0.001, 0.003, 0.01) * MOST_REQUESTS:
        with suppress(httpx.TimeoutException):
            table.ask("/spikes", timeout=patience, **asked, moves=["e2e4"])
    assert table.ask("/spikes", **asked).json() == seen.json()
    assert table.running["run/lif"] == first, "it is one process all the time"


def test_the_engine_moves_by_its_strength(table: Table) -> None:
    for strength in ({"sims": 16}, {"sims": 256}, {"elo": 700}):
        *_, event = table.events("/move", network="material", start=BACK_RANK, **strength)
        assert event["game"]["plies"][-1]["san"] == "Ra8#"
        assert event["game"]["outcome"]["result"] == "1-0"
    (event,) = table.events("/move", network="material", moves=MATED)
    assert event == {"error": "the game is over: there is no legal move"}
    *_, event = table.events("/move", network="material", moves=["e2e4"], sims=64)
    assert event["line"]["sims"] == 64
    assert sum(event["line"][name] for name in ("win", "draw", "loss")) == pytest.approx(1)


@pytest.mark.parametrize(
    ("network", "elo", "sims"),
    [("default", 1250, 16), ("default", 1600, 16), ("default", 1980, 64), ("material", 700, 300)],
)
def test_a_rating_is_played_with_its_simulations(
    table: Table, network: str, elo: int, sims: int
) -> None:
    """What docs/uci.md promises; an engine that analyses would search at full strength."""
    *_, event = table.events("/move", network=network, moves=["e2e4"], elo=elo)
    assert event["line"]["sims"] == pytest.approx(sims, rel=0.1)


def test_the_policy_alone_plays_what_the_neurons_say(table: Table) -> None:
    place = {"network": "run/lif", "moves": ["d2d4"]}
    seen = table.ask("/spikes", **place).json()
    *_, event = table.events("/move", sims=0, **place)
    assert event["game"]["plies"][-1]["uci"] == seen["policy"][0]["uci"]


def test_the_engine_gives_way_to_everything_else(table: Table) -> None:
    table.events("/move", network="material", start=BACK_RANK, sims=16)
    pid = table.running["material"]
    assert os.getpriority(os.PRIO_PROCESS, pid) == NICENESS
    for thread in Path(f"/proc/{pid}/task").iterdir():
        assert os.getpriority(os.PRIO_PROCESS, int(thread.name)) == NICENESS


def test_an_analysis_tells_lines_and_then_that_it_is_done(table: Table) -> None:
    events = table.events("/analyse", network="run/lif", moves=["e2e4"], sims=500)
    assert events[-1] == {"state": "done"}
    lines = events[-2]["lines"]
    assert len(lines) == 3
    assert len({line["uci"] for line in lines}) == 3
    assert lines[0]["sims"] == 500
    best = table.events("/analyse", network="material", start=BACK_RANK, sims=500)[-2]["lines"][0]
    assert (best["san"], best["mate"], best["win"]) == (["Ra8#"], 1, 1.0)
    black = BACK_RANK.replace(" w ", " b ").replace("R3K3", "r3k3").replace("6k1", "6K1")
    mirrored = table.events("/analyse", network="material", start=black, sims=500)[-2]["lines"][0]
    assert mirrored["loss"] > 0.8, "chances are White's"


@pytest.mark.parametrize("moves", [["e2e4"], ["e2e4", "e7e5", "g1f3"], ["e2e4", "e7e5"]])
def test_spikes_are_the_networks_own(table: Table, moves: list[str]) -> None:
    net = load_net(table.nets["run/lif"])
    expected = SpikeTracer(net).look(request_at(position_reached(STARTPOS, moves), num_planes()))
    seen = table.ask("/spikes", network="run/lif", moves=moves).json()
    assert (seen["steps"], seen["time_steps"], seen["line"]) == (expected.steps, 4, "")
    black = len(moves) % 2 == 1
    turned = np.arange(64) ^ (56 if black else 0)
    for layer, own in zip(seen["layers"], expected.layers, strict=True):
        assert (layer["name"], layer["channels"]) == (own.name, own.channels)
        assert np.array_equal(np.array(layer["squares"])[:, turned], own.counts)
        assert np.allclose(layer["shares"], own.shares, atol=1e-4)
    for value, outlook in zip(seen["values"], expected.outlooks.tolist(), strict=True):
        white = outlook[::-1] if black else outlook
        assert [value["win"], value["draw"], value["loss"]] == pytest.approx(white, abs=1e-4)
    shares = sorted(expected.policies[expected.steps - 1].tolist(), reverse=True)[:5]
    assert [move["share"] for move in seen["policy"]] == pytest.approx(shares, abs=1e-4)


@pytest.mark.thorough
def test_networks_without_spikes_say_so(table: Table) -> None:
    seen = table.ask("/spikes", network="run/relu").json()
    assert "ReLU" in seen["line"]
    assert (seen["layers"], len(seen["values"]), len(seen["policy"])) == ([], 1, 5)
    seen = table.ask("/spikes", network="material").json()
    assert "has no neurons" in seen["line"]
    assert seen["policy"] == []


@pytest.mark.thorough
@pytest.mark.slow
def test_a_module_of_the_user_plays(table: Table) -> None:
    event = table.events("/move", network=MODULE, sims=0)[-1]
    assert len(event["game"]["plies"]) == 2, event
    seen = table.ask("/spikes", network=MODULE).json()
    assert "module of your own" in seen["line"]
    assert seen["layers"] == []


@pytest.mark.thorough
def test_a_dead_engine_is_one_line_and_the_game_goes_on(table: Table) -> None:
    place = {"network": "material", "start": BACK_RANK, "sims": 16}
    table.events("/move", **place)
    engine = table.running["material"]
    os.kill(engine, signal.SIGKILL)
    assert is_gone(engine)
    first = table.events("/move", **place)[-1]
    if "error" in first:  # its end had not been noticed yet
        assert "engine ended" in first["error"]
        first = table.events("/move", **place)[-1]
    assert first["game"]["plies"][-1]["san"] == "Ra8#"


@pytest.mark.thorough
def test_an_engine_that_cannot_start_says_why(table: Table) -> None:
    broken = table.nets["run/lif"].with_name("broken.safetensors")
    broken.write_bytes(b"no network")
    table.nets["run/broken"] = broken
    try:
        answer = table.ask("/spikes", network="run/broken")
        assert answer.status_code == 400
        assert "safetensors" in answer.json()["error"]
        broken.unlink()
        event = table.events("/move", network="run/broken")[-1]
        assert "there is no network file" in event["error"]
    finally:
        del table.nets["run/broken"]


@pytest.mark.thorough
def test_requests_for_work_are_limited(table: Table) -> None:
    seats = [table.service.request_slot() for _ in range(MOST_REQUESTS)]
    for seat in seats:
        seat.__enter__()
    try:
        answer = table.ask("/spikes", network="run/lif")
        assert answer.status_code == 503
        assert "try again" in answer.json()["error"]
        assert table.ask("/position").status_code == 200
    finally:
        for seat in seats:
            seat.__exit__(None, None, None)
    assert table.ask("/spikes", network="run/lif").status_code == 200


def test_spikes_are_shown_during_an_analysis(table: Table) -> None:
    asked = {"network": "run/lif", "moves": ["e2e4"]}
    expected, running = table.ask("/spikes", **asked).json(), table.running
    with table.analysis(**asked, sims=20_000) as said:
        next(line for line in said if "thinking" in line)
        assert table.ask("/spikes", **asked).json() == expected
        assert "thinking" in next(line for line in said if line)
    assert table.running == running


def test_whoever_asks_may_go_away_at_any_time(table: Table) -> None:
    place = {"network": "material", "start": STARTPOS}
    table.events("/move", **place, sims=1)
    pids = {table.running["material"]}
    for turn in range(6):
        asked = place | {"sims": 1000, "moves": ["e2e4", "e7e5"][: turn % 3]}
        path = "/move" if turn % 4 == 3 else "/analyse"
        with table.client.stream("POST", f"/api/play{path}", json=asked) as answer:
            said = answer.iter_lines()
            for _ in range(turn % 5):
                next(said, "")
        pids |= {table.running["material"]}
    *_, event = table.events("/move", **place | {"start": BACK_RANK, "sims": 16})
    assert event["game"]["plies"][-1]["san"] == "Ra8#"
    assert pids == {table.running["material"]}, "it is one engine all the time"


def test_idle_processes_end_and_hanging_up_stops_an_analysis(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine is not idle while it searches, and nobody but the one who asks ends the search."""
    monkeypatch.setattr(table.service.engines, "_idle_s", 0.2)
    asked = {"network": "material", "sims": 20_000, "moves": ["e2e4"]}
    with table.analysis(**asked) as said:
        thinking = (line for line in said if "thinking" in line)
        next(thinking)
        engine = table.running["material"]
        sleep(0.3)
        next(thinking)
    assert is_gone(engine)
    assert "material" not in table.running


def test_strengths() -> None:
    assert PlayStrength(0).limit.nodes == 1
    assert "UCI_Elo" not in PlayStrength(16).options
    assert PlayStrength(0, 900).options["UCI_Elo"] == 900
    assert PlayStrength(0, 900).limit.nodes is None
