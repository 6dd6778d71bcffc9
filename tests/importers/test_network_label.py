"""Positions of recorded games labelled by a network: as it answers, each exactly once."""

from pathlib import Path

import numpy as np
import pytest

from tests.lc0.made import weight_file
from tests.lc0.test_lc0_backend import GOLDEN, MAIA
from tests.selfplay.playing import play
from tests.system.commands import inside, last_json
from vecchess.chess.planes import POSITION_INPUTS
from vecchess.config import GameConfig
from vecchess.config.import_settings import NetworkLabelsConfig
from vecchess.errors import ConfigError, NetworkError
from vecchess.importers import import_folder, network_label
from vecchess.importers.import_folder import ImportFolder
from vecchess.importers.label_games import labelled_plies
from vecchess.importers.network_label import LEAST_SHARE, gather_network_labels, open_labeller
from vecchess.inference.backend import Backend
from vecchess.inference.engine import SlotEngine
from vecchess.inference.lc0_backend import Lc0Backend
from vecchess.inference.reference import ReferenceBackend
from vecchess.inference.requests import Requests
from vecchess.lc0.weights_file import load_weights
from vecchess.snn.create import create_network
from vecchess.snn.integer.integer_net import ExitRule
from vecchess.snn.integer.net_file import load_net, save_net
from vecchess.store.records import VALUE_UNIT, GameRecords
from vecchess.store.replay_positions import replay_positions
from vecchess.store.sources import read_games
from vecchess.store.targets import lay_out_targets
from vecchess.train.data.samples import make_samples
from vecchess.train.data.shard_block import trainable_plies

KEPT = ("numbers", "start", "result", "termination", "offsets", "action", "prob", "span_net")


@pytest.fixture(scope="module")
def games() -> GameRecords:
    return play(GameConfig(max_plies=40, random_plies=4, chess960=True), 8).by_number()


@pytest.fixture
def place(tmp_path: Path, games: GameRecords) -> Path:
    folder = ImportFolder(tmp_path / "games")
    folder.path.mkdir()
    folder.write(games.take(np.arange(6)))
    return folder.path


@pytest.fixture
def net(tmp_path: Path) -> Path:
    file = tmp_path / "net.pb.gz"
    file.write_bytes(weight_file())
    return file


def settings(net: Path, **changes: object) -> NetworkLabelsConfig:
    return NetworkLabelsConfig.model_validate({"lc0": net, "every": 3} | changes)


def labelled(out: Path) -> GameRecords:
    return read_games([out]).by_number()


def test_labels_are_what_the_network_answers(net, place, games, tmp_path) -> None:
    facts = gather_network_labels(settings(net), [place], tmp_path / "out")
    records, games = labelled(tmp_path / "out"), games.take(np.arange(6))
    for column in KEPT:
        assert np.array_equal(getattr(records, column), getattr(games, column)), column
    assert not records.steps.any()
    assert not records.fingerprint.any()
    plies = np.flatnonzero(records.visits)
    firsts = [labelled_plies(settings(net), games.take(np.array([n]))) for n in range(6)]
    wanted = [records.offsets[n] + ply for n in range(6) for ply in firsts[n]]
    assert plies.tolist() == wanted
    assert facts["searched_plies"] == facts["new_positions"] == len(plies)
    assert np.array_equal(trainable_plies(records), plies)

    backend = Lc0Backend(load_weights(net), 1)
    asked = replay_positions(games, plies, POSITION_INPUTS).requests
    for row in range(len(plies)):  # one at a time
        backend.answer(asked, np.array([row], np.int32))
    check_targets(records, plies, asked, backend)
    rows = make_samples(records, plies)
    assert np.allclose(rows.policy.sum(1), 1)


def check_targets(
    records: GameRecords, plies: np.ndarray, asked: Requests, backend: Backend
) -> None:
    """The labels of ``plies`` are the answers in ``asked``."""
    laid = lay_out_targets(records, plies, asked.legal, asked.num_legal)
    for row, ply in enumerate(plies):
        count, steps = int(asked.num_legal[row]), int(asked.steps[row])
        policy = np.exp(asked.policy[row, :count] / steps * backend.policy_scale)
        policy /= policy.sum()
        kept = np.where(policy >= LEAST_SHARE, policy, 0)
        assert np.allclose(laid[row, :count], kept / kept.sum(), atol=1e-4)
        outcome = np.exp(asked.wdl[row] / steps * backend.value_scale)
        outcome *= VALUE_UNIT / outcome.sum()
        assert abs(records.win[ply] - outcome[0]) <= 0.5
        assert abs(records.draw[ply] - outcome[1]) <= 1


def test_a_network_of_ours_labels_after_all_its_steps(place, games, tmp_path) -> None:
    net = create_network("tiny", 3)
    save_net(net, tmp_path / "net.safetensors")
    config = NetworkLabelsConfig(net=str(tmp_path / "net.safetensors"), every=3)
    facts = gather_network_labels(config, [place], tmp_path / "out")
    assert facts["engine"] == f"net {net.sha256[:16]}"
    records = labelled(tmp_path / "out")
    plies = np.flatnonzero(records.visits)
    asked = replay_positions(games.take(np.arange(6)), plies, net.config.num_planes).requests
    reference = ReferenceBackend(net, asked.num_rows, ExitRule.never())
    engine = SlotEngine(reference, asked)
    engine.submit(np.arange(len(plies), dtype=np.int32))
    while not engine.is_idle:
        engine.step()
    assert (asked.steps == net.config.time_steps).all()
    check_targets(records, plies, asked, reference)


def test_a_module_of_the_user_labels(place, tmp_path) -> None:
    config = NetworkLabelsConfig(net="module:tests.networks.modules:leaking", every=9)
    facts = gather_network_labels(config, [place], tmp_path / "out")
    assert facts["new_positions"] == (labelled(tmp_path / "out").visits > 0).sum() > 0


def test_one_network_labels() -> None:
    for given in ({}, {"net": "default", "lc0": Path("net.pb.gz")}):
        with pytest.raises(ConfigError, match="name one network: net or lc0"):
            open_labeller(NetworkLabelsConfig.model_validate(given))


def test_each_position_is_asked_exactly_once(
    net, place, games, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gather_network_labels(settings(net), [place], tmp_path / "whole")
    whole, parts, asked = labelled(tmp_path / "whole"), tmp_path / "parts", list[int]()
    answer = Lc0Backend.answer

    def counted(backend: Lc0Backend, requests: Requests, rows: np.ndarray) -> None:
        if len(asked) == 2:
            asked.append(0)
            raise KeyboardInterrupt
        asked.append(len(rows))
        answer(backend, requests, rows)

    monkeypatch.setattr(Lc0Backend, "answer", counted)
    monkeypatch.setattr(network_label, "BATCH", 20)
    with pytest.raises(KeyboardInterrupt):
        gather_network_labels(settings(net), [place], parts)
    assert 0 < labelled(parts).num_games < 6
    monkeypatch.setattr(import_folder, "SHARD_GAMES", 1)
    facts = gather_network_labels(settings(net, concurrency=2), [place], parts)
    assert (facts["games"], sum(asked)) == (6, (whole.visits > 0).sum())
    assert labelled(parts).digest() == whole.digest()
    assert gather_network_labels(settings(net), [place], parts)["new_games"] == 0
    ImportFolder(place).write(games.take(np.array([6, 7])))  # the place has grown
    assert gather_network_labels(settings(net), [place], parts)["new_games"] == 2
    assert labelled(parts).take(np.arange(6)).digest() == whole.digest()
    with pytest.raises(ConfigError, match="every = 3, not 2: choose another --out"):
        gather_network_labels(settings(net, every=2), [place], parts)
    net.write_bytes(weight_file(seed=9))
    with pytest.raises(ConfigError, match=r"source = lc0 .* choose another --out"):
        gather_network_labels(settings(net), [place], parts)


def test_the_command(net, place, tmp_path) -> None:
    common = ["gather", "label", place, "--out", tmp_path / "out"]
    done = inside(*common, "--lc0", net, "--every", 5, "--json")
    facts = last_json(done)
    assert facts["games"] == 6
    assert facts["engine"] == f"lc0 {load_weights(net).sha256[:16]}"
    facts = last_json(inside(*common[:-1], tmp_path / "more", "--net", "default", "--json"))
    assert facts["engine"] == f"net {load_net('default').sha256[:16]}"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ([], "give --engine PROGRAM, --net NETWORK or"),
        (
            ["--engine", "stockfish", "--lc0", "NET"],
            "give --engine PROGRAM, --net NETWORK or --lc0 FILE",
        ),
        (["--lc0", "NET", "--nodes", 5], "--nodes and --multipv belong to --engine"),
        (["--lc0", "NET", "--every", 0], "--every must be at least 1, got 0"),
        (["--lc0", "nowhere"], "nowhere is not there"),
        (["--lc0", "games"], "games"),
        (["--net", "nowhere"], "there is no network file nowhere"),
        (["--net", "module:nowhere:make"], "nowhere"),
        (["--net", "default", "--multipv", 2], "--nodes and --multipv belong to --engine"),
    ],
)
def test_bad_options_are_one_line(net, place, tmp_path, options: list[object], line: str) -> None:
    out = tmp_path / "out"
    given = [net if option == "NET" else option for option in options]
    done = inside("gather", "label", place, "--out", out, *given)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert line in done.stderr
    assert not out.exists()


def test_a_damaged_weight_file_is_refused(net, place, tmp_path) -> None:
    net.write_bytes(net.read_bytes()[:-50])
    with pytest.raises(NetworkError):
        gather_network_labels(settings(net), [place], tmp_path / "out")


@pytest.mark.skipif(not MAIA.is_file(), reason="VECCHESS_MAIA names no folder with maia-1100.pb.gz")
def test_maia_labels_as_it_plays_in_lc0(tmp_path: Path) -> None:
    """The first position of a game: the best moves, and the value."""
    (tmp_path / "game.pgn").write_text('[Result "1-0"]\n\n1. e4 1-0\n')
    gather_network_labels(settings(MAIA, every=1), [tmp_path / "game.pgn"], tmp_path / "out")
    records, (best, q, d) = labelled(tmp_path / "out"), GOLDEN[""]
    shares = np.sort(records.target_prob)[::-1] / records.target_prob.sum()
    assert np.allclose(shares[: len(best)], list(best.values()), atol=2e-3)
    assert records.target_action[records.target_prob.argmax()] == records.action[0]
    win, draw = records.win[0] / VALUE_UNIT, records.draw[0] / VALUE_UNIT
    assert (2 * win + draw - 1, draw) == (pytest.approx(q, abs=4e-3), pytest.approx(d, abs=2e-3))
