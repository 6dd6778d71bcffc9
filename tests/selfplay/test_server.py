import pytest

from vecchess.chess.planes import NUM_PLANES
from vecchess.config import GameConfig, SelfplayConfig
from vecchess.inference.builtin import ConstantBackend
from vecchess.runtime.devices import Share
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.server import SelfplayServer
from vecchess.selfplay.worker.setup import mover_factory
from vecchess.store.id_set import IdSet


def server_of(num_games: int, seats: int, movers: int) -> SelfplayServer:
    config = SelfplayConfig(game=GameConfig(max_plies=10))
    pool = GameIdPool()
    pool.add(IdSet([(0, num_games)]))
    backend = ConstantBackend(seats)
    make_mover = mover_factory(config, backend, "net", Share(seats, seats, movers, 1))
    return SelfplayServer(backend, make_mover, NUM_PLANES, seats, movers, pool)


@pytest.mark.parametrize("movers", [2, 4])
def test_no_mover_keeps_numbers_from_the_others(movers: int) -> None:
    """All seats stay taken while there are games to start, whoever owns them."""
    server = server_of(num_games=64, seats=8, movers=movers)
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


def test_a_mover_whose_last_call_is_on_its_way_has_nothing_to_save() -> None:
    """It will not be called again: a saving that waited for it would be the last."""
    server = server_of(num_games=2, seats=2, movers=2)
    last, other = server._threads
    for thread in (last, other):
        thread.send(thread.vacant[:1])
        thread.vacant = thread.vacant[1:]
        thread.stop()
        thread._run()  # the call of a mover, in this thread
        server._collect(wait=True)
    server.pool.clear()
    last.mover.games.ply[:] = 9
    last.send(last.mover.rows)
    last.stop()
    last._run()
    server.request_saved()
    assert not server.is_saved, "the last call lies in the outbox, and the other mover has a game"
    server._collect(wait=True)
    assert not last.has_games
    assert not last.is_saving
    other.send(other.mover.rows)
    other.stop()
    other._run()
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
