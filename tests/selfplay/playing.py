"""Plays games in this process, the way a worker does."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import chess
import numpy as np

from vecchess.chess.fen import is_chess960
from vecchess.chess.planes import NUM_PLANES
from vecchess.config import GameConfig, SelfplayConfig, TreeConfig
from vecchess.export.game_source import RecordedGame
from vecchess.export.pgn_export import recorded_pgn
from vecchess.inference.backend import Backend
from vecchess.inference.builtin import ConstantBackend
from vecchess.inference.requests import Requests
from vecchess.selfplay.games.finished_games import FinishedGames, finished_records
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.server import SelfplayServer
from vecchess.selfplay.worker.setup import mover_factory
from vecchess.store.id_set import IdSet
from vecchess.store.records import GameRecords
from vecchess.store.replay_positions import replay_moves
from vecchess.store.seating import Seating


def play(
    config: GameConfig,
    num_games: int,
    backend: Backend | None = None,
    seats: int = 16,
    movers: int = 1,
    seed: int = 1,
    splits: Sequence[int] = (),
    tree: TreeConfig | None = None,
    planes: int = NUM_PLANES,
) -> GameRecords:
    """All games 0 .. num_games - 1; ids arrive in portions that end at ``splits``."""
    return finished_records(
        play_finished(config, num_games, backend, seats, movers, seed, splits, tree, planes)
    )


def play_finished(
    config: GameConfig,
    num_games: int,
    backend: Backend | None = None,
    seats: int = 16,
    movers: int = 1,
    seed: int = 1,
    splits: Sequence[int] = (),
    tree: TreeConfig | None = None,
    planes: int = NUM_PLANES,
) -> list[FinishedGames]:
    """The same as the server gives them."""
    backend = backend or ConstantBackend(7)
    server = server_of(config, tree or TreeConfig(), backend, seats, movers, seed, planes)
    server.start()
    finished: list[FinishedGames] = []
    bounds = [0, *splits, num_games]
    for first, end in pairwise(bounds):
        server.pool.add(IdSet([(first, end)]))
        while not server.is_idle:
            server.step()
            finished += server.take_finished()
    server.close()
    return finished


def server_of(
    game: GameConfig,
    tree: TreeConfig,
    backend: Backend,
    seats: int = 16,
    movers: int = 1,
    seed: int = 1,
    planes: int = NUM_PLANES,
    seating: Seating | None = None,
) -> SelfplayServer:
    """A server without numbers of games to play; the network has so many input ``planes``."""
    config = SelfplayConfig(game=game, tree=tree, seed=seed)
    scales = backend.policy_scale, backend.value_scale
    make_mover = mover_factory(config, "net", scales, backend.time_steps, seating)
    return SelfplayServer(backend, make_mover, planes, seats, movers, GameIdPool())


def recorded_games(
    records: GameRecords, seed: int | None = None, chess960: bool = False
) -> Iterator[RecordedGame]:
    """The games of ``records`` in their order, as exports read them."""
    replayed = replay_moves(records)
    for index in range(records.num_games):
        own = is_chess960(records.start[index])
        yield RecordedGame(records, replayed, index, seed, chess960 or own)


def replay(records: GameRecords, chess960: bool = False) -> list[chess.Board]:
    """The final boards, with move stacks, after python-chess has checked every move."""
    boards = []
    for recorded in recorded_games(records, 0, chess960):
        game = recorded_pgn(recorded, comments=False)
        board = game.board()
        for move in game.mainline_moves():
            assert move in board.legal_moves, (board.fen(), move)
            assert not board.is_game_over()
            board.push(move)
        boards.append(board)
    return boards


class LoudBackend(ConstantBackend):
    """Answers that differ by row content: a hash of the planes, the same for any order."""

    time_steps = 3
    policy_scale = 2.0**-9
    value_scale = 2.0**-9

    def answer(self, requests, rows):  # type: ignore[no-untyped-def]
        """Accumulators from the question alone."""
        mixed = np.bitwise_xor.reduce(requests.planes[rows] * np.uint64(0x9E3779B97F4A7C15), axis=1)
        words = (mixed[:, None] + requests.legal[rows]) * np.uint64(0xBF58476D1CE4E5B9)
        requests.policy[rows] = (words >> np.uint64(52)).astype(np.int32)
        words = (mixed[:, None] + np.arange(3, dtype=np.uint64)) * np.uint64(0x94D049BB133111EB)
        requests.wdl[rows] = (words >> np.uint64(52)).astype(np.int32)
        requests.steps[rows] = 1 + (mixed >> np.uint64(60)) % 3


class Recorder(LoudBackend):
    """Notes every question."""

    def __init__(self, num_slots: int) -> None:
        super().__init__(num_slots)
        self.asked: Counter[bytes] = Counter()

    def admit(self, slots, requests, rows):  # type: ignore[no-untyped-def]
        """Note them."""
        super().admit(slots, requests, rows)
        self.asked += Counter(questions_in(requests, rows))


def questions_in(requests: Requests, rows: Sequence[int]) -> list[bytes]:
    """Planes and legal moves of ``rows``, in bytes."""
    return [
        requests.planes[row].tobytes() + requests.legal[row, : requests.num_legal[row]].tobytes()
        for row in rows
    ]
