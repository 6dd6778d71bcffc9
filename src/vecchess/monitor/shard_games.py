"""Games of a run as ``LiveGame``: those of a shard, decoded only as far as they are new."""

from collections.abc import Iterator

import numpy as np

from vecchess.chess.pgn import RESULTS
from vecchess.chess.rules import Termination
from vecchess.errors import DataError
from vecchess.monitor.live_game import LiveGame
from vecchess.monitor.san_moves import Moves
from vecchess.store.records import VALUE_UNIT, GameRecords


class Table:
    """The games that one worker shows; a row's moves are kept while its game goes on."""

    def __init__(self, machine: int, worker: int | None) -> None:
        """Nobody sits here yet."""
        self._machine, self._worker = machine, worker
        self._known: dict[int, Moves] = {}

    def games(self, records: GameRecords, chess960: bool) -> Iterator[LiveGame]:
        """The games of ``records``, row by row; those with moves that are not legal are left out,
        for a reader may be older than what it reads."""
        known: dict[int, Moves] = {}
        for row, number in enumerate(records.numbers.tolist()):
            try:
                moves = _decoded(self._known.get(number), records, row, chess960)
                game = game_of(records, row, moves, self._machine, self._worker)
            except DataError:
                continue
            known[number] = moves
            yield game
        self._known = known


def read_game(records: GameRecords, row: int, chess960: bool, machine: int) -> LiveGame:
    """A recorded game. Raises DataError where a move is not legal."""
    return game_of(records, row, _decoded(None, records, row, chess960), machine, None)


def game_of(
    records: GameRecords, row: int, moves: Moves, machine: int, worker: int | None
) -> LiveGame:
    """Game ``row`` of ``records``, whose ``moves`` are decoded. Raises DataError where it ended
    in a way that is unknown."""
    plies = slice(int(records.offsets[row]), int(records.offsets[row + 1]))
    termination = _termination(records, row)
    is_live = termination is Termination.ONGOING
    win, draw = records.win[plies].astype(int), records.draw[plies].astype(int)
    steps, visits = records.steps[plies].tolist(), records.visits[plies].tolist()
    score = (win + draw / 2) / VALUE_UNIT
    black_first = " b " in moves.start_fen
    mine = score.copy()
    mine[1 - black_first :: 2] = 1 - score[1 - black_first :: 2]
    judged = (records.steps[plies] > 0) | (records.visits[plies] > 0)
    spans = slice(int(records.span_offsets[row]), int(records.span_offsets[row + 1]))
    nets = records.span_net[spans]
    return LiveGame(
        number=int(records.numbers[row]),
        machine=machine,
        worker=worker,
        seat=row if is_live else -1,
        start_fen=moves.start_fen,
        fen=moves.board.fen(),
        ucis=list(moves.ucis),
        sans=list(moves.sans),
        white_score=[
            round(value, 4) if known else None
            for value, known in zip(mine.tolist(), judged.tolist(), strict=True)
        ],
        win=win.tolist(),
        draw=draw.tolist(),
        steps=steps,
        visits=visits,
        result="*" if is_live else RESULTS[int(np.sign(records.result[row]))],
        termination=termination.name.lower(),
        is_live=is_live,
        net=records.nets[nets[-1]] if len(nets) else "",
        chess960=moves.board.chess960,
    )


def _termination(records: GameRecords, row: int) -> Termination:
    try:
        return Termination(records.termination[row])
    except ValueError:
        raise DataError(f"a game ended by {records.termination[row]}, which is unknown") from None


def _decoded(known: Moves | None, records: GameRecords, row: int, chess960: bool) -> Moves:
    """The moves of game ``row``, going on from those ``known``. Raises DataError."""
    plies = slice(int(records.offsets[row]), int(records.offsets[row + 1]))
    actions = records.action[plies].tolist()
    if known is None or not known.is_begun_by(actions):
        known = Moves(records.start[row], chess960)
    known.extend(actions)
    return known
