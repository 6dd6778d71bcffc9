import os
import signal
import threading

import pytest

from vecchess.runtime import signals
from vecchess.runtime.signals import StopSignals, stop_signals


def test_the_first_signal_stands_and_a_second_ctrl_c_is_urgent() -> None:
    with StopSignals() as stops:
        assert stops.reason == ""
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGUSR2)
        assert (stops.reason, stops.must_exit_now) == ("SIGTERM", False)
        signal.raise_signal(signal.SIGINT)
        assert (stops.reason, stops.must_exit_now) == ("SIGTERM", True)


def test_one_ctrl_c_is_not_urgent() -> None:
    with StopSignals() as stops:
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(0)
        assert (stops.reason, stops.must_exit_now) == ("SIGINT", False)


def test_signals_are_given_back() -> None:
    before = [signal.getsignal(number) for number in stop_signals()]
    with StopSignals():
        assert [signal.getsignal(number) for number in stop_signals()] != before
    assert [signal.getsignal(number) for number in stop_signals()] == before


def test_the_first_reason_given_stands() -> None:
    stops = StopSignals()
    stops.request_stop("time")
    stops.request_stop("other")
    assert (stops.reason, stops.must_exit_now) == ("time", False)


def test_what_was_saved_has_a_while_to_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(signals, "monotonic", lambda: now[0])
    stop = StopSignals()
    is_late = stop.late_after(20.0)
    assert not is_late()
    stop.request_stop("SIGTERM")
    found = []
    for now[0] in (500.0, 519.0, 521.0):
        found.append(is_late())
    assert found == [False, False, True]
    urgent = stop.late_after(20.0)
    stop.must_exit_now = True
    assert urgent()
