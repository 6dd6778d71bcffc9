"""Ranks in threads: what they say to each other. With torch's collectives: test_launch.py."""

import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._C._distributed_c10d import HashStore

from vecchess.errors import ConfigError, DataError, RankLost, VecchessError
from vecchess.train.distributed import control as hub
from vecchess.train.distributed import rendezvous
from vecchess.train.distributed.connection import Wire
from vecchess.train.distributed.control import Hub, SharedError, Spoke
from vecchess.train.distributed.environment import RankInfo
from vecchess.train.distributed.ranks import Heartbeat, Ranks
from vecchess.train.distributed.rendezvous import meet, open_store

HOSTS = ["a", "b", "b"]
Said = list[Any]


def ranks_of(count: int, timeout_s: float = 5.0) -> list[Ranks]:
    """Connected ranks in one process, two a machine from the second machine on."""
    pairs = {rank: connection() for rank in range(1, count)}
    hosts = HOSTS[:count]
    contacts: list[Hub | Spoke] = [
        Hub({rank: Wire(pair[0]) for rank, pair in pairs.items()}, hosts)
    ]
    contacts += [Spoke(Wire(pair[1]), hosts) for pair in pairs.values()]
    made = []
    for rank, contact in enumerate(contacts):
        place = RankInfo(rank, count, max(rank - 1, 0), 1, min(rank, 1), 2)
        made.append(Ranks(place, torch.device("cpu"), contact, hosts, timeout_s))
    return made


def connection() -> tuple[socket.socket, socket.socket]:
    """Both ends of a TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        return server.accept()[0], one


def at_once(*programs: Callable[[], Any]) -> Said:
    """What each of the programs returned or raised, run in a thread each."""
    results: Said = [None] * len(programs)

    def run(index: int) -> None:
        try:
            results[index] = programs[index]()
        except BaseException as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(programs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def on_all(ranks: list[Ranks], do: Callable[[Ranks], Any]) -> Said:
    return at_once(*(lambda one=one: do(one) for one in ranks))


def shared(ranks: list[Ranks], do: Callable[[Ranks], Any]) -> Said:
    """As ``on_all``, with errors shared as ``join`` does."""

    def run(one: Ranks) -> Any:
        with one.sharing_errors():
            return do(one)

    return on_all(ranks, run)


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "ROLL_S", 0.3)
    monkeypatch.setattr(hub, "GRACE_S", 0.3)
    monkeypatch.setattr(hub, "TOGETHER_S", 0.05)
    monkeypatch.setattr(hub, "WAIT_INTERVAL_S", 0.1)
    monkeypatch.setattr(hub, "LINGER_S", 0.1)


def test_alone_needs_nobody() -> None:
    alone = Ranks.alone(torch.device("cpu"))
    tensor = torch.ones(3)
    alone.all_reduce_([tensor])
    assert tensor.tolist() == [1.0, 1.0, 1.0]
    assert alone.broadcast_bytes(b"x") == b"x"
    assert alone.gather_object({"x": 1}) == [{"x": 1}]
    assert alone.broadcast_object({"x": 1}) == {"x": 1}
    assert alone.heartbeat("SIGTERM", True) == Heartbeat("SIGTERM", True)
    assert alone.is_main
    assert alone.is_local_main
    with pytest.raises(DataError, match="as it was"), alone.sharing_errors():
        raise DataError("as it was")


def test_small_values_go_to_all() -> None:
    ranks = ranks_of(3)
    everybody = [{"rank": 0}, {"rank": 1}, {"rank": 2}]
    assert on_all(ranks, lambda one: one.gather_object({"rank": one.rank})) == [everybody] * 3
    assert on_all(ranks, lambda one: one.broadcast_object({"n": one.rank})) == [{"n": 0}] * 3


def test_a_beat_spreads_reasons_and_waits_for_leaders() -> None:
    ranks = ranks_of(3)  # ranks 0 and 1 lead, rank 2 does not
    beats = on_all(
        ranks, lambda one: one.heartbeat("SIGUSR2" if one.rank == 2 else "", one.rank == 0)
    )
    assert beats == [Heartbeat("SIGUSR2", False)] * 3
    assert on_all(ranks, lambda one: one.heartbeat("", one.rank < 2)) == [Heartbeat("", True)] * 3


def test_other_settings_are_named() -> None:
    said = shared(ranks_of(3), lambda one: one.require_same(f"seed = {one.rank == 2}"))
    assert isinstance(said[0], ConfigError)
    assert str(said[0]).startswith("rank 2 on b: other settings than rank 0 on a")
    for error in said[1:]:  # says nothing, and ends with the same exit code
        assert (type(error), str(error), error.exit_code) == (SharedError, "", 2)


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_of_one_ends_all_with_one_line(failing: int) -> None:
    def program(one: Ranks) -> None:
        if one.rank == failing:
            raise DataError("shard 7 is damaged")
        one.heartbeat("", False)

    said = shared(ranks_of(3), program)
    assert [error.exit_code for error in said] == [1, 1, 1]
    name = "" if failing == 0 else "rank 1 on b: "
    assert [str(error) for error in said] == [f"{name}shard 7 is damaged", "", ""]


def test_a_bug_stays_with_its_rank_and_ends_all() -> None:
    def program(one: Ranks) -> None:
        if one.rank == 1:
            raise KeyError("depth")
        one.heartbeat("", False)

    said = shared(ranks_of(3), program)
    assert [type(error) for error in said] == [SharedError, KeyError, SharedError]
    assert str(said[0]) == "rank 1 on b: KeyError: 'depth'"


def test_who_does_not_turn_up_is_named_everywhere() -> None:
    ranks = ranks_of(3, timeout_s=0.4)
    said = on_all(ranks[:2], lambda one: one.heartbeat("", False))
    line = "rank 2 on b did not turn up within 0.4 s: every rank ends"
    assert [type(error) for error in said] == [RankLost, RankLost]
    assert all(str(error).startswith(line) for error in said)


def test_dead_processes_are_named_at_once() -> None:
    ranks = ranks_of(3, timeout_s=60.0)
    ranks[1].close()
    ranks[2].close()
    with pytest.raises(RankLost, match="rank 1 on b and rank 2 on b died at the same time"):
        ranks[0].heartbeat("", False)


def test_a_silent_rank_0_is_named() -> None:
    ranks = ranks_of(2, timeout_s=0.2)
    with pytest.raises(RankLost, match="rank 0 on a did not answer"):
        ranks[1].heartbeat("", False)
    ranks = ranks_of(2, timeout_s=60.0)
    ranks[0].close()
    with pytest.raises(RankLost, match="rank 0 on a died"):
        ranks[1].heartbeat("", False)


def test_others_wait_longer_while_rank_0_waits_too() -> None:
    ranks = ranks_of(3, timeout_s=0.6)

    def late(one: Ranks) -> Heartbeat:
        time.sleep((0.5, 0.0, 1.0)[one.rank])  # rank 2 is 1.0 s behind rank 1, 0.5 s behind rank 0
        return one.heartbeat("", True)

    assert on_all(ranks, late) == [Heartbeat("", True)] * 3


def test_patience_holds_for_a_block() -> None:
    ranks = ranks_of(2, timeout_s=0.1)

    def compile_first(one: Ranks) -> Heartbeat:
        with one.timeout(5.0):
            time.sleep(0.5 * one.rank)
            return one.heartbeat("", True)

    assert on_all(ranks, compile_first) == [Heartbeat("", True)] * 2
    with pytest.raises(RankLost):
        ranks[0].heartbeat("", False)


def test_a_roll_call_names_the_rank_that_hangs_in_a_sum() -> None:
    ranks = ranks_of(3)

    def sums(one: Ranks) -> None:
        assert one._contact is not None
        if one.rank == 1:
            one._contact.find_missing("a sum broke")
        while True:
            one._contact.check()

    said = at_once(lambda: sums(ranks[0]), lambda: sums(ranks[1]))  # rank 2 answers nothing
    assert [type(error) for error in said] == [RankLost, RankLost]
    assert all("rank 2 on b did not answer" in str(error) for error in said)


def test_a_roll_call_where_all_answer_blames_the_network() -> None:
    ranks = ranks_of(2)

    def sums(one: Ranks) -> None:
        assert one._contact is not None
        while True:
            one._contact.check()
            if one.rank == 0:
                one._contact.find_missing("connection closed")

    said = on_all(ranks, sums)
    assert all(str(error).startswith("all ranks answer, but connection closed") for error in said)


def test_ranks_at_different_operations_are_a_bug_that_is_named() -> None:
    ranks = ranks_of(2, timeout_s=0.3)
    said = at_once(lambda: ranks[0].heartbeat("", False), lambda: ranks[1].barrier())[:1]
    ranks[0].close()
    assert "rank 1 is at barrier, rank 0 at beat" in str(said[0])


def test_the_last_word_is_heard_though_rank_0_has_not_listened() -> None:
    ranks = ranks_of(3)
    contacts = [one._contact for one in ranks]
    ranks[2].close()
    assert isinstance(contacts[1], Spoke)
    contacts[1]._wire.send({"kind": "present", "padding": "x" * 100_000})
    with pytest.raises(RankLost):
        ranks[0].heartbeat("", False)
    ranks[0].close()
    with pytest.raises(RankLost, match="rank 2 on b died"):
        ranks[1].heartbeat("", False)


def place_of(rank: int, **others: Any) -> RankInfo:
    return RankInfo(rank, **{"world_size": 2, "local_rank": rank, "local_world_size": 2} | others)


def meeting(*places: RankInfo, start_s: float = 5.0) -> Said:
    store = HashStore()
    return at_once(*(lambda place=place: meet(place, "cpu", store, start_s) for place in places))


def test_ranks_meet() -> None:
    (first, hosts), (second, same) = meeting(place_of(0), place_of(1))
    assert (type(first), type(second)) == (Hub, Spoke)
    assert hosts == same == [socket.gethostname()] * 2


def test_ranks_that_do_not_fit_do_not_meet() -> None:
    first, second = meeting(place_of(0), place_of(1, world_size=4, local_world_size=4))
    assert isinstance(first, ConfigError)
    assert "another number of ranks than rank 0: 4, not 2" in str(first)
    assert (type(second), second.exit_code) == (SharedError, 2)


def test_a_rank_that_is_there_twice() -> None:
    three = {"world_size": 3, "local_world_size": 3}
    first, *others = meeting(place_of(0, **three), place_of(1, **three), place_of(1, **three))
    assert "give every machine its own --node-rank" in str(first)
    assert all(isinstance(error, VecchessError) for error in others)


def test_a_missing_rank_is_named() -> None:
    [error] = meeting(place_of(0, world_size=3), start_s=0.3)
    assert "of 3 ranks, rank 1, 2 did not turn up within 0.3 s" in str(error)


def test_strangers_are_not_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    store = HashStore()

    def stranger() -> None:
        port = store.get(rendezvous.HUB_KEY).split()[0]
        with socket.create_connection(("127.0.0.1", int(port))) as connected:
            connected.sendall(b'{"rank": 1, "host": "x", "word": "guessed"}\n')
            assert connected.recv(100) == b""

    def late() -> Any:
        time.sleep(0.3)
        return meet(place_of(1), "cpu", store, 5.0)

    said = at_once(lambda: meet(place_of(0), "cpu", store, 5.0), stranger, late)
    assert said[1] is None
    assert said[0][1] == said[2][1] == [socket.gethostname()] * 2


def test_a_port_in_use_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen on port {port}: Address already"):
            open_store(place_of(0, master_port=port), False, "0", 1.0)


def test_a_master_that_does_not_answer_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(ConfigError, match=f"rank 1: nobody answers at 127.0.0.1:{port} within 1 s"):
        open_store(place_of(1, master_port=port), False, "0", 1.0)


def wire_that_hears(said: bytes, is_trusted: bool) -> Wire:
    """Our end of a connection over which ``said`` has come."""
    mine, theirs = connection()
    with theirs:
        theirs.sendall(said)
    wire = Wire(mine)
    if is_trusted:
        wire.trust()
    return wire


def test_a_stranger_may_say_little_and_a_rank_more() -> None:
    said = b'{"kind": "x", "text": "' + b"a" * 100_000 + b'"}\n'
    assert len(wire_that_hears(said, is_trusted=True).receive()) == 1
    for nonsense in (said, b"x" * 100_000):
        with pytest.raises(ConnectionError):
            wire_that_hears(nonsense, is_trusted=False).receive()


@pytest.mark.parametrize(
    "said",
    [
        b"{\n",
        b"[]\n",
        b"\xff\n",
        b"[" * 4000 + b"\n",
        b'{"kind": 7}\n',
        b'{"kind": "all"}\n',
        b"{}\n",
    ],
    ids=range(7),
)
def test_who_says_what_no_rank_says_counts_as_lost(said: bytes) -> None:
    mine, theirs = connection()
    with theirs:
        theirs.sendall(said)
        with pytest.raises(RankLost, match="rank 1 on b"):
            Hub({1: Wire(mine)}, HOSTS).check()
    mine, theirs = connection()
    with theirs:
        theirs.sendall(said)
        with pytest.raises(RankLost, match="rank 0 on a"):
            Spoke(Wire(mine), HOSTS).check()
