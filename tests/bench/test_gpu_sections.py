"""Sections of the GPU report: what they find, with simulated devices and tools."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("triton")

from bench.gpu import equality, setting, smoke, telemetry, watched
from bench.gpu.kernel_trace import kernel_table
from bench.gpu.report_lines import ResultWriter
from bench.gpu.sections import SECTIONS
from bench.gpu.setting import Answers, Setting, TileTooLargeError
from triton.runtime.errors import OutOfResources

from vecchess.errors import DeviceError, device_work
from vecchess.snn.integer.integer_net import ExitRule

COMMAND_S = 575
"""Seconds of a command that is killed after ten minutes."""


class Results(ResultWriter):
    """Keeps what a section adds."""

    def __init__(self) -> None:
        super().__init__(Path("nowhere"), "section")
        self.found: dict[str, dict[str, Any]] = {}

    def add(self, result: str, **facts: Any) -> None:
        assert result not in self.found, "named twice"
        self.found[result] = facts


@pytest.fixture
def quick(tmp_path: Path) -> Setting:
    return Setting("cpu", True, (), tmp_path, tmp_path / "report.jsonl")


def some_answers(wrong: int = 0) -> Answers:
    """Answers of 8 positions, of which ``wrong`` are not those of the others."""
    policy = np.arange(8 * 218, dtype=np.int32).reshape(8, 218)
    policy[:wrong, 7] += 1
    return Answers(policy, np.ones((8, 3), np.int32), np.full(8, 2, np.uint8))


def test_every_section_is_a_function_and_three_commands_are_enough() -> None:
    commands, left_s = 1, COMMAND_S
    for name, section in SECTIONS.items():
        assert callable(getattr(import_module(f"bench.gpu.{section.module}"), name))
        assert section.limit_s < COMMAND_S
        if section.limit_s > left_s:
            commands, left_s = commands + 1, COMMAND_S
        left_s -= section.limit_s
    assert commands == 3


@pytest.mark.thorough
def test_smoke_runs_here_and_stops_where_answers_differ(
    quick: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = Results()
    smoke.smoke(quick, results)
    assert list(results.found) == ["versions", "network", "tile", "answers", "equality", "steps"]
    assert results.found["versions"]["ptxas"]["version"]
    assert results.found["equality"] == {"positions": smoke.QUICK_POSITIONS, "different": 0}
    assert results.found["steps"]["launches"] == smoke.QUICK_STEPS
    given = iter([some_answers(3), some_answers()])
    monkeypatch.setattr(smoke, "answers", lambda backend, questions: next(given))
    unasked = SimpleNamespace(tile=SimpleNamespace(), nbytes=1)
    monkeypatch.setattr(Setting, "open", lambda *given: unasked)
    results = Results()
    with pytest.raises(SystemExit, match="3 of 4 answers are not the processor's"):
        smoke.smoke(quick, results)
    assert "steps" not in results.found


def test_an_assembler_that_is_not_tritons_own_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRITON_PTXAS_PATH", raising=False)
    assert list(smoke.ptxas_warnings()) == []
    other = tmp_path / "ptxas"
    other.write_text("#!/bin/sh\necho Cuda compilation tools, release 13.0, V13.0.88\n")
    other.chmod(0o755)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(other))
    (warning,) = smoke.ptxas_warnings()
    assert warning.startswith(f"kernels are assembled by ptxas 13.0 at {other}, not by Triton's")


def test_every_tile_that_answers_differently_is_named(
    quick: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, last = quick.tiles(quick.base)

    def answer(backend: object, questions: object) -> Answers:
        return some_answers(2 if backend is last else 0)

    def open_tile(self: Setting, net: object, rule: object, slots: int, tile: object) -> object:
        if net.config.neuron == "relu":
            raise TileTooLargeError("no room")
        return tile

    monkeypatch.setattr(equality, "answers", answer)
    monkeypatch.setattr(Setting, "tiles", lambda self, net: [first, last])
    monkeypatch.setattr(Setting, "open", open_tile)
    monkeypatch.setattr(Setting, "open_on_processor", lambda self, net, rule: None)
    results = Results()
    with pytest.raises(SystemExit, match=r"processor's: base, all leave early, tile 1$"):
        equality.equality(quick, results)
    right, wrong, *too_large = results.found.values()
    assert (right["different"], wrong["different"]) == (0, 2)
    assert right["digest"] != wrong["digest"]
    assert [one["too_large"] for one in too_large] == ["no room"] * 2


@pytest.mark.parametrize("wrap", [lambda f: f, device_work("opening the network")])
def test_a_tile_that_the_device_cannot_hold_is_told_from_a_device_that_fails(
    quick: Setting, monkeypatch: pytest.MonkeyPatch, wrap: Callable[[Any], Any]
) -> None:
    net, rule = quick.base, ExitRule.never()

    @wrap
    def too_large(*_: object) -> None:
        raise OutOfResources(300_000, 232_448, "shared memory")

    def lost(*_: object) -> None:
        raise DeviceError("the device failed while opening the network")

    monkeypatch.setattr(setting, "CudaBackend", too_large)
    with pytest.raises(TileTooLargeError, match="shared memory"):
        quick.open(net, rule, 4)
    monkeypatch.setattr(setting, "CudaBackend", lost)
    with pytest.raises(DeviceError):
        quick.open(net, rule, 4)


def test_kernels_and_gaps_of_a_trace() -> None:
    def event(category: str, name: str, start: float, length: float) -> dict[str, Any]:
        return {"ph": "X", "cat": category, "name": name, "ts": start, "dur": length}

    events = [
        event("kernel", "advance_tower", 100.0, 50.0),
        event("kernel", "answer", 152.0, 8.0),
        event("gpu_memcpy", "Memcpy HtoD", 110.0, 5.0),
        event("cuda_runtime", "cudaGraphLaunch", 0.0, 500.0),
        event("kernel", "advance_tower", 190.0, 10.0),
        {"ph": "M", "name": "process_name"},
    ]
    table = kernel_table({"traceEvents": events})
    assert list(table["kernels"]) == ["advance_tower", "answer", "Memcpy HtoD"]
    assert table["kernels"]["advance_tower"] == {
        "count": 2, "total_us": 60.0, "mean_us": 30.0, "min_us": 10.0, "max_us": 50.0,
    }  # fmt: skip
    assert (table["span_us"], table["gaps"], table["median_gap_us"]) == (100.0, 2, 16.0)
    assert table["busy_share"] == pytest.approx(0.68)
    assert table["longest_gaps"][0] == {"us": 30.0, "after": "answer", "before": "advance_tower"}
    assert kernel_table({"traceEvents": events[3:4]}) == {"kernels": {}}


def test_what_the_gpu_says_of_itself() -> None:
    clocks = iter([1980, 2619, 1200, 2619])
    reasons = iter([0x1, 0x1 | 0x4 | 0x40])
    nvml = SimpleNamespace(
        NVML_CLOCK_SM=1,
        NVML_CLOCK_MEM=2,
        NVML_TEMPERATURE_GPU=0,
        nvmlDeviceGetUtilizationRates=lambda handle: SimpleNamespace(gpu=97),
        nvmlDeviceGetPowerUsage=lambda handle: 612_500,
        nvmlDeviceGetClockInfo=lambda handle, kind: next(clocks),
        nvmlDeviceGetTemperature=lambda handle, kind: 63,
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(used=3 << 30),
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda handle: next(reasons),
    )
    found = telemetry.summary([telemetry.read(nvml, "gpu") for _ in range(2)])
    assert found == {
        "samples": 2, "busy_percent": 97.0, "power_w": 612.5, "power_w_max": 612.5, "sm_mhz": 1590,
        "sm_mhz_min": 1200, "memory_mhz": 2619, "temperature_c_max": 63, "memory_mib_max": 3072,
        "throttled_by": ["power cap", "temperature, by the hardware"],
    }  # fmt: skip
    with telemetry.Telemetry("cpu") as nothing:
        assert nothing.take() == {}


def test_the_table_of_ncu_is_read() -> None:
    lines = [
        "==PROF== Connected to process 12",
        '"ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"',
        '"0","advance_tower","Memory Workload Analysis","L2 Hit Rate","%","71.20"',
        '"0","advance_tower","Memory Workload Analysis","Mem Busy","%","1,030"',
        '"0","advance_tower","Occupancy","","",""',
        '"0","advance_tower","Launch Statistics","Registers Per Thread","register/thread","255"',
    ]
    assert watched.metrics(lines) == {
        "Memory Workload Analysis": {"L2 Hit Rate": "71.20 %", "Mem Busy": "1,030 %"},
        "Launch Statistics": {"Registers Per Thread": "255 register/thread"},
    }
