"""What Prometheus gets to read."""

import json
import re
import socket
import threading
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from vecchess.errors import ConfigError
from vecchess.ports import port_server
from vecchess.ports.prometheus import (
    GAUGES,
    GPU_GAUGES,
    LEARNING_GAUGES,
    STATES,
    families,
    metrics_app,
    metrics_endpoint,
)
from vecchess.selfplay.supervisor.worker_throughput import Throughput

WORKER = {
    "index": 1,
    "device": "gpu 1",
    "saving_age_s": 12.5,
    "load": Throughput(plies_per_s=3.5, queue_age_p99_ms=20).to_dict(),
}
CONFIGS = Path(__file__).parents[2] / "configs"
GPU = {"util": 0.9, "memory_mb": 12.0, "name": "H200"}
FACTS: dict[str, Any] = {
    "state": "playing", "games": 12, "target": 64, "iteration": 2, "restarts": 1,
    "blocks_checked": 3, "unwritten_games": 5, "memory_bytes": 3 << 30, "disk_free_bytes": 7 << 30,
    "learning": {"loss": 2.5}, "workers": [WORKER, WORKER | {"index": 2, "gpu": GPU}],
}  # fmt: skip


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def asked(port: int) -> dict[str, dict[str, float]]:
    """Values by metric and labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
        text = answer.read().decode()
    return {
        family.name: {labels_of(sample.labels): sample.value for sample in family.samples}
        for family in text_string_to_metric_families(text)
    }


def labels_of(labels: dict[str, str]) -> str:
    """Worker and device, or the state."""
    return " ".join(labels[name] for name in ("worker", "device", "state") if name in labels)


def test_what_it_tells() -> None:
    facts = dict(FACTS)
    port = free_port()
    with metrics_endpoint("127.0.0.1", port, lambda: facts):
        told = asked(port)
        assert told["vecchess_games_finished"] == {"": 12}
        assert told["vecchess_state"]["playing"] == 1
        assert sum(told["vecchess_state"].values()) == 1
        assert told["vecchess_plies_per_second"] == {"1 gpu 1": 3.5, "2 gpu 1": 3.5}
        assert told["vecchess_queue_age_p99_seconds"]["1 gpu 1"] == 0.02
        assert told["vecchess_gpu_utilization_ratio"] == {"2 gpu 1": 0.9}
        assert told["vecchess_gpu_memory_bytes"] == {"2 gpu 1": 12e6}
        assert told["vecchess_train_loss"] == {"": 2.5}
        assert told["vecchess_blocks_checked"] == {"": 3}
        assert told["vecchess_unwritten_games"] == {"": 5}
        assert told["vecchess_memory_bytes"] == {"": 3 << 30}
        assert told["vecchess_disk_free_bytes"] == {"": 7 << 30}
        assert told["vecchess_saving_age_seconds"]["2 gpu 1"] == 12.5
        facts["games"] = 13
        assert asked(port)["vecchess_games_finished"] == {"": 13}
    with pytest.raises(OSError, match="refused"):
        asked(port)


def test_who_may_ask_for_what() -> None:
    """The rules of the dashboard's port: names of this machine, reading, one health."""
    facts = dict(FACTS)
    client = TestClient(metrics_app(lambda: facts), base_url="http://127.0.0.1:9109")
    assert client.get("/metrics", headers={"host": "evil.example"}).status_code == 403
    assert client.post("/metrics").status_code == 405
    assert client.get("/else").status_code == 404
    assert client.get("/").text == client.get("/metrics").text
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"state": "playing"})
    facts["state"] = "failed"
    assert client.get("/healthz").status_code == 503
    wide = TestClient(metrics_app(lambda: facts, any_host=True), base_url="http://node7:9109")
    assert wide.get("/metrics").status_code == 200


def test_every_alert_is_about_metrics_that_are_served() -> None:
    yaml = pytest.importorskip("yaml", reason="comes with the documentation's tools")
    served = {family.name for family in families(FACTS)}
    (group,) = yaml.safe_load((CONFIGS / "prometheus-alerts.yml").read_text())["groups"]
    named = {rule["alert"]: rule["expr"] for rule in group["rules"]}
    assert len(named) == len(group["rules"]) == 7
    for rule in group["rules"]:
        assert rule.keys() <= {"alert", "expr", "for", "annotations"}
        assert re.fullmatch(r"\d+m", rule.get("for", "0m"))
        assert rule["annotations"]["summary"]
        metrics = set(re.findall(r"vecchess_\w+", rule["expr"]))
        assert metrics <= served, rule["alert"]
        assert metrics or rule["expr"].startswith("up{")
    states = re.findall(r'state="(\w+)"', " ".join(named.values()))
    assert set(states) <= set(STATES)


def test_the_dashboard_of_grafana_shows_what_is_served_and_all_of_it() -> None:
    learning = dict.fromkeys(LEARNING_GAUGES, 1.0)
    worker = WORKER | {"load": dict.fromkeys(GAUGES, 1.0), "gpu": dict.fromkeys(GPU_GAUGES, 1.0)}
    served = {f.name for f in families(FACTS | {"learning": learning, "workers": [worker]})}
    board = json.loads((CONFIGS / "grafana-dashboard.json").read_text())
    panels = board["panels"]
    shown = [target["expr"] for panel in panels for target in panel["targets"]]
    assert set(re.findall(r"vecchess_\w+", " ".join(shown))) == served
    assert all('{instance=~"$run"}' in expression for expression in shown)
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [tuple(panel["gridPos"][side] for side in "xywh") for panel in panels]
    cells = [(x + i, y + j) for x, y, w, h in places for i in range(w) for j in range(h)]
    assert len(set(cells)) == len(cells), "panels lie above each other"
    assert max(x for x, _ in cells) < 24
    variables = {one["name"]: one for one in board["templating"]["list"]}
    assert set(variables) == {"source", "run"}
    assert variables["run"]["query"] == "label_values(vecchess_state, instance)"


def test_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(ConfigError, match=f"--metrics-port {port}: cannot listen"),
            metrics_endpoint("127.0.0.1", port, lambda: FACTS),
        ):
            pass


def test_no_port_no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """No server is started, no thread runs, and the status is not read."""
    monkeypatch.setattr(port_server, "served_in_thread", lambda *_: pytest.fail("a server"))
    threads = threading.active_count()
    with metrics_endpoint("127.0.0.1", 0, lambda: pytest.fail("the status was read")):
        assert threading.active_count() == threads


def test_with_a_port_there_is_a_thread() -> None:
    """Or the test above could not fail."""
    threads = threading.active_count()
    with metrics_endpoint("127.0.0.1", free_port(), lambda: FACTS):
        assert threading.active_count() > threads
    assert threading.active_count() == threads
