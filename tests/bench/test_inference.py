"""``vecchess bench inference``, and beside other libraries; speeds are never asserted."""

from pathlib import Path

import pytest
from bench.peers import open_peers, race

from tests.bench.nets import small_net
from tests.nets import FOUR_STEPS
from tests.system.commands import inside, last_json
from vecchess.config.bench_settings import InferenceBench
from vecchess.errors import VecchessError
from vecchess.snn.integer.net_file import save_net

SHORT = ["--gpus", "cpu", "--slots", 8, "--positions", 16, "--seconds", 0.5, "--threads", 1]
OWN = {"fixed_T", "slots_fixed_T", "continuous"}
ROW = {"name", "positions_per_s", "mean_time_steps", "ratio_to_fixed"}
PEERS = {"snntorch", "snntorch_compiled", "spikingjelly"}


def test_without_a_twin() -> None:
    done = inside("bench", "inference", "--net", FOUR_STEPS, *SHORT, "--no-twin", "--json")
    facts = last_json(done)
    keys = "schema device net slots backends ratios engine_overhead cores_used"
    assert set(keys.split()) <= set(facts)
    ran = [row for row in facts["backends"] if row["positions_per_s"]]
    assert {row["name"] for row in ran} >= OWN
    assert all(set(row) >= ROW and row["agrees"] == "bits" for row in ran)
    assert {name for name, ratio in facts["ratios"].items() if ratio} == {"fixed_T"}
    assert set(facts["ratios"]) == {"fixed_T", "relu_twin"}
    assert "positions/s" in done.stderr  # stdout has the object alone


@pytest.mark.slow
def test_with_peers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def too_slow_for_a_test(*_: object) -> None:
        raise VecchessError("left out here")

    monkeypatch.setattr(open_peers, "_compiled", too_slow_for_a_test)
    file = tmp_path / "net.safetensors"
    save_net(small_net(), file)
    config = InferenceBench(
        net=str(file), gpus="cpu", slots=8, positions=16, threads=1, seconds=0.5
    )
    facts = race.run(config)
    rows = {row["name"]: row for row in facts["backends"]}
    assert set(rows) >= OWN | PEERS | {"relu_twin"}
    assert set(rows["spikingjelly"]) >= {*ROW, "share_of_roofline"}
    assert rows["snntorch"]["agrees"] == "bits"
    assert facts["ratios"]["snntorch"] > 0
    assert facts["ratios"]["snntorch_compiled"] is None
    assert rows["snntorch_compiled"]["reason"] == "left out here"
    assert rows["relu_twin"]["agrees"] == "bits"
    assert facts["ratios"]["relu_twin"] > 0
    assert facts["energy_proxy_nj"]["relu_twin"] > 0
    assert all(0 <= rate <= 1 for rate in facts["spike_rates"].values())
    assert len(facts["exit_patterns"]) == 6


BAD = [
    (["--net", "no-such-net"], "no-such-net"),
    (["--gpus", "9"], "--gpus 9"),
    (["--gpus", "cpu:2"], "one device"),
    (["--gpus", "cpu", "--backend", "abacus"], "abacus"),
    (["--gpus", "cpu", "--slots", "8", "--positions", "4"], "--positions 4"),
    (["--cores", "4096"], "4096"),
    (["--seconds", "0"], "seconds"),
    (["--slots", "-1"], "slots"),
]


@pytest.mark.parametrize(("flags", "part"), BAD, ids=lambda value: str(value)[:40])
def test_bad_flags_get_one_line(flags: list[str], part: str) -> None:
    done = inside("bench", "inference", *flags)
    assert done.returncode == 2
    assert done.stdout == ""
    assert part in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
