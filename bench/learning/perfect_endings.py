"""Endings played and labelled by tables of all positions, as shards for supervised learning.

    python bench/learning/perfect_endings.py --games 20000 --seed 0 --out data/perfect

King and queen, rook, two bishops or pawn against king, from won positions drawn among all, none of
them in ``vecchess suite endings``; ``--turns`` says how many games of each. White plays one of the
shortest ways to mate, Black in half of its moves the longest defence, else anything. Targets are
all shortest ways, or longest defences, alike. A win counts 0.98 for each move until mate, the rest
is a draw, so that a search sees progress. Games begin with any halfmove clock. The same numbers
make the same games.
"""

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.action import moves_to_actions
from vecchess.chess.make import make
from vecchess.chess.movegen import count_moves, legal_moves
from vecchess.chess.position import COUNTERS, Positions
from vecchess.chess.rules import Termination
from vecchess.importers.import_folder import open_import_folder
from vecchess.importers.imported_game import ImportedGame, PlyLabel, to_records
from vecchess.shapes import MAX_MOVES, TARGET_UNIT
from vecchess.suites.endgame_table import HOMES, NEVER
from vecchess.suites.endings import EACH, moves_to_mate, won_positions

BATCH = 1000
"""Games played at a time, and in a shard."""
DEFENCE_SHARE = 0.5
DISCOUNT = 0.98
"""Of a win, for each move until mate."""


def distances(positions: Positions, moves: NDArray[np.uint16], is_white: bool) -> NDArray[np.int64]:
    """int64[K]: moves until White mates after each move, if Black then lives as long as it can."""
    children = make(positions, moves)
    if not is_white:
        return moves_to_mate(children)
    replies, counts = legal_moves(children)
    is_legal = np.arange(MAX_MOVES) < counts[:, None]
    found = np.full(replies.shape, -1, np.int64)
    found[is_legal] = moves_to_mate(make(np.repeat(children, counts, axis=0), replies[is_legal]))
    _, in_check = count_moves(children)
    without_reply = np.where(in_check, 0, NEVER)
    return np.where(counts == 0, without_reply, found.max(axis=1, initial=-1))


def label_of(actions: NDArray[np.uint16], moves_left: int, is_white: bool) -> PlyLabel:
    """Equal shares for the best moves, and a win or loss that counts less the farther the mate."""
    share = TARGET_UNIT // len(actions)
    target = tuple((action, share) for action in sorted(actions.tolist()))
    decided = DISCOUNT**moves_left
    return PlyLabel(1, decided if is_white else 0.0, 1 - decided, target)


def play(games: list[ImportedGame], rng: np.random.Generator) -> None:
    """Play all games to mate, a ply at a time."""
    positions, going, is_white = (
        np.stack([game.start for game in games]),
        [*range(len(games))],
        True,
    )
    while going:
        moves, counts = legal_moves(positions)
        is_legal = np.arange(MAX_MOVES) < counts[:, None]
        far = np.full(moves.shape, NEVER if is_white else -1, np.int64)
        owners = np.repeat(positions, counts, axis=0)
        far[is_legal] = distances(owners, moves[is_legal], is_white)
        left = (far.min if is_white else far.max)(axis=1)
        best = is_legal & (far == left[:, None])
        drawn = (
            best
            if is_white
            else np.where(rng.random(len(going))[:, None] < DEFENCE_SHARE, best, is_legal)
        )
        choice = (rng.random(moves.shape) * drawn).argmax(axis=1)
        chosen = np.take_along_axis(moves, choice[:, None], axis=1)[:, 0]
        for row, game in enumerate(going):
            games[game].actions.append(int(moves_to_actions([chosen[row]])[0]))
            actions = moves_to_actions(moves[row, best[row]])
            games[game].labels.append(label_of(actions, int(left[row]), is_white))
        positions = make(positions, chosen)
        goes_on = count_moves(positions)[0] > 0
        positions = positions[goes_on]
        going = [game for game, kept in zip(going, goes_on, strict=True) if kept]
        is_white = not is_white


def start_positions(num: int, seed: int, turns: tuple[str, ...]) -> Positions:
    """The first positions of ``num`` games, uint64[num, 8], no two alike, of ``turns`` in turn.

    The halfmove clock is drawn among those with which the shortest way to mate comes in time: a
    network that sees the clock has to play as well late in an ending as at its beginning.
    """
    men_of = np.resize(turns, num)
    starts = np.empty((num, 8), np.uint64)
    for men in HOMES:
        own = men_of == men
        starts[own] = won_positions(men, EACH + int(own.sum()))[EACH:]
    clocks = np.random.default_rng(seed).integers(0, 101 - 2 * moves_to_mate(starts))
    starts[:, COUNTERS] |= clocks.astype(np.uint64)
    return starts


def main() -> None:
    """Write what is missing of the games."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--turns",
        default="R,BB,R,BB,Q,R,BB,R,BB,P",
        help="White's men beside its king in games 0, 1, and so on, again and again",
    )
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    turns = tuple(options.turns.split(","))
    if not set(turns) <= set(HOMES):
        parser.error(f"--turns: of {', '.join(HOMES)}, with commas between")
    starts = start_positions(options.games, options.seed, turns)
    facts = {"schema": 5, "source": "tables", "seed": options.seed, "games": options.games}
    facts["turns"] = options.turns
    with open_import_folder(options.out, facts) as folder:
        for first in range(len(folder.numbers()), options.games, BATCH):
            numbers = range(first, min(first + BATCH, options.games))
            games = [ImportedGame(n, starts[n], 1, Termination.CHECKMATE) for n in numbers]
            play(games, np.random.default_rng([options.seed, first]))
            folder.write(to_records(games, "tables"))
            print(f"{numbers.stop:,} of {options.games:,} games", flush=True)


if __name__ == "__main__":
    main()
