"""Ranks in threads: heart-beats, small values and errors. With torch's collectives: test_launch."""

import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from tests.train.distributed.meeting import HOST, Meeting, Results, at_once, on_all, stop
from vecchess.errors import ConfigError, DataError, RankLost
from vecchess.runtime.signals import Stopped
from vecchess.train.distributed import control as control_module
from vecchess.train.distributed.control import RunEnd, SharedError
from vecchess.train.distributed.environment import RankInfo
from vecchess.train.distributed.rank_store import open_store
from vecchess.train.distributed.ranks import Heartbeat, Ranks


@pytest.fixture
def meeting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Meeting]:
    short = {"BEAT_S": 0.05, "LOST_S": 2.0, "BROKEN_LOST_S": 0.4, "GRACE_S": 0.3}
    short |= {"TOGETHER_S": 0.05, "LINGER_S": 0.1, "STOPPED_S": 0.5}
    for name, value in short.items():
        monkeypatch.setattr(control_module, name, value)
    meeting = Meeting()
    yield meeting
    for one in meeting.ranks:
        stop(one)


def shared(ranks: list[Ranks], do: Callable[[Any], Any]) -> Results:
    """As ``on_all``, with errors shared as ``join_ranks`` does."""

    def run(one: Ranks) -> Any:
        assert one._control is not None
        try:
            with one.sharing_errors():
                return do(one)
        finally:
            one._control.close()

    return on_all(ranks, run)


def test_alone_needs_no_network() -> None:
    alone = Ranks.alone(torch.device("cpu"))
    tensor = torch.ones(3)
    alone.all_reduce_([tensor])
    alone.broadcast_([tensor])
    assert tensor.tolist() == [1.0, 1.0, 1.0]
    assert alone.broadcast_bytes(b"x") == b"x"
    assert alone.gather_object({"x": 1}) == [{"x": 1}]
    assert alone.broadcast_object({"x": 1}) == {"x": 1}
    assert alone.heartbeat("SIGTERM", True) == Heartbeat("SIGTERM", True)
    assert (alone.is_main, alone.is_local_main) == (True, True)
    with pytest.raises(DataError, match="as it was"), alone.sharing_errors():
        raise DataError("as it was")


def test_small_values_go_to_all(meeting: Meeting) -> None:
    ranks = meeting.of(3)
    values = [{"rank": 0}, {"rank": 1}, {"rank": 2}]
    for _ in range(20):
        assert on_all(ranks, lambda one: one.gather_object({"rank": one.rank})) == [values] * 3
    assert on_all(ranks, lambda one: one.broadcast_object({"n": one.rank})) == [{"n": 0}] * 3
    assert ranks[1].hosts == [HOST] * 3
    assert meeting.server is not None
    assert meeting.server.num_keys() < 20  # values of old exchanges are replaced


def test_a_heartbeat_spreads_reasons_and_waits_for_all(meeting: Meeting) -> None:
    ranks = meeting.of(3)
    beats = on_all(
        ranks, lambda one: one.heartbeat("SIGUSR2" if one.rank == 2 else "", one.rank == 0)
    )
    assert beats == [Heartbeat("SIGUSR2", False)] * 3
    assert on_all(ranks, lambda one: one.heartbeat("", True)) == [Heartbeat("", True)] * 3


def test_other_settings_are_named(meeting: Meeting) -> None:
    ends = shared(meeting.of(3), lambda one: one.require_same(f"seed = {one.rank == 2}"))
    assert isinstance(ends[0], ConfigError)
    assert str(ends[0]).startswith(f"rank 2 on {HOST}: other settings than rank 0 on {HOST}")
    for error in ends[1:]:  # each finds it by itself, and lets rank 0 print it
        assert (type(error), str(error), error.exit_code) == (SharedError, "", 2)


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_of_one_ends_all_with_one_line(meeting: Meeting, failing: int) -> None:
    def program(one: Ranks) -> None:
        if one.rank == failing:
            raise DataError("shard 7 is damaged")
        one.heartbeat("", False)

    ends = shared(meeting.of(3), program)
    assert [error.exit_code for error in ends] == [1, 1, 1]
    name = "" if failing == 0 else f"rank 1 on {HOST}: "
    assert [str(error) for error in ends] == [f"{name}shard 7 is damaged", "", ""]


@pytest.mark.parametrize("stopping", [0, 1])
def test_a_stop_before_anything_has_started_ends_all(meeting: Meeting, stopping: int) -> None:
    def program(one: Ranks) -> None:
        if one.rank == stopping:
            raise Stopped("SIGTERM")
        one.heartbeat("", False)

    ends = shared(meeting.of(3), program)
    assert [error.exit_code for error in ends] == [75, 75, 75]
    assert [str(error) for error in ends if not isinstance(error, Stopped)] == ["", ""]


def test_an_error_is_printed_by_its_rank_where_rank_0_does_not_read_it(meeting: Meeting) -> None:
    def program(one: Ranks) -> None:
        if one.rank == 0:
            time.sleep(3.0)  # its main thread hangs
        raise DataError("shard 7 is damaged")

    assert str(shared(meeting.of(2), program)[1]) == "shard 7 is damaged"


def test_a_bug_stays_with_its_rank_and_ends_all(meeting: Meeting) -> None:
    def program(one: Ranks) -> None:
        if one.rank == 1:
            raise KeyError("depth")
        one.heartbeat("", False)

    ends = shared(meeting.of(3), program)
    assert [type(error) for error in ends] == [SharedError, KeyError, SharedError]
    assert str(ends[0]) == f"rank 1 on {HOST}: KeyError: 'depth'"


def test_a_late_rank_is_named_everywhere(meeting: Meeting) -> None:
    ranks = meeting.of(3, timeout_s=0.4)
    ends = on_all(ranks[:2], lambda one: one.heartbeat("", False))
    line = f"rank 2 on {HOST} did not turn up within 0.4 s: every rank ends"
    assert [type(error) for error in ends] == [RankLost, RankLost]
    assert all(str(error).startswith(line) for error in ends)


def test_a_late_rank_0_is_named(meeting: Meeting) -> None:
    ranks = meeting.of(2, timeout_s=0.2)
    with pytest.raises(RankLost, match=f"rank 0 on {HOST} did not turn up within 0.2 s"):
        ranks[1].heartbeat("", False)


def test_dead_children_are_named_at_once(meeting: Meeting) -> None:
    ranks = meeting.of(3, timeout_s=60.0)
    meeting.children = {1: "SIGKILL", 2: "SIGKILL"}
    line = f"rank 1 on {HOST} and rank 2 on {HOST} died (SIGKILL): every rank ends"
    with pytest.raises(RankLost, match=line.replace("(", r"\(").replace(")", r"\)")):
        ranks[0].heartbeat("", False)


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_without_heartbeat_is_named_everywhere(meeting: Meeting, victim: int) -> None:
    ranks = meeting.of(3, timeout_s=60.0)
    stop(ranks.pop(victim))
    ends = on_all(ranks, lambda one: one.heartbeat("", False))
    assert [type(error) for error in ends] == [RankLost, RankLost]
    assert all(
        str(end).startswith(f"rank {victim} on {HOST} did not answer for 2 s") for end in ends
    )


def test_ranks_that_were_all_stopped_for_a_while_go_on(
    meeting: Meeting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by Ctrl-Z: their clocks go on meanwhile."""
    stopped_s = 0.0
    monkeypatch.setattr(control_module, "monotonic", lambda: time.monotonic() + stopped_s)

    def stopped(one: Ranks) -> Heartbeat:
        nonlocal stopped_s
        for _ in range(3 * one.rank):
            time.sleep(0.2)
            stopped_s += 60.0
        return one.heartbeat("", True)

    assert on_all(meeting.of(2, timeout_s=10.0), stopped) == [Heartbeat("", True)] * 2


def test_the_end_of_the_store_is_the_end_of_rank_0(meeting: Meeting) -> None:
    ranks = meeting.of(2, timeout_s=60.0)
    stop(ranks[0])
    meeting.server = None
    with pytest.raises(RankLost, match=f"rank 0 on {HOST} died"):
        ranks[1].heartbeat("", False)


def test_others_wait_longer_while_rank_0_waits_too(meeting: Meeting) -> None:
    def late(one: Ranks) -> Heartbeat:
        time.sleep((0.8, 0.0, 1.6)[one.rank])  # rank 2 is 1.6 s behind rank 1, 0.8 s behind rank 0
        return one.heartbeat("", True)

    assert on_all(meeting.of(3, timeout_s=1.5), late) == [Heartbeat("", True)] * 3


def test_a_timeout_holds_for_a_block(meeting: Meeting) -> None:
    ranks = meeting.of(2, timeout_s=0.1)

    def compile_first(one: Ranks) -> Heartbeat:
        with one.timeout(5.0):
            time.sleep(0.5 * one.rank)
            return one.heartbeat("", True)

    assert on_all(ranks, compile_first) == [Heartbeat("", True)] * 2
    with pytest.raises(RankLost):
        ranks[0].heartbeat("", False)


def sum_that_hangs(one: Ranks) -> None:
    assert one._control is not None
    one._control.enter()
    one._control.wait_for(lambda: bool(time.sleep(0.01)), 0.5, "a sum over ranks")


def test_ranks_leave_a_block_together(meeting: Meeting) -> None:
    """One that has long work in it is waited for there, and no longer by what follows."""

    def push_first(one: Ranks) -> Heartbeat:
        with one.leaving_together(5.0):
            time.sleep(0.8 * one.is_main)
        return one.heartbeat("", True)

    ranks = meeting.of(2, timeout_s=0.1)
    assert on_all(ranks, push_first) == [Heartbeat("", True)] * 2


def test_a_rank_that_does_not_come_to_a_sum_is_named(meeting: Meeting) -> None:
    ends = on_all(meeting.of(3)[:2], sum_that_hangs)
    assert [type(error) for error in ends] == [RankLost, RankLost]
    assert all(f"rank 2 on {HOST} did not turn up within 0.5 s" in str(error) for error in ends)


def test_a_sum_that_hangs_though_all_have_come_is_the_network(meeting: Meeting) -> None:
    ends = on_all(meeting.of(2), sum_that_hangs)
    line = "all ranks answer, but a sum over ranks took more than 0.5 s"
    assert all(str(error).startswith(line) for error in ends)


def test_a_broken_connection_where_all_answer_is_the_network(meeting: Meeting) -> None:
    ranks = meeting.of(2)
    ends = on_all(ranks, lambda one: one._control.find_cause("connection closed"))
    assert all(str(error).startswith("all ranks answer, but connection closed") for error in ends)


def test_after_a_broken_connection_a_silent_rank_is_named_sooner(meeting: Meeting) -> None:
    ranks = meeting.of(3)
    stop(ranks.pop())
    ends = on_all(ranks, lambda one: one._control.find_cause("connection closed"))
    assert all(str(end).startswith(f"rank 2 on {HOST} did not answer for 0.4 s") for end in ends)


def test_while_torchrun_ends_the_ranks_a_silent_one_is_named_sooner(meeting: Meeting) -> None:
    first, second = (meeting.add(info_of(rank, starter="torchrun")) for rank in (0, 1))
    on_all([first, second], meet)
    first.end_soon_if(lambda: True)
    stop(second)
    with pytest.raises(RankLost) as error:
        first.heartbeat("SIGTERM", False)
    line = f"rank 1 on {HOST} did not answer for 0.4 s: every rank ends; torchrun starts them again"
    assert str(error.value).startswith(line)


def test_ranks_at_different_operations_are_a_bug_that_is_named(meeting: Meeting) -> None:
    ranks = meeting.of(2)
    ends = at_once(lambda: ranks[0].heartbeat("", False), lambda: ranks[1].barrier())
    assert "another rank is at barrier, this one at heartbeat" in str(ends[0])


def info_of(rank: int, **others: Any) -> RankInfo:
    return RankInfo(rank, **{"world_size": 2, "local_rank": rank, "local_world_size": 2} | others)


def meet(one: Any) -> None:
    one._control.meet(1.0)


def test_ranks_that_do_not_fit_do_not_meet(meeting: Meeting) -> None:
    meeting.add(info_of(0))
    time.sleep(0.2)
    meeting.add(info_of(1, world_size=4), "4 ranks")
    first, second = shared(meeting.ranks, meet)
    line = f"rank 1 on {HOST}: started with 4 ranks, other ranks with 3 ranks; start every machine"
    assert str(first).startswith(line)
    assert (first.exit_code, type(second), second.exit_code) == (2, SharedError, 2)


def test_a_rank_that_is_there_twice(meeting: Meeting) -> None:
    for rank in (0, 1, 1):
        meeting.add(info_of(rank, world_size=3))
    first, *others = shared(meeting.ranks, meet)
    assert "has rank 1 already: give every machine its own --node-rank" in str(first)
    assert all((type(error), error.exit_code) == (SharedError, 2) for error in others)


def test_missing_ranks_are_named(meeting: Meeting) -> None:
    meeting.add(info_of(0, world_size=3))
    [error] = shared(meeting.ranks, meet)
    assert "of 3 ranks, rank 1, 2 did not turn up within 1 s: is every machine" in str(error)
    assert error.exit_code == 2


def test_a_port_in_use_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen on port {port}: Address already"):
            open_store(info_of(0, master_port=port), 1.0)


def test_a_master_that_does_not_answer_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(ConfigError, match=f"rank 1: nothing answers at 127.0.0.1:{port} within 1"):
        open_store(info_of(1, master_port=port), 1.0)
    assert capfd.readouterr().err == ""  # torch would write a page


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"\xff", b"[" * 4000, b"7", b'["x", "y", 1, []]'], ids=range(7)
)
def test_an_end_that_no_rank_wrote_is_an_end(data: bytes) -> None:
    assert RunEnd.from_json(data).line == "another program wrote into the store of the ranks"


def test_a_value_that_no_rank_wrote_ends_the_run(meeting: Meeting) -> None:
    ranks = meeting.of(2)
    assert meeting.server is not None
    ranks[1]._control._closing = True
    meeting.server.set("test/value/2/1", "{")
    with pytest.raises(RankLost, match="another program wrote into the store of the ranks"):
        ranks[0].heartbeat("", False)
