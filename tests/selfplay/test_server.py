import pytest

from vecchess.chess.planes import NUM_PLANES
from vecchess.config import GameConfig, SelfplayConfig
from vecchess.inference.builtin import ConstantBackend
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.server import MoverThread, SelfplayServer
from vecchess.selfplay.worker.setup import mover_factory
from vecchess.store.id_set import IdSet


def server_of(
    num_games: int, seats: int, movers: int, max_plies: int = 10, is_asynchronous: bool = False
) -> SelfplayServer:
    config = SelfplayConfig(game=GameConfig(max_plies=max_plies))
    pool = GameIdPool()
    pool.add(IdSet([(0, num_games)]))
    backend = ConstantBackend(seats)
    backend.is_asynchronous = is_asynchronous  # type: ignore[attr-defined]
    scales = backend.policy_scale, backend.value_scale
    make_mover = mover_factory(config, "net", scales, backend.time_steps)
    return SelfplayServer(backend, make_mover, NUM_PLANES, seats, movers, pool)


@pytest.mark.parametrize("is_asynchronous", [False, True])
@pytest.mark.parametrize("movers", [2, 4])
def test_no_mover_keeps_numbers_from_the_others(movers: int, is_asynchronous: bool) -> None:
    """All seats stay taken while there are games to start, whoever owns them."""
    server = server_of(64, seats=8, movers=movers, is_asynchronous=is_asynchronous)
    server.start()
    seated = []
    while len(server.pool):
        server.step()
        seated.append(server.num_in_progress)
    while not server.is_idle:
        server.step()
    server.close()
    assert sum(seated) / len(seated) > 6
    assert sum(records.num_games for records in server.take_finished()) == 64


@pytest.mark.parametrize(("is_asynchronous", "calls"), [(False, 3), (True, 1)])
def test_beside_a_gpu_rows_wait_for_a_busy_mover(is_asynchronous: bool, calls: int) -> None:
    """It is woken once for all that came meanwhile: each time costs the central loop."""
    server = server_of(8, seats=3, movers=1, is_asynchronous=is_asynchronous)
    (thread,) = server._threads
    thread.vacant = thread.vacant[:0]
    for row in thread.mover.rows:
        thread.send(thread.mover.rows[row : row + 1])
    assert thread.num_pending == calls
    thread.start()
    while server.engine.slots.num_waiting < 3:
        server._collect(wait=True)
    server.close()
    assert server.engine.slots.num_waiting == 3


def call(thread: MoverThread) -> None:
    """A call of the mover with its only row, in this thread; the output stays in the outbox."""
    thread.vacant = thread.vacant[:0]
    thread.send(thread.mover.rows)
    thread.stop()
    thread._run()


def test_a_mover_whose_last_call_is_on_its_way_has_nothing_to_save() -> None:
    """It will not be called again: a saving that waited for it would be the last."""
    server = server_of(num_games=2, seats=2, movers=2, max_plies=2)
    server.requests.steps[:] = 1
    last, other = server._threads
    for thread in (last, other, last):  # one ply of the first game is played
        call(thread)
        server._collect(wait=True)
    call(last)
    server.request_saved()
    assert not server.is_saved, "the last call lies in the outbox, and the other mover has a game"
    server._collect(wait=True)
    assert not last.has_games
    assert not last.is_saving
    call(other)
    server._collect(wait=True)
    assert server.is_saved
    saved = server.saved
    assert saved is not None
    assert saved.num_games == 1


def test_closing_keeps_the_games_that_ended() -> None:
    """What a mover finished after the last turn is handed over, not dropped."""
    server = server_of(num_games=8, seats=8, movers=1)
    server.start()
    while server.engine.counters.positions < 80:  # the tenth ply of all eight is answered
        server.step()
    server.close()
    assert sum(records.num_games for records in server.take_finished()) == 8
