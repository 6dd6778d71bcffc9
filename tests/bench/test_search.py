"""``bench search``, in small."""

import json

import pytest

from tests.nets import FOUR_STEPS
from vecchess.bench import search
from vecchess.config.bench_settings import SearchBench
from vecchess.errors import ConfigError

SETTINGS = {"games": 8, "sims": 6, "seconds": 0.03, "gpus": "cpu"}
ROW = {
    "simulations_per_s", "moves_per_s", "evals_per_s", "nodes", "edges_per_node", "mean_depth",
    "terminals", "cache_hit_rate", "device_busy", "machinery", "bytes_per_node", "node_bytes",
    "edge_bytes", "bytes_touched", "bytes_reserved",
}  # fmt: skip


@pytest.mark.parametrize("kind", ["gumbel", "puct"])
def test_search_with_what_takes_no_time(kind: str) -> None:
    facts = search.run(SearchBench(search=kind, **SETTINGS))
    rows = [facts, facts["without_cache"], facts["material"]]
    assert json.loads(json.dumps(facts)) == facts
    assert (facts["schema"], facts["search"], facts["slots"]) == (1, kind, 8)
    for row in rows:
        assert row.keys() >= ROW
        assert row["simulations_per_s"] > row["moves_per_s"] > 0
        assert 3 < row["nodes"] <= 7  # the root, its simulations; fewer where there is a mate
        assert row["bytes_per_node"] > row["node_bytes"] + row["edges_per_node"] * row["edge_bytes"]
        assert row["bytes_touched"] <= row["bytes_reserved"]
        assert row["device_busy"] + row["machinery"] == pytest.approx(1.0, abs=2e-4)
    assert facts["without_cache"]["cache_hit_rate"] == 0


def test_search_with_a_network() -> None:
    settings = SETTINGS | {"net": FOUR_STEPS, "backend": "reference", "cache_mb": 0, "lanes": 2}
    facts = search.run(SearchBench(**settings))
    assert facts["device"] == "cpu"
    assert 0 < facts["device_busy"] <= 1
    assert not {"material", "without_cache"} & facts.keys()


def test_search_takes_one_device() -> None:
    with pytest.raises(ConfigError, match="one device"):
        search.run(SearchBench(net="tiny", gpus="cpu:2"))
