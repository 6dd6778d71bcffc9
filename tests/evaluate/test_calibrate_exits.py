"""Calibration of a network file: what is stored where, and what is refused."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tests.nets import FOUR_STEPS
from tests.selfplay.playing import play
from vecchess.chess.planes import NUM_PLANES
from vecchess.config import GameConfig
from vecchess.errors import ConfigError, DataError, VecchessError
from vecchess.evaluate.calibrate_exits import CalibrationPlan, calibrate, policy_targets
from vecchess.inference.backend_registry import open_backend
from vecchess.inference.tune.step_traces import StepTraces
from vecchess.selfplay.worker.networks import store_net
from vecchess.snn.create import InputSettings, create_network
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet
from vecchess.snn.integer.net_file import load_net, save_net
from vecchess.store.records import GameRecords
from vecchess.store.replay_positions import ReplayedPositions, replay_positions
from vecchess.store.run_folder import RunFolder
from vecchess.store.shard import write_shard


@pytest.fixture(scope="module")
def network() -> IntegerNet:
    return create_network(FOUR_STEPS, 0, InputSettings(tactical=False))


@pytest.fixture(scope="module")
def games(network: IntegerNet) -> GameRecords:
    backend = open_backend("cpu", network, 16, ExitRule.never())
    return play(GameConfig(max_plies=24, random_plies=4), 12, backend, seats=32)


@pytest.fixture
def folder(tmp_path: Path, network: IntegerNet, games: GameRecords) -> Path:
    save_net(network, tmp_path / "net.safetensors")
    write_shard(tmp_path / "games.npz", games)
    return tmp_path


def run(folder: Path, net: str = "net.safetensors", **changes: object) -> dict:
    plan = replace(CalibrationPlan(games=(folder / "games.npz",)), **changes)
    return calibrate(folder / net, plan, Console(file=StringIO()), {"gpus": "cpu"})


@pytest.mark.thorough
def test_rule_and_measurements_are_stored_in_place(folder: Path, network: IntegerNet) -> None:
    facts = run(folder, nats_per_doubling=0.1)
    stored = load_net(folder / "net.safetensors")
    assert stored.sha256 == facts["sha256"] != network.sha256 == facts["sha256_before"]
    assert stored.exit_rule == facts["rule"]
    calibration = stored.calibration
    assert calibration is not None
    assert len(calibration["curve"]) == stored.config.time_steps
    assert calibration["positions"] == 12 * 20
    assert calibration["games"] == 12
    assert (calibration["target"], calibration["positions_searched"]) == ("played", 0)
    assert calibration["positions_holdout"] == 120
    assert calibration["nats_per_doubling"] == 0.1
    for half in ("fit", "holdout"):
        assert calibration[half]["mean_time_steps"] < 4
    assert replace(stored, calibration=None).sha256 == stored.sha256
    again = run(folder, nats_per_doubling=0.1)
    assert again["sha256"] == facts["sha256"]
    assert again["rule_before"] == facts["rule"]


def with_targets(games: GameRecords, plies: np.ndarray) -> tuple[GameRecords, ReplayedPositions]:
    """The games as if ``plies`` had been searched: the more weight, the later generated."""
    every = replay_positions(games, np.arange(len(games.action)))
    counts = np.zeros(len(games.action), np.int64)
    counts[plies] = every.requests.num_legal[plies]
    rows = [every.requests.legal[ply, : counts[ply]] for ply in plies]
    weights = [np.arange(1, len(row) + 1) * 10 for row in rows]
    orders = [np.argsort(row) for row in rows]
    searched = replace(
        games,
        visits=(counts > 0).astype(np.uint32),
        target_offsets=np.concatenate([[0], np.cumsum(counts)]),
        target_action=np.concatenate([r[o] for r, o in zip(rows, orders, strict=True)]),
        target_prob=np.concatenate([w[o] for w, o in zip(weights, orders, strict=True)]).astype(
            np.uint16
        ),
    )
    searched.validate()
    return searched, every


def traces_of(sample: ReplayedPositions) -> StepTraces:
    num_legal = sample.requests.num_legal
    policy = np.zeros((1, len(num_legal), num_legal.max()), np.int32)
    return StepTraces(policy, np.zeros((1, len(num_legal), 3), np.int32), num_legal)


def test_targets_are_the_searchs_where_there_was_one(games: GameRecords) -> None:
    plies = np.flatnonzero(np.arange(len(games.action)) % 3 == 1)
    searched, every = with_targets(games, plies)
    target = policy_targets(searched, every, traces_of(every))
    assert np.allclose(target.sum(axis=1), 1.0)
    for row, count in enumerate(every.requests.num_legal):
        if row in plies:
            rising = np.arange(1, count + 1, dtype=np.float64)
            assert np.allclose(target[row, :count], rising / rising.sum())
        else:
            assert target[row, every.played[row]] == 1.0


@pytest.mark.parametrize(("action", "weight"), [(4671, 1), (None, 0)])
def test_targets_that_do_not_fit_are_named(
    games: GameRecords, action: int | None, weight: int
) -> None:
    ply = int(games.offsets[1]) + 5
    searched, every = with_targets(games, np.array([ply]))
    if action is not None:
        searched.target_action[-1] = action
    searched.target_prob[:] *= weight
    with pytest.raises(DataError, match="game 1, ply 5: the recorded target does not fit"):
        policy_targets(searched, every, traces_of(every))


@pytest.mark.thorough
def test_the_kind_of_target_is_stored(folder: Path, games: GameRecords) -> None:
    asked = np.flatnonzero(games.steps > 0)
    for plies, kind in ((asked, "search"), (asked[::2], "mixed")):
        searched, _ = with_targets(games, plies)
        write_shard(folder / "games.npz", searched)
        facts = run(folder, out=folder / f"{kind}.safetensors")
        assert (facts["target"], facts["positions_searched"]) == (kind, len(plies))
        searched_only = replace(searched, steps=np.zeros_like(games.steps))
        write_shard(folder / "games.npz", searched_only)  # every root's own answer was known
        facts = run(folder, out=folder / f"{kind} only.safetensors")
        assert (facts["target"], facts["positions"]) == ("search", len(plies))


def test_out_leaves_the_network_alone(folder: Path, network: IntegerNet) -> None:
    before = (folder / "net.safetensors").read_bytes()
    run(folder, out=folder / "other.safetensors", positions=100)
    assert (folder / "net.safetensors").read_bytes() == before
    calibration = load_net(folder / "other.safetensors").calibration
    assert calibration is not None
    assert calibration["positions"] == 100
    with pytest.raises(ConfigError, match="is there already"):
        run(folder, out=folder / "other.safetensors")
    with pytest.raises(ConfigError, match="no folder"):
        run(folder, out=folder / "nowhere" / "net.safetensors")


def test_steps_that_cost_nothing_are_all_taken(folder: Path) -> None:
    facts = run(folder, nats_per_doubling=-1.0)
    assert ExitRule.from_metadata(facts["rule"]) == ExitRule.never()
    assert facts["holdout"]["mean_time_steps"] == 4


def test_a_file_named_by_its_hash_is_not_rewritten(folder: Path, network: IntegerNet) -> None:
    kept = RunFolder(folder / "run")
    kept.create()
    file = store_net(network, kept)
    link = folder / "link.safetensors"
    link.symlink_to(file)
    for name in (f"run/nets/{file.name}", "link.safetensors"):
        with pytest.raises(ConfigError, match="--out"):
            run(folder, name)
    assert load_net(file).sha256 == network.sha256
    assert run(folder, f"run/nets/{file.name}", out=folder / "out.safetensors")["sha256"]


@pytest.mark.parametrize("place", ["nets/x-s20-d64.safetensors", "inputs/net/mine.safetensors"])
def test_what_a_run_keeps_is_not_rewritten(place: str, folder: Path, network: IntegerNet) -> None:
    file = folder / "run" / place
    file.parent.mkdir(parents=True)
    save_net(network, file)
    (folder / "run" / "config.toml").touch()
    (folder / "link.safetensors").symlink_to(file)
    for name in (f"run/{place}", "link.safetensors"):
        with pytest.raises(ConfigError, match=r"is kept by the run .*/run, .*: add --out FILE$"):
            run(folder, name, positions=100)
    assert load_net(file).sha256 == network.sha256
    assert run(folder, f"run/{place}", out=folder / "out.safetensors", positions=100)["sha256"]


def test_games_are_played_where_none_are_given(folder: Path, network: IntegerNet) -> None:
    said = StringIO()
    facts = calibrate(
        folder / "net.safetensors",
        CalibrationPlan(play=2, positions=300),
        Console(file=said),
        {"gpus": "cpu"},
    )
    assert "playing 2" in said.getvalue()
    assert "rough" in said.getvalue()
    assert facts["games"] == 2
    assert facts["played_by"] == [network.sha256[:16]]


@pytest.mark.thorough
def test_places_games_may_be_in(folder: Path, games: GameRecords) -> None:
    shards = folder / "shards"
    shards.mkdir()
    for index in range(3):
        write_shard(shards / f"{index}.npz", games.take(np.arange(4 * index, 4 * index + 4)))
    together = run(folder, games=(shards,))
    assert run(folder, games=tuple(sorted(shards.iterdir())))["fit"] == together["fit"]
    assert together["games"] == 12


def test_what_cannot_be_used_is_named_and_harms_nothing(folder: Path, games: GameRecords) -> None:
    (folder / "empty").mkdir()
    (folder / "broken.npz").write_bytes(b"no shard")
    write_shard(folder / "one.npz", games.take(np.arange(1)))
    write_shard(folder / "unasked.npz", replace(games, steps=np.zeros_like(games.steps)))
    before = (folder / "net.safetensors").read_bytes()
    for place, part in (
        ("empty", "neither a run"),
        ("nowhere", "nowhere"),
        ("broken.npz", "broken.npz"),
        ("one.npz", "two games"),
        ("unasked.npz", "two games"),
    ):
        with pytest.raises(ConfigError, match=part) as caught:
            run(folder, games=(folder / place,))
        assert "\n" not in str(caught.value)
    assert (folder / "net.safetensors").read_bytes() == before


def test_a_network_for_other_planes_is_refused(folder: Path, network: IntegerNet) -> None:
    stem = network.layers["stem"]
    weight = np.ascontiguousarray(stem.weight[:, : 9 * (NUM_PLANES - 1)])
    narrow = replace(
        network,
        config=network.config.model_copy(update={"num_planes": NUM_PLANES - 1}),
        layers=network.layers | {"stem": replace(stem, weight=weight)},
    )
    save_net(narrow, folder / "narrow.safetensors")
    with pytest.raises(VecchessError, match="input planes"):
        run(folder, "narrow.safetensors")
