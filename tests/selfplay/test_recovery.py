"""Self-play on a fake device: slow, without memory, lost, or with wrong answers."""

from pathlib import Path

import numpy as np
import pytest
from bench.fake_device import FAKE, FakeBackend, FakeDevice

from tests.selfplay.playing import LoudBackend, play, server_of
from tests.selfplay.test_supervisor import Notes, digest_of
from tests.selfplay.test_swap_network import network, saved
from tests.selfplay.test_swap_network import play as finish
from tests.selfplay.test_swap_network import server_of as fresh_server
from vecchess.config import GameConfig, SelfplayConfig, TreeConfig, to_toml
from vecchess.errors import WorkerDied
from vecchess.replay.run_replay import verify_games
from vecchess.runtime.devices import CPU
from vecchess.selfplay.games.game_log import PAGE_PLIES
from vecchess.selfplay.supervisor.supervisor import Supervisor
from vecchess.selfplay.worker.networks import store_net
from vecchess.store.id_set import IdSet
from vecchess.store.records import GameRecords
from vecchess.store.run_folder import RunFolder
from vecchess.store.run_pins import pin_run

GAME = GameConfig(max_plies=16, random_plies=2)
NUM_GAMES = 48
PAGE_BYTES = 6 * PAGE_PLIES + 4
"""Of the log of plies."""


def slow(slots: int, latency: str = "5ms", late: int = 0) -> FakeBackend:
    return FakeBackend(LoudBackend(slots), FakeDevice(latency=latency, late=late))


@pytest.mark.parametrize("late", [0, 1])
def test_a_slow_device_changes_no_game(late: int) -> None:
    quick = play(GAME, NUM_GAMES, LoudBackend(8), seats=16)
    delayed = play(GAME, NUM_GAMES, slow(8, "0:1ms,7:1ms,8:3ms", late), seats=16, movers=2)
    assert delayed.digest() == quick.digest()
    assert np.array_equal(delayed.fingerprint, quick.fingerprint)


def test_before_a_slow_device_movers_wait_and_memory_stays_as_it_is() -> None:
    """A game has one question open: what waits is bounded by the games, whatever the device."""
    server = server_of(GAME, TreeConfig(), slow(8), seats=32, movers=2)
    counters, held = server.engine.counters, []
    server.pool.add(IdSet([(0, 1000)]))
    server.start()
    while counters.batches < 60:
        server.step()
        held.append(server.nbytes)
    server.pool.clear()
    while not server.is_idle:
        server.step()
    server.close()
    pages = 32 * (GAME.max_plies // PAGE_PLIES + 2)
    assert max(held) - held[0] <= pages * PAGE_BYTES, "its pages, and one while it is played"
    assert counters.slot_steps > 4 * counters.batches, "most slots were taken all the same"


def played(
    folder: Path, backend: str, slots: int = 8, interval_s: float = 0.02
) -> tuple[RunFolder, Notes, int]:
    """A run of the tiny network by one worker: its folder, notes, and workers replaced."""
    run, notes = RunFolder(folder), Notes()
    run.create()
    net = str(store_net(network(1), run))
    config = SelfplayConfig(
        net=net, slots=slots, seed=3, shard_interval_s=interval_s, game=GAME, backend=backend,
        shard_games=1 if interval_s < 1 else 1024,
    )  # fmt: skip
    pin_run(run, config)
    run.config.write_text(to_toml(config))
    with Supervisor(config, run, [CPU], notes) as campaign:
        result = campaign.play(net, IdSet([(0, NUM_GAMES)]))
    return run, notes, result.restarts


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> GameRecords:
    """The games, by a device that is slow and nothing else."""
    net = saved(tmp_path_factory.mktemp("net"), network(1))
    server = fresh_server(SelfplayConfig(seed=3, game=GAME, backend=f"{FAKE}?latency=100us"), net)
    records = finish(server, 0, NUM_GAMES)
    server.close()
    return records


@pytest.mark.slow
def test_a_device_that_is_lost_again_and_again(tmp_path: Path, undisturbed: GameRecords) -> None:
    """Its worker ends and is replaced; the games are those of a run without trouble."""
    run, notes, restarts = played(tmp_path, f"{FAKE}?lost_after=50&latency=2ms")
    assert restarts > 0
    assert all("it is a fake, and lost" in line for line in notes.deaths)
    assert digest_of(run, 0, NUM_GAMES) == undisturbed.digest()


@pytest.mark.thorough
def test_memory_that_runs_out_in_the_midst_of_games(
    tmp_path: Path, undisturbed: GameRecords
) -> None:
    """The next worker has half the slots, and then it does."""
    run, notes, restarts = played(tmp_path, f"{FAKE}?oom_above=16&oom_after=20", slots=32)
    assert restarts == 1
    assert "worker 0 (cpu) goes on with 16 slots" in notes.lines
    assert digest_of(run, 0, NUM_GAMES) == undisturbed.digest()


@pytest.mark.thorough
def test_what_a_lost_device_leaves_is_saved_at_once(
    tmp_path: Path, undisturbed: GameRecords
) -> None:
    """Games are not on the device: neither those that ended nor those in progress wait for their
    interval, so that a device which is lost before any game ends gets somewhere all the same."""
    run, notes, restarts = played(tmp_path, f"{FAKE}?lost_after=60", interval_s=3600.0)
    assert restarts > 0
    assert digest_of(run, 0, NUM_GAMES) == undisturbed.digest()
    assert all("it is a fake, and lost" in line for line in notes.deaths)


@pytest.mark.slow
def test_a_device_that_is_lost_before_any_answer(tmp_path: Path) -> None:
    """Three steps of four: no worker gets further than the one before."""
    with pytest.raises(WorkerDied, match="3 times in a row: the device failed"):
        played(tmp_path, f"{FAKE}?of=reference&lost_after=3")


@pytest.mark.thorough
def test_wrong_answers_are_found_by_playing_again(tmp_path: Path, undisturbed: GameRecords) -> None:
    """One wrong bit in 50 answers; most change no move, and show in the fingerprint alone."""
    run, notes, _ = played(tmp_path, f"{FAKE}?wrong_every=50")
    assert notes.deaths == []
    found = verify_games(
        run.path, NUM_GAMES, 0, {"gpus": "cpu"}, lambda line: None, lambda tally: None
    )
    differing = {difference["game"] for difference in found["differences"]}
    assert len(differing) > 5
    records = run.records()
    same = np.flatnonzero(records.fingerprint == undisturbed.fingerprint)
    assert differing == set(records.numbers.tolist()) - set(records.numbers[same].tolist())
