"""Recorded games as PGN: seven tags, more that vecchess knows, and evaluations in comments.

    [%eval 0.31] [%wdl 412 253 335] [%visits 800] [%steps 2461]

A comment evaluates the position that the move before it led to, as lichess has it: the evaluation
of the start stands before the first move, the search that chose a move stands before it.

    eval     pawns, White's view (database.lichess.org). Our values are expected scores; this is the
             number of pawns that lichess takes for the same score, from
             Win% = 50 + 50 * (2 / (1 + exp(-0.00368208 * centipawns)) - 1)
             (lichess.org/page/accuracy), at most 20.70: a score half of the smallest step stored
    wdl      win, draw and loss of the side to move in thousandths, as in UCI; the value is stored
             in 1/511, so it can be computed back from these
    visits   simulations of the search, or nodes of an engine; left out without a search
    steps    time steps of the network for all answers that the move needed; left out where no
             network was asked

With ``bits`` a comment has all that was recorded of the ply besides its policy target, and the tags
Rules and Fingerprint say how the game was played and what came of it: enough to play it again and
compare, as the page of ``vecchess export web`` does.

    bits     hexadecimal: action, steps, win, draw, probability (bits of a float32), tag, visits,
             full, thought, as in ``store.records``

Decisions 99 and 100.
"""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

import chess.pgn
import numpy as np

from vecchess.chess.pgn import RESULTS, in_lines, to_pgn
from vecchess.export.game_source import ExportSource, OnExported, RecordedGame
from vecchess.runtime.atomic_output import text_file
from vecchess.store.records import VALUE_UNIT

_SHA_LENGTH = 64


def export_pgn(
    source: ExportSource,
    out: Path,
    comments: bool = True,
    bits: bool = False,
    on_exported: OnExported = lambda done, total: None,
) -> int:
    """Write the games of ``source`` to ``out`` ("-": stdout); returns how many.

    ``comments``: with evaluations; ``bits``: with what a replay compares. Raises ConfigError for a
    place that cannot be used, DataError where writing fails; ``out`` is replaced whole or not at
    all.
    """
    with text_file(out) as file:
        return write_pgn(source.games(on_exported), file, comments, bits)


def write_pgn(
    games: Iterable[RecordedGame], file: TextIO, comments: bool, bits: bool = False
) -> int:
    """Write ``games`` to ``file``; returns how many. Those of Chess960 carry its Variant tag."""
    num_games = 0
    for game in games:
        print(in_lines(recorded_pgn(game, comments, bits)), file=file, end="\n\n")
        num_games += 1
    return num_games


def recorded_pgn(game: RecordedGame, comments: bool, bits: bool = False) -> chess.pgn.Game:
    """A game as python-chess represents it."""
    board, texts, tags = game.start_board(), list[str](), _tags(game)
    if comments or bits:
        parts: list[list[str]] = [[] for _ in range(game.num_plies + 1)]
        for ply in range(game.num_plies):
            if comments:
                parts[ply].append(comment(game, ply, board.turn == (ply % 2 == 0)))
            if bits:
                parts[ply].append(_bits(game, ply))
        texts = [" ".join(filter(None, part)) for part in parts]
    if bits:
        tags["Fingerprint"] = f"{int(game.records.fingerprint[game.index]):016x}"
        tags |= {"Rules": game.rules} if game.rules else {}
    return to_pgn(tags, board, game.moves, texts)


def _tags(game: RecordedGame) -> dict[str, str]:
    name = _player(game)
    tags = {
        "Event": "?" if game.seed is None else "vecchess self-play",
        "Site": "?",
        "Date": "????.??.??",
        "Round": str(game.number),
        "White": name,
        "Black": name,
        "Result": RESULTS[game.result],
        "PlyCount": str(game.num_plies),
        "Termination": game.termination.name.lower().replace("_", " "),
        "NetSha": " ".join(game.nets),
    }
    return tags if game.seed is None else tags | {"Seed": str(game.seed)}


def _player(game: RecordedGame) -> str:
    """Our networks by the first digits of their hash, others by their name."""
    first = game.nets[0]
    ours = game.seed is not None or len(first) == _SHA_LENGTH
    return f"vecchess {first[:12]}" if ours else first


LICHESS_SLOPE = 0.00368208
"""Slope of the logistic curve from centipawns to expected score."""
MOST_BALANCE = 1 - 0.5 / VALUE_UNIT
"""A certain win has no number of pawns: it counts as half a unit less than certain."""
PER_MILLE = 1000


def comment(game: RecordedGame, ply: int, is_white: bool) -> str:
    """The comment on the position before ``ply``, where White moves if ``is_white``; "" without an
    evaluation."""
    if not game.evaluated[ply]:
        return ""
    place = game.plies.start + ply
    records = game.records
    cp = centipawns(float(game.balance[ply]))
    win, draw = (
        round(int(column[place]) * PER_MILLE / VALUE_UNIT) for column in (records.win, records.draw)
    )
    parts = [
        f"[%eval {(cp if is_white else -cp) / 100:.2f}]",
        f"[%wdl {win} {draw} {PER_MILLE - win - draw}]",
    ]
    if visits := int(records.visits[place]):
        parts.append(f"[%visits {visits}]")
    if steps := int(records.thought[place] if visits else records.steps[place]):
        parts.append(f"[%steps {steps}]")
    return " ".join(parts)


BITS = ("action", "steps", "win", "draw", "prob", "tag", "visits", "full", "thought")
"""Columns of a ply in a comment with bits."""


def _bits(game: RecordedGame, ply: int) -> str:
    values = (getattr(game.records, name)[game.plies.start + ply] for name in BITS)
    words = (value.view(np.uint32) if value.dtype.kind == "f" else value for value in values)
    return f"[%bits {','.join(f'{int(word):x}' for word in words)}]"


def centipawns(balance: float) -> int:
    """What lichess' curve takes for ``balance``, P(win) - P(loss) from -1 to 1."""
    held = float(np.clip(balance, -MOST_BALANCE, MOST_BALANCE))
    return round(2 * math.atanh(held) / LICHESS_SLOPE)
