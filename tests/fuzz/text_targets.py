"""Text that people bring: positions, games, openings, settings, reports."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.target import Read, Target, of_file, plain
from vecchess.chess.fen import from_fens
from vecchess.chess.rules import terminations
from vecchess.config import GameConfig, SelfplayConfig, TrainConfig, load_config, to_toml
from vecchess.errors import ConfigError
from vecchess.evaluate.evaluation import read_evaluation
from vecchess.importers.opening_file import read_openings
from vecchess.importers.pgn_import import ImportCounts, finished_games
from vecchess.networks.module_spec import ModuleSpec
from vecchess.snn.create import sizes_of
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_pins import (
    PINS_FILE,
    pin_run,
    pinned,
    replay_changes,
    replay_obstacles,
)
from vecchess.uci.tasks import BENCH_FENS

PGN = b"""[Event "x"]
[Result "1-0"]

1. e4 {good [%eval 0.3]} e5 $1 (1... c5 2. Nf3 (2. c3)) 2. Qh5 Nc6 3. Bc4 Nf6?? 4. Qxf7# 1-0

[SetUp "1"]
[FEN "1k6/8/8/8/8/8/6p1/K7 b - - 0 1"]
[Variant "Chess960"]
[Result "0-1"]

1... g1=Q+ 2. Ka2 ; a comment
2... Qg2+ 0-1
"""
OPENINGS = b'[Event "a"]\n\n1. e4 (1. d4) e5 2. Nf3 *\n\n[Event "b"]\n\n1. c4 {x} c5 $1 1/2-1/2\n'
PGN_WORDS = (
    b'[FEN "',
    b'[Variant "Atomic"]',
    b'[SetUp "1"]',
    b"1/2-1/2",
    b"O-O-O",
    b"--",
    b"Z0",
    b"{",
    b"}",
    b"(",
    b")",
    b"e8=Q",
    b"Nbd2",
    b"\n\n",
    b"%",
    b";",
    b"$255",
    b"1...",
    b'[Result "*"]',
    b"@",
    b"\xef\xbb\xbf",
)
FEN_WORDS = (
    b"8/8/8/8/8/8/8/8",
    b" w KQkq - 0 1",
    b" b - e3 99 4294967295",
    b"HAha",
    b"/",
    b"k",
    b"K",
    b"PPPPPPPP",
    b"QQQQQQQQ",
    b" - ",
    b"~",
    b"\xc2\xb2",
    b"-1",
)
TOML_WORDS = (
    b"[game]\n",
    b"[search]\n",
    b"[[game]]\n",
    b"= nan\n",
    b"= inf\n",
    b"= 1979-05-27T07:32:00Z\n",
    b'"""',
    b"'''",
    b"= {a = [",
    b"0x",
    b"seed = ",
    b"games = ",
    b".",
    b"= 1_000",
    b"\\u0000",
    b"= -1\n",
    b"= [[[[",
)
TOML_FLOOR_MIB = 40
"""64 KiB of tables within tables become so much; longer inputs are not made here."""


def read_fens(data: bytes) -> None:
    for line in data.decode(errors="replace").split("\n")[:64]:
        terminations(from_fens([line]))


def read_games(path: Path) -> None:
    counts = ImportCounts()
    for _ in finished_games(path, True, counts):
        pass
    if counts.first_bad:
        raise ConfigError(counts.first_bad)


def read_settings(path: Path) -> None:
    load_config(TrainConfig, {}, path, environ={})


def read_sizes(path: Path) -> None:
    sizes_of(str(path))


def evaluation() -> bytes:
    player = {"name": "a", "spelling": "random", "identity": "random", "is_repeatable": True}
    pair = {"first": "random", "second": "greedy", "wins": 3, "draws": 2, "losses": 1}
    pair |= {"ptnml": [0, 0, 1, 2, 0], "token": "t", "distinct_games": 6, "distinct_openings": 3}
    pair |= {"mean_plies": 40.5, "seconds": 1.5, "is_complete": True}
    values = {"schema": 1, "players": [player, player | {"identity": "greedy"}], "num_rated": 2}
    return json.dumps(values | {"pairs": [pair]}).encode()


def begin_run(folder: Path) -> RunFolder:
    """A run with a copy of its openings."""
    (book := folder / "book.epd").write_text(BENCH_FENS[0])
    run = RunFolder(folder)
    pin_run(run, SelfplayConfig(game=GameConfig(openings=book)))
    return run


def pins() -> bytes:
    with TemporaryDirectory() as folder:
        return (begin_run(Path(folder)).path / PINS_FILE).read_bytes()


@contextmanager
def opened_pins(folder: Path) -> Iterator[Read]:
    run, config = begin_run(folder), SelfplayConfig()

    def read(data: bytes) -> None:
        (folder / PINS_FILE).write_bytes(data)
        replay_obstacles(run, config)
        replay_changes(run)
        pinned(run, config)

    yield read


TARGETS = (
    Target(
        "fen", lambda: [fen.encode() for fen in BENCH_FENS], plain(read_fens), "text", FEN_WORDS
    ),
    Target("pgn", lambda: [PGN], of_file("a.pgn", read_games), "text", PGN_WORDS + FEN_WORDS),
    Target(
        "epd",
        lambda: ["\n".join(f'{fen} id "x";' for fen in BENCH_FENS[:6]).encode()],
        of_file("a.epd", read_openings),
        "text",
        FEN_WORDS,
    ),
    Target("openings-pgn", lambda: [OPENINGS], of_file("a.pgn", read_openings), "text", PGN_WORDS),
    Target(
        "config",
        lambda: [to_toml(TrainConfig()).encode()],
        of_file("a.toml", read_settings),
        "text",
        TOML_WORDS,
        TOML_FLOOR_MIB,
    ),
    Target(
        "sizes",
        lambda: [
            b'kind = "plain"\nwidths = [64, 128]\nhistory = 2\n',
            b"blocks = 2\nchannels = 32\n",
        ],
        of_file("a.toml", read_sizes),
        "text",
        TOML_WORDS,
        TOML_FLOOR_MIB,
    ),
    Target(
        "module",
        lambda: [b"module:pack.age:make?depth=3&chunk=16&weights=a%26b.safetensors"],
        plain(lambda data: str(ModuleSpec.parse(data.decode(errors="replace")))),
        "text",
        (b"module:", b"weights=", b"chunk=", b"%", b"&", b"?"),
    ),
    Target("pins", lambda: [pins()], opened_pins, "json"),
    Target("evaluation", lambda: [evaluation()], of_file("a.json", read_evaluation), "json"),
)
