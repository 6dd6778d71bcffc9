"""Files of a run and of others: shards, manifests, networks, checkpoints, chunks and
networks of lc0."""

import gzip
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from tests.dash.play.site import tiny_network
from tests.export.lc0_reader import read_chunk
from tests.export.made import played, searched
from tests.fuzz.target import Read, Target, of_file, plain
from tests.lc0.made import weight_file
from tests.selfplay.playing import LoudBackend, recorded_games, server_of
from vecchess.config import GameConfig, OptimiserConfig, SelfplayConfig, TreeConfig
from vecchess.config.import_settings import EngineLabelsConfig
from vecchess.errors import DataError
from vecchess.export.csv_table import game_rows, ply_rows
from vecchess.export.lc0_export import to_chunk
from vecchess.export.pgn_export import recorded_pgn
from vecchess.importers.import_folder import FACTS_NAME, open_import_folder
from vecchess.lc0.weights_file import parse_weights
from vecchess.networks.module_net import read_weights
from vecchess.safe_parse import parse_json_object
from vecchess.selfplay.worker.networks import latest_net, stored_net
from vecchess.snn.integer.bounds import net_facts
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet, Layer
from vecchess.snn.integer.net_file import DTYPES, METADATA_KEY, load_net
from vecchess.snn.presets import NetConfig
from vecchess.snn.topology import layer_shapes
from vecchess.store.id_set import IdSet
from vecchess.store.inflight import read_saved
from vecchess.store.manifest import (
    JOURNAL_NAME,
    MANIFEST_NAME,
    Manifest,
    ShardEntry,
    journal_names,
)
from vecchess.store.records import SCHEMA
from vecchess.store.remote.object_store import ObjectStore
from vecchess.store.remote.run_mirror import INDEX, RunMirror
from vecchess.store.replay_positions import replay_positions
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_log import LOG_FILE, RunLog, read_log
from vecchess.store.shard import read_numbers, read_shard, shard_bytes
from vecchess.store.stats import GameStats
from vecchess.train.checkpoint import checkpoint_folder as checkpoint_module
from vecchess.train.checkpoint.checkpoint_folder import CheckpointFolder, encode_checkpoint
from vecchess.train.checkpoint.trainer_state import read_state
from vecchess.train.data.shard_block import ShardBlock
from vecchess.train.data.value_targets import SampleRules
from vecchess.train.step.optimiser import Schedule
from vecchess_cli.commands.net import _calibration
from vecchess_cli.commands.runs.games import _event_row
from vecchess_cli.output import print_result

SEARCHED = TreeConfig(search="gumbel", sims=2, cache_mb=0)
ZIP_WORDS = (b"PK\3\4", b"PK\1\2", b"PK\5\6", b"PK\6\7", b"\x93NUMPY\1\0", b"\x93NUMPY\2\0")
NPY_WORDS = (
    b"'|O'",
    b"'<i8'",
    b"'>i8'",
    b"'<U999999999'",
    b"(1000000000000,)",
    b"(-1,)",
    b"True",
    b"(0,)",
    b"((((",
)
JSON_WORDS = (
    b"null",
    b"true",
    b"NaN",
    b"Infinity",
    b"1e999",
    b"-1",
    b'"',
    b"[",
    b"{",
    b"\\u0000",
    b"\\ud800",
)


@cache
def shards() -> list[bytes]:
    """A shard with searches, one without, one that is not packed, and one without games."""
    few, none = np.arange(2), np.arange(0)
    return [
        shard_bytes(searched().take(few)),
        shard_bytes(played().take(few)),
        shard_bytes(searched().take(few), compressed=False),
        shard_bytes(played().take(none)),
    ]


@cache
def saved_games() -> list[bytes]:
    """Games in progress, drawn and searched."""
    found = list[bytes]()
    for tree in (TreeConfig(), SEARCHED):
        server = server_of(GameConfig(max_plies=40), tree, LoudBackend(4), seats=3)
        server.pool.add(IdSet([(0, 3)]))
        server.start()
        while sum(mover.plies for mover in server.movers) < 40:
            server.step()
        server.close()
        if saved := server.saved_now():
            found.append(saved.to_bytes())
    return found


def use_saved(path: Path) -> None:
    """Let the games go on, if they can: what cannot be played is played from the start."""
    saved = read_saved(path)
    tree = SEARCHED if saved.records.visits.any() else TreeConfig()
    server = server_of(GameConfig(max_plies=40), tree, LoudBackend(4), seats=4)
    server.pool.add_saved(saved)
    (mover,) = server.movers
    mover.play(mover.rows)
    if (now := mover.snapshot_inflight()) is not None:
        now.records.validate()


def use_shard(path: Path) -> None:
    """What is done with the games of a file: counted, learnt from, looked at, hashed, exported."""
    read_numbers(path)
    records = read_shard(path)
    GameStats.of(records)
    ShardBlock.of(records, SampleRules(0.9))
    replay_positions(records, np.arange(len(records.action)))
    records.digest()
    for game in recorded_games(records):
        str(recorded_pgn(game, comments=True))
        json.dumps([*game_rows(game), *ply_rows(game)], allow_nan=False).encode()
        to_chunk(game)


def manifest() -> bytes:
    header = {"schema": SCHEMA, "manifest": "0" * 16}
    entry = ShardEntry.of("0000-00-000000.npz", "a" * 64, searched()).to_dict()
    return b"".join(json.dumps(line).encode() + b"\n" for line in (header, entry))


def use_manifest(path: Path) -> None:
    found = Manifest(path.parent)
    stats = [found.stats.to_dict(), found.stats.mean_time_steps, found.stats.mean_length]
    json.dumps(stats, ensure_ascii=False).encode()
    for shard in found.shards:
        assert shard.path.parent == path.parent


def use_index(path: Path) -> None:
    """A copy is made of the run at a URL whose list of files is ``path``."""
    run, copy = path.parents[1], path.parents[2] / "copies" / "copy"
    (run / "config.toml").touch()
    RunMirror(ObjectStore.open(run), copy).pull()


@cache
def networks() -> list[bytes]:
    with TemporaryDirectory() as folder:
        return [
            tiny_network(Path(folder) / "net", neuron).read_bytes() for neuron in ("lif", "relu")
        ]


def use_network(path: Path) -> None:
    net = load_net(path)
    ExitRule.from_metadata(net.exit_rule).as_integers()
    calibration = _calibration(net.exit_rule, net.calibration)
    show(net_facts(net) | {"calibration": net.calibration}, {"calibration": calibration})


def show(facts: dict[str, Any], shown: dict[str, Any]) -> None:
    """As a command prints it, for programs and for people."""
    with redirect_stdout(io.StringIO()) as out:
        print_result(facts, True, shown)
        print_result(facts, False, shown)
    json.loads(out.getvalue().splitlines()[0], parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def module_weights() -> bytes:
    """The weights of a module that a user brings, as a run keeps them."""
    entry = {"schema": 1, "module": "module:a:make", "sha256": "0" * 64, "libraries": {}}
    tensors = {"net.fc.weight": np.ones((3, 4), np.float32), "steps": np.array(7)}
    data: bytes = save_tensors(tensors, {METADATA_KEY: json.dumps(entry)})
    return data


def signed(data: bytes) -> bytes:
    """The network file with the hash that fits it, where it can be read that far."""
    try:
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        said: dict[str, Any] = json.loads(header["__metadata__"][METADATA_KEY])
        tensors = load_tensors(data)
        config = NetConfig.model_validate(said["config"])
        layers = {
            name: Layer(**{part: tensors[f"{name}.{part}"] for part in DTYPES})
            for name in layer_shapes(config)
        }
        facts = [said[key] for key in ("policy_scale", "value_scale", "exit_rule", "calibration")]
        net = IntegerNet(config, layers, *facts)
        said["sha256"] = net.sha256
        return save_tensors(tensors, {METADATA_KEY: json.dumps(said)})
    except Exception:  # any damage at all: then the file is left as it is
        return data


@contextmanager
def signed_network(folder: Path) -> Iterator[Read]:
    """The input is the description of a network whose hash is made to fit."""
    path, tensors = folder / "net.safetensors", load_tensors(networks()[0])

    def read(data: bytes) -> None:
        text = data.decode(errors="replace").encode("utf-8", "replace").decode()
        path.write_bytes(signed(save_tensors(tensors, {METADATA_KEY: text})))
        use_network(path)

    yield read


def description() -> bytes:
    data = networks()[0]
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    said = json.loads(header["__metadata__"][METADATA_KEY])
    rule = {"min_steps": 2, "policy_margin": 5, "best_move_unchanged": True, "value_drift": 7}
    calibration = load_net("default").calibration
    assert calibration is not None
    return json.dumps(said | {"exit_rule": rule, "calibration": calibration}).encode()


FACTS = {"iteration": 1, "step": 2, "net": {"blocks": 1}}


@cache
def checkpoint() -> bytes:
    tensors = {
        "net/w": torch.ones(3),
        "net/b": torch.zeros(2, dtype=torch.bfloat16),
        "optimiser/w/step": torch.tensor(2.0),
    }
    return encode_checkpoint(tensors, FACTS, values())


def values() -> dict[str, Any]:
    counts = dict.fromkeys(("steps", "samples", "iteration", "iteration_step", "positions"), 3)
    flags = dict.fromkeys(("folded", "has_begun", "candidate_waits"), True)
    source = {"history": [[90, 1]], "reference_shards": 0}
    schedule = asdict(Schedule.of_run(OptimiserConfig(), 3))
    more = {"rates": [0.5], "scaler": {"scale": 2.0}, "matches": [{"elo": 1.5}], "source": source}
    return counts | flags | more | {"done": 1.5, "skipped": 0, "schedule": schedule}


@contextmanager
def checkpoint_file(folder: Path) -> Iterator[Read]:
    """The input is the newest of two checkpoints; its hash fits where it can be computed."""
    checkpoints = CheckpointFolder(folder)
    checkpoints.save(checkpoints.file_of(0, 1), checkpoint())
    newest = checkpoints.file_of(1, 1)

    def read(data: bytes) -> None:
        newest.write_bytes(data)
        assert checkpoints.latest(lambda line: None) is not None
        with patch.object(checkpoint_module, "_digest", lambda *_: hash_of(data)):
            read_state(data)

    yield read


def hash_of(data: bytes) -> Any:
    """The hash that a file declares."""
    header = parse_json_object(data[8 : 8 + int.from_bytes(data[:8], "little")], 1 << 24)
    return json.loads(header["__metadata__"]["vecchess"])["sha256"]


def use_values(path: Path) -> None:
    """The input are the values of a checkpoint whose hash fits them: one hand made both."""
    try:
        changed = parse_json_object(path.read_bytes())
    except ValueError as error:
        raise DataError("no values") from error
    read_state(encode_checkpoint({}, FACTS, changed))


def latest() -> bytes:
    """What names a run's newest network, that of ``networks``."""
    with TemporaryDirectory() as folder:
        (path := Path(folder) / "a.safetensors").write_bytes(networks()[0])
        facts = {"schema": 1, "file": path.name, "sha256": load_net(path).sha256}
    return json.dumps(facts).encode()


def use_latest(path: Path) -> None:
    path.with_name("a.safetensors").write_bytes(networks()[0])
    run = RunFolder(path.parent.parent)
    latest_net(run)
    stored_net(SelfplayConfig(), run)


LABELS = EngineLabelsConfig(engine="stockfish").facts("stockfish", [Path("/games")])


def use_labels(path: Path) -> None:
    """More labels for games that are labelled in part."""
    with open_import_folder(path.parent, LABELS):
        pass


def log() -> bytes:
    """The log of a run: its beginning, a change of settings, a note, its end."""
    with TemporaryDirectory() as folder:
        log = RunLog(Path(folder))
        log.write("start", kind="selfplay", pid=7, host="a", version="0.1.0")
        log.write_changes({"games": [1, 2]})
        log.write("end", state="done", why="")
        return (Path(folder) / LOG_FILE).read_bytes()


def use_log(path: Path) -> None:
    for event in read_log(path.parent):
        show({"events": [event]}, {"events": [_event_row(event)]})


def chunk() -> bytes:
    game = next(iter(recorded_games(searched().take(np.arange(1)))))
    return gzip.compress(to_chunk(game)[:2].tobytes(), mtime=0)


def use_chunk(path: Path) -> None:
    if len(read_chunk(path)) == 0:
        raise DataError("it is empty")


@cache
def lc0_weights() -> list[bytes]:
    """Weight files of lc0, as they are and unpacked."""
    files = [weight_file(), weight_file(squeeze=0, wdl=False, norm=False)]
    return [*files, *map(gzip.decompress, files)]


def use_lc0_weights(data: bytes) -> None:
    """What is damaged after unpacking is packed again: few changes leave a gzip file whole."""
    is_packed = data[:2] == b"\x1f\x8b"
    parse_weights(data if is_packed else gzip.compress(data, 1))


TARGETS = (
    Target(
        "inflight",
        saved_games,
        of_file("a.npz", use_saved),
        "zip",
        ZIP_WORDS + NPY_WORDS,
        floor_mib=48,
        is_slow=True,
    ),
    Target(
        "shard",
        shards,
        of_file("a.npz", use_shard),
        "zip",
        ZIP_WORDS + NPY_WORDS,
        floor_mib=48,
        is_slow=True,
    ),
    Target(
        "manifest", lambda: [manifest()], of_file(MANIFEST_NAME, use_manifest), "lines", JSON_WORDS
    ),
    Target(
        "network",
        networks,
        of_file("a.safetensors", use_network),
        "bytes",
        JSON_WORDS,
        is_slow=True,
    ),
    Target(
        "network-signed", lambda: [description()], signed_network, "json", JSON_WORDS, is_slow=True
    ),
    Target(
        "latest", lambda: [latest()], of_file("nets/latest.json", use_latest), "json", JSON_WORDS
    ),
    Target(
        "labels",
        lambda: [json.dumps(LABELS).encode()],
        of_file(FACTS_NAME, use_labels),
        "json",
        JSON_WORDS,
    ),
    Target(
        "run-index",
        lambda: [b'{"schema":1,"writer":"a","files":{"config.toml":"1","nets/a.safetensors":"2"}}'],
        of_file(f"run/{INDEX}", use_index),
        "json",
        JSON_WORDS,
        is_slow=True,
    ),
    Target("log", lambda: [log()], of_file(LOG_FILE, use_log), "lines", JSON_WORDS),
    Target(
        "journal",
        lambda: [json.dumps({"schema": 1, "files": ["a.npz"]}).encode()],
        of_file(JOURNAL_NAME, lambda path: journal_names(path.parent)),
        "json",
        JSON_WORDS,
    ),
    Target(
        "checkpoint", lambda: [checkpoint()], checkpoint_file, "bytes", JSON_WORDS, is_slow=True
    ),
    Target(
        "checkpoint-values",
        lambda: [json.dumps(values()).encode()],
        of_file("values.json", use_values),
        "json",
        JSON_WORDS,
        is_slow=True,
    ),
    Target(
        "module-weights",
        lambda: [module_weights()],
        of_file("a.safetensors", read_weights),
        "bytes",
        JSON_WORDS,
    ),
    Target("lc0-weights", lc0_weights, plain(use_lc0_weights), "bytes", is_slow=True),
    Target("lc0-chunk", lambda: [chunk()], of_file("a.gz", use_chunk), "bytes", floor_mib=48),
)
