"""The order of events on the host, with a simulated device."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

pytest.importorskip("triton")

from vecchess.inference.cuda.streams import CudaStreams


class Event:
    """Finished when told so; remembers who waited for it."""

    def __init__(self, **_: bool) -> None:
        self.finished, self.waited, self.recorded = True, 0, 0

    def record(self, stream: object) -> None:
        self.recorded += 1
        self.finished = False

    def query(self) -> bool:
        return self.finished

    def synchronize(self) -> None:
        self.waited += 1
        self.finished = True

    def elapsed_time(self, end: "Event") -> float:
        return 2.0


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> CudaStreams:
    stream = SimpleNamespace(wait_event=lambda event: None)
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: stream)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    return CudaStreams(torch.device("cuda:0"))


def _step(streams: CudaStreams, admits: bool = False) -> None:
    if admits:
        streams.begin_admission()
        streams.end_admission()
    streams.begin_step()
    streams.end_step()


def test_the_host_waits_for_the_step_before_the_last_only(streams: CudaStreams) -> None:
    assert streams.finished_steps() == 0
    for launched in range(1, 6):
        _step(streams)
        assert streams.finished_steps() == launched - 1
        assert not streams._done[launched % 2].finished
    streams._done[1].finished = True
    assert streams.finished_steps() == 5


def test_time_on_the_device_is_counted_once_a_step(streams: CudaStreams) -> None:
    for _ in range(5):
        _step(streams)
        streams.finished_steps()
        streams.finished_steps()
    assert streams.busy_ns == 4 * 2_000_000
    streams._done[1].finished = True
    streams.finished_steps()
    assert streams.busy_ns == 5 * 2_000_000
    for _ in range(4):
        _step(streams)
    streams.finished_steps()  # of steps without a reading the last two have events
    assert streams.busy_ns == 6 * 2_000_000


def test_an_admission_is_timed_apart_and_counts_to_its_step(streams: CudaStreams) -> None:
    """Between the two the device waits for the host's launch, and is not busy."""
    for admits in (True, False, True, False):
        _step(streams, admits)
        streams.finished_steps()
    assert streams.busy_ns == (2 + 1 + 2) * 2_000_000
    streams.begin_admission()  # of the next step, before the last one was read
    streams._done[0].finished = True
    streams.finished_steps()
    assert streams.busy_ns == (2 + 1 + 2 + 1) * 2_000_000


def test_a_staging_buffer_is_filled_again_only_once_it_was_copied(streams: CudaStreams) -> None:
    target, source = torch.zeros(3), torch.ones(3)
    streams.upload(0, target, source)
    streams.uploaded_is_read(0)
    assert target.tolist() == [1, 1, 1]
    streams.wait_to_fill(1)
    assert (streams._copied[0].waited, streams._copied[1].waited) == (0, 1)
    assert streams._read[0].recorded == 1
