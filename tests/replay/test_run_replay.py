"""Recorded games played again: the same bits by any means, and every forgery is found out."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.nets import FOUR_STEPS
from tests.replay.runs import DRAWN, GUMBEL, PUCT, new_run, played, record, run_of, tiny
from tests.store.games import made_up
from vecchess.config import SelfplayConfig
from vecchess.errors import ConfigError, DataError, NetworkError, VecchessError
from vecchess.evaluate.calibrate_exits import play_here
from vecchess.replay import replayer
from vecchess.replay.run_replay import replay_game, verify_games
from vecchess.runtime import devices
from vecchess.selfplay.worker.networks import store_net
from vecchess.snn.create import create_network
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.store import run_pins
from vecchess.store.manifest import Manifest, ShardEntry
from vecchess.store.records import (
    VALUE_UNIT,
    GameRecords,
    empty_fingerprint_columns,
    span_columns,
)
from vecchess.store.replay_positions import replay_positions
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_pins import GAMES_VERSION, PlayedBy
from vecchess.store.shard import write_shard

CPU = {"gpus": "cpu"}
GAMES = 12


def verify(
    run: RunFolder, count: int = 1000, means: Mapping[str, Any] = CPU, seed: int = 0
) -> dict[str, Any]:
    return verify_games(run.path, count, seed, means, pytest.fail, lambda tally: None)


def replayed(run: RunFolder, number: int) -> dict[str, Any]:
    return replay_game(run.path, number, CPU, pytest.fail)


@pytest.mark.thorough
@pytest.mark.parametrize("settings", [DRAWN, GUMBEL, PUCT], ids=["drawn", "gumbel", "puct"])
def test_the_same_games_by_other_means(tmp_path: Path, settings: dict[str, Any]) -> None:
    run = run_of(tmp_path / "run", settings, GAMES, shards=3)
    for means in (
        {"gpus": "cpu", "slots": 3, "movers": 2, "threads": 2},
        {"gpus": "cpu", "slots": 50, "movers": 5},
    ):
        facts = verify(run, means=means)
        assert (facts["games"], facts["identical"], facts["hashes_unknown"]) == (GAMES, GAMES, 0)
        assert facts["plies"] == len(run.records().action)


@pytest.mark.parametrize("settings", [DRAWN, GUMBEL], ids=["drawn", "gumbel"])
def test_the_same_games_by_the_reference(tmp_path: Path, settings: dict[str, Any]) -> None:
    short = settings | {"game": {"max_plies": 6}}
    run = run_of(tmp_path / "run", short, 4)
    assert verify(run, means={"gpus": "cpu", "backend": "reference"})["identical"] == 4


def test_built_in_networks(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run", DRAWN)
    config = SelfplayConfig.model_validate(DRAWN | {"net": "material", "seed": 5})
    record(run, play_here(config, devices.CPU, 5))
    assert verify(run)["networks"] == {"material": 5}


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run whose games are written by the test, of networks that it keeps."""
    return new_run(tmp_path / "run", DRAWN)


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> GameRecords:
    return played(new_run(tmp_path_factory.mktemp("runs") / "run", DRAWN), DRAWN, tiny(), 6)


def forged(run: RunFolder, records: GameRecords, column: str, place: int, value: Any) -> None:
    """Record the games with one value changed."""
    store_net(tiny(), run)
    values = getattr(records, column).copy()
    assert values[place] != value
    values[place] = value
    record(run, replace(records, **{column: values}))


def test_one_game_and_its_moves(run: RunFolder, genuine: GameRecords) -> None:
    store_net(tiny(), run)
    record(run, genuine)
    facts = replayed(run, 2)
    assert (facts["identical"], facts["hashes_known"], facts["difference"]) == (True, True, None)
    plies = facts["plies"]
    assert len(plies) == genuine.lengths[2]
    assert [ply["value"] is None for ply in plies[:6]] == [True] * 4 + [False] * 2
    at = genuine.offsets[2] + 5
    score = (genuine.win[at] + genuine.draw[at] / 2) / VALUE_UNIT
    assert plies[5]["value"] == pytest.approx(score, abs=1e-4)
    assert plies[5]["time_steps"] == genuine.steps[at]
    assert plies[0]["san"].startswith("1. ")
    assert plies[1]["san"].startswith("1... ")


@pytest.mark.parametrize("code", ["another move", "illegal"])
def test_a_changed_move_is_found_out(run: RunFolder, genuine: GameRecords, code: str) -> None:
    at = int(genuine.offsets[3]) + 9
    legal = {"another move": 1, "illegal": 0}[code]
    forged(run, genuine, "action", at, _other_action(genuine, at, legal))
    facts = replayed(run, 3)
    assert not facts["identical"]
    difference = facts["difference"]
    assert (difference["game"], difference["ply"]) == (3, 9)
    assert difference["changes"][0]["what"] == "action"
    assert ("illegal" in difference["move_recorded"]) == (code != "another move")
    assert difference["move_now"].startswith("5... ")
    assert [ply["same"] for ply in facts["plies"]] == [True] * 9 + [False]
    assert verify(run)["differences"] == [difference]


def _other_action(records: GameRecords, at: int, legal: int) -> int:
    """An action that was not played at that ply, and that is legal there, or not."""
    asked = replay_positions(records, np.array([at])).requests
    actions = asked.legal[0, : asked.num_legal[0]].tolist()
    candidates = actions if legal else [code for code in range(4672) if code not in actions]
    return next(code for code in candidates if code != records.action[at])


@pytest.mark.parametrize("column", ["tag", "win", "prob", "steps"])
def test_one_changed_value_is_found_out(run: RunFolder, genuine: GameRecords, column: str) -> None:
    at = int(genuine.offsets[1]) + 7
    value = getattr(genuine, column)[at]
    forged(run, genuine, column, at, value / 2 if column == "prob" else value + 1)
    difference = replayed(run, 1)["difference"]
    assert (difference["ply"], [c["what"] for c in difference["changes"]]) == (7, [column])
    assert difference["move_recorded"] == difference["move_now"]
    facts = verify(run)
    assert (facts["identical"], facts["different"]) == (5, 1)


def test_a_changed_fingerprint_is_found_out(run: RunFolder, genuine: GameRecords) -> None:
    forged(run, genuine, "fingerprint", 4, 77)
    difference = replayed(run, 4)["difference"]
    assert difference["ply"] is None
    assert difference["changes"][0]["what"] == "fingerprint"
    assert difference["changes"][0]["recorded"] == f"{77:016x}"


def almost(net: IntegerNet) -> IntegerNet:
    """The same network but for the smallest step of one bias of the policy."""
    name = next(name for name in net.layers if "policy" in name)
    bias = net.layers[name].bias.copy()
    bias[0] += 1
    return replace(net, layers=net.layers | {name: replace(net.layers[name], bias=bias)})


@pytest.mark.parametrize("kind", ["almost the same", "another"])
def test_another_network_is_found_out(run: RunFolder, genuine: GameRecords, kind: str) -> None:
    """The first answer already is another one: the ply after the random ones."""
    other = tiny(1) if kind == "another" else almost(tiny())
    store_net(other, run)
    record(run, replace(genuine, nets=(other.sha256,)))
    facts = verify(run)
    assert (facts["identical"], facts["different"]) == (0, 6)
    assert {difference["ply"] for difference in facts["differences"]} <= {4, 5}
    first = [difference for difference in facts["differences"] if difference["ply"] == 4]
    assert len(first) >= 5
    assert all("tag" in [c["what"] for c in told["changes"]] for told in first)


def test_games_from_before_there_were_fingerprints(run: RunFolder, genuine: GameRecords) -> None:
    older = replace(genuine, **empty_fingerprint_columns(genuine.num_games, len(genuine.action)))
    store_net(tiny(), run)
    record(run, older)
    facts = verify(run)
    assert (facts["identical"], facts["hashes_unknown"]) == (6, 6)
    assert not replayed(run, 0)["hashes_known"]
    values = older.draw.copy()
    values[older.offsets[2] + 6] ^= 1
    again = new_run(run.path.with_name("again"), DRAWN)
    store_net(tiny(), again)
    record(again, replace(older, draw=values))
    assert [told["ply"] for told in verify(again)["differences"]] == [6]


def test_games_of_several_networks(
    run: RunFolder, genuine: GameRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As training leaves them: each generation by a network of its own."""
    record(run, genuine.take(np.arange(4)))
    later = played(run, DRAWN, tiny(1), 6).take(np.array([4, 5]))
    record(run, later)
    store_net(tiny(), run)
    (run.nets / f"{tiny().sha256[:16]}.safetensors").rename(run.nets / "run-s0-d0.safetensors")
    facts = verify(run)
    assert facts["identical"] == 6
    assert facts["networks"] == {tiny().sha256: 4, tiny(1).sha256: 2}
    (run.nets / f"{tiny(1).sha256[:16]}.safetensors").rename(run.nets / "run-s9-d9.safetensors")
    read: list[str] = []
    hash_of = replayer._sha256
    monkeypatch.setattr(replayer, "_sha256", lambda net: read.append(net.text) or hash_of(net))
    assert len(replayer.find_networks(run, dict.fromkeys(facts["networks"], np.arange(1)))) == 2
    assert len(read) == len(set(read)) == 2, "each file is read once"
    assert replayed(run, 5)["net"] == tiny(1).sha256


def test_the_draw_of_games_follows_its_seed(run: RunFolder, genuine: GameRecords) -> None:
    """Forged games show which ones were drawn."""
    values = genuine.fingerprint + np.uint64(1)
    store_net(tiny(), run)
    record(run, replace(genuine, fingerprint=values), shards=4)
    draws = [
        tuple(told["game"] for told in verify(run, 3, seed=seed)["differences"])
        for seed in (0, 0, 1, 2, 3)
    ]
    assert all(len(set(draw)) == 3 for draw in draws)
    assert draws[0] == draws[1]
    assert len(set(draws)) > 1


def no_such_game(run: RunFolder) -> None:
    pass


def network_gone(run: RunFolder) -> None:
    for file in run.nets.glob("*.safetensors"):
        file.unlink()


def network_damaged(run: RunFolder) -> None:
    for file in run.nets.glob("*.safetensors"):
        file.write_bytes(file.read_bytes()[:-9])


def only_shard_damaged(run: RunFolder) -> None:
    (run.games / "000000.npz").write_bytes(b"no shard")


def no_games(run: RunFolder) -> None:
    run.manifest().replace([])


def no_config(run: RunFolder) -> None:
    run.config.unlink()


@pytest.mark.parametrize(
    ("harm", "number", "error", "words"),
    [
        (no_such_game, 6, ConfigError, "has no game 6: there are 6, from 0 to 5"),
        (network_gone, 1, NetworkError, "has no network .* played 1 of the games"),
        (network_damaged, 1, NetworkError, "has no network"),
        (only_shard_damaged, 1, DataError, "no shard with these games can be read"),
        (no_games, 1, DataError, "no recorded games yet"),
        (no_config, 1, ConfigError, "is not a run"),
    ],
)
def test_what_cannot_be_played_again(
    run: RunFolder,
    genuine: GameRecords,
    harm: Callable[[RunFolder], None],
    number: int,
    error: type[VecchessError],
    words: str,
) -> None:
    store_net(tiny(), run)
    record(run, genuine)
    harm(run)
    with pytest.raises(error, match=words):
        replay_game(run.path, number, CPU, lambda line: None)


def test_games_of_others_cannot_be_played_again(tmp_path: Path) -> None:
    games = made_up([0, 1], nets=("Stockfish 15.1",))
    folder = RunFolder(tmp_path).games
    folder.mkdir()
    sha256 = write_shard(folder / "0.npz", games)
    Manifest(folder).append(ShardEntry.of("0.npz", sha256, games))
    with pytest.raises(ConfigError, match="imported games"):
        replay_game(folder, 0, CPU, pytest.fail)
    run = new_run(tmp_path / "run", DRAWN)
    record(run, games)
    with pytest.raises(NetworkError, match=r"Stockfish 15\.1 played games"):
        replayed(run, 0)


def test_networks_that_took_turns_play_their_spans_again(
    run: RunFolder, genuine: GameRecords
) -> None:
    """Drawn moves know no tree, so that a span of the same network changes nothing."""
    other = create_network(FOUR_STEPS, 99)
    for net in (tiny(), other):
        store_net(net, run)
    shared, first = np.array([0, 1, 4]), np.array([9, 5, 20])
    spans = [genuine.spans(game) for game in range(genuine.num_games)]
    for game, ply in zip(shared.tolist(), first.tolist(), strict=True):
        spans[game].append((ply, tiny().sha256))
    record(run, replace(genuine, **span_columns(spans)))
    facts = verify(run)
    assert (facts["identical"], facts["networks"]) == (6, {tiny().sha256: 6})
    assert replayed(run, 1)["identical"]
    spans[1][1] = (5, other.sha256)
    (run.games / "manifest.jsonl").unlink()
    record(run, replace(genuine, **span_columns(spans)))
    (difference,) = verify(run)["differences"]
    assert (difference["game"], difference["ply"]) == (1, 5)


@pytest.mark.parametrize("content", [b"no shard", None], ids=["at once", "when it is read"])
def test_a_damaged_shard_is_left_out(
    run: RunFolder, genuine: GameRecords, content: bytes | None
) -> None:
    store_net(tiny(), run)
    record(run, genuine, shards=3)
    shard = run.games / "000001.npz"
    if content is None:  # a shard as it should be, but not the one that was listed
        games = genuine.take(np.array([2, 3]))
        write_shard(shard, replace(games, win=games.win + 1))
    else:
        shard.write_bytes(content)
    said: list[str] = []
    facts = verify_games(run.path, 10, 0, CPU, said.append, lambda tally: None)
    assert (facts["games"], facts["identical"]) == (4, 4)
    assert len(said) == 1
    assert "000001.npz" in said[0]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("settings", "count"),
    [({}, 1000), ({"tree": {"search": "gumbel", "sims": 16}}, 200)],
    ids=["drawn", "gumbel"],
)
def test_whole_games_by_the_hundred(tmp_path: Path, settings: dict[str, Any], count: int) -> None:
    run = run_of(tmp_path / "run", settings, count, shards=7)
    facts = verify(run, count, {"gpus": "cpu", "slots": 37, "movers": 3, "threads": 2})
    assert (facts["games"], facts["identical"]) == (count, count)


def test_why_games_of_another_version_differ_is_said(
    run: RunFolder, genuine: GameRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    forged(run, genuine, "fingerprint", 2, 77)
    monkeypatch.setattr(run_pins, "GAMES_VERSION", GAMES_VERSION + 1)
    lines: list[str] = []
    facts = verify_games(run.path, 9, 0, CPU, lines.append, lambda tally: None)
    assert facts["different"] == 1
    (reason,) = facts["reasons"]
    assert f"are of version {GAMES_VERSION}, this vecchess plays version" in reason
    assert lines == [f"{run.path} cannot be replayed exactly: {reason}"]


def test_another_program_is_a_reason_only_where_games_differ(
    run: RunFolder, genuine: GameRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    forged(run, genuine, "fingerprint", 2, 77)
    other = PlayedBy.here().model_copy(update={"vecchess": "9.9.9"})
    monkeypatch.setattr(PlayedBy, "here", lambda: other)
    assert replayed(run, 1)["reasons"] == []
    (reason,) = replayed(run, 2)["reasons"]
    assert reason.startswith("the run was played with vecchess ")
    assert reason.endswith(", now 9.9.9")
