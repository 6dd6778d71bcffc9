"""Commands that are sent signals: how each is started, and how its phases are told from outside."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.running import Running

NET = "blocks = 1\nchannels = 32\ntime_steps = 4\n"
SELFPLAY = ["--games", 60, "--max-plies", 120, "--gpus", "cpu:2", "--slots", 4]
TRAIN = [
    "--gpus", "cpu", "--iterations", 2, "--positions-per-iter", 360, "--seats", 8,
    "--batch-size", 32, "--sims", 2, "--max-plies", 40, "--eval-every", 1,
    "--eval-games", 4, "--loaders", 1,
]  # fmt: skip
MATCH = ["net:{net}", "greedy", "--games", 160, "--max-plies", 100, "--concurrency", 32]


@dataclass(frozen=True)
class Phase:
    """A part of a command's life, from ``begins`` to where the next one begins."""

    name: str
    begins: Callable[[Running], bool]
    is_early: bool = False
    """Signals may not be heeded yet: the system ends the process."""


@dataclass(frozen=True)
class Subject:
    """A command to disturb."""

    name: str
    phases: list[Phase]
    arguments: Callable[[Path], list[object]]
    says: dict[str, str] = field(default_factory=dict)
    """What it is told when a phase begins, by its name; UCI."""
    resumes: bool = False
    heeds: bool = True
    """Its exit codes are 130 and 75; otherwise only Ctrl-C is heeded."""


def prepare(folder: Path) -> None:
    """Files that the commands read."""
    (folder / "net.toml").write_text(NET)
    (folder / "selfplay.toml").write_text("shard_games = 4\n")
    (folder / "train.toml").write_text("log_every = 1\nshard_games = 4\n")


def _count(path: str, least: int = 1) -> Callable[[Running], bool]:
    return lambda running: len(list((running.folder / "run").glob(path))) >= least


def _lines(file: str, pattern: str, least: int = 1) -> Callable[[Running], bool]:
    def has(running: Running) -> bool:
        path = running.folder / file
        return path.exists() and len(re.findall(pattern, path.read_text())) >= least

    return has


def _told(pattern: str, least: int = 1) -> Callable[[Running], bool]:
    return lambda running: len(re.findall(pattern, running.told())) >= least


def _at_once(running: Running) -> bool:
    return True


def _selfplay(folder: Path) -> list[object]:
    net, config = folder.parent / "net.toml", folder.parent / "selfplay.toml"
    return ["selfplay", *SELFPLAY, "--net", net, "--config", config, "--run-dir", folder / "run"]


def _train(folder: Path) -> list[object]:
    net, config = folder.parent / "net.toml", folder.parent / "train.toml"
    return ["train", *TRAIN, "--net", net, "--config", config, "--run-dir", folder / "run"]


def _match(folder: Path) -> list[object]:
    players = [str(word).format(net=folder.parent / "net.toml") for word in MATCH]
    return ["match", *players, "--pgn", folder / "games.pgn"]


def _uci(name: str, net: str) -> Subject:
    """net: of the folder above that of the process, or built in."""
    return Subject(
        name,
        [
            Phase("before uci", _at_once, is_early=True),
            Phase("loading", _told(r"uciok")),
            Phase("idle", _told(r"readyok")),
            Phase("searching", _told(r"No such option: idle")),
            Phase("pondering", _told(r"bestmove")),
        ],
        lambda folder: ["uci", "--net", net.format(folder=folder.parent)],
        says={
            "before uci": "uci",
            "loading": "isready",
            "idle": "setoption name idle value 1",
            "searching": "go movetime 1000",
            "pondering": "position startpos moves e2e4 e7e5\ngo ponder wtime 1500 btime 1500\n",
        },
        heeds=False,
    )


MANIFEST = "run/games/manifest.jsonl"
METRICS = "run/metrics.jsonl"
SUBJECTS = [
    Subject(
        "selfplay",
        [
            Phase("importing", _at_once, is_early=True),
            Phase("starting", _count("status.json")),
            Phase("workers starting", _told(r"games at a time")),
            Phase("playing", _lines(MANIFEST, r"\n", 2)),
            Phase("ending", _told(r"games +\d")),
        ],
        _selfplay,
        resumes=True,
    ),
    Subject(
        "train",
        [
            Phase("importing", _at_once, is_early=True),
            Phase("starting", _count("status.json")),
            Phase("evaluating", _count("nets/*.safetensors")),
            Phase("playing", _count("checkpoints/*")),
            Phase("learning", _lines(METRICS, r'"kind": "play"')),
            Phase("evaluating again", _count("nets/*.safetensors", 2)),
            Phase("playing again", _count("checkpoints/*", 2)),
            Phase("learning again", _lines(METRICS, r'"kind": "play"', 2)),
            Phase("ending", _count("checkpoints/*", 3)),
        ],
        _train,
        resumes=True,
    ),
    Subject(
        "match",
        [
            Phase("starting", _at_once, is_early=True),
            Phase("playing", _told(r"games at a time")),
            Phase("ending", _told(r"games +\d+, \d+ distinct")),
        ],
        _match,
    ),
    _uci("uci", "{folder}/net.toml"),
    _uci("uci without torch", "material"),
]
