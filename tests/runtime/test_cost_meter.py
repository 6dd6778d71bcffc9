"""Processor time and memory of process trees, and energy by counters that are made up."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vecchess.runtime import cost_meter
from vecchess.runtime.cost_meter import Cost, CostMeter, core_seconds, resident_bytes

pytestmark = pytest.mark.plain
SPIN = "import time\nwhile time.process_time() < 0.2: pass\n"
LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


def test_costs_add_up() -> None:
    first, second = Cost(10, 4, 20, 100, None), Cost(5, 3, 0, 50, None)
    assert first.then(second) == Cost(15, 7, 20, 150, None)
    assert first.beside(second) == Cost(10, 7, 20, 150, None)
    assert first.then(Cost(0, 0, 0, None, 7)) == Cost(10, 4, 20, None, None)
    assert Cost.from_dict(first.to_dict()) == first


@pytest.mark.parametrize(
    "values", [None, 3, [], {"core_s": -1}, {"core_s": "x"}, {"gpu_s": float("inf")}]
)
def test_what_is_no_cost_is_not_read(values: Any) -> None:
    assert Cost.from_dict(values) is None


def test_a_run_counts_gpu_hours_where_it_used_gpus() -> None:
    assert (Cost(core_s=7200).hours, Cost(core_s=7200).unit) == (2.0, "core-hours")
    assert (Cost(core_s=7200, gpu_s=1800).hours, Cost(gpu_s=1800).unit) == (0.5, "GPU-hours")
    assert str(Cost(60, 7200)) == "2 core-hours in 0:01:00"
    assert str(Cost(60, 7200, 1800, 3000)) == "0.5 GPU-hours and 2 core-hours in 0:01:00, 3 kJ"


@LINUX
def test_a_process_and_its_children_count_alive_or_ended() -> None:
    meter = CostMeter([os.getpid()])
    subprocess.run([sys.executable, "-c", SPIN], check=True)
    ended = meter.read().core_s
    assert ended >= 0.1
    program = SPIN + "print(flush=True)\ninput()"
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program], **pipes) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert core_seconds([child.pid]) >= 0.1
        alive = meter.read().core_s
        child.communicate(b"\n")
    assert alive >= ended + 0.1
    assert meter.read().core_s >= alive


@LINUX
def test_a_process_under_two_others_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = {1: [2, 3], 2: [3], 3: []}
    monkeypatch.setattr(cost_meter, "_children", tree.__getitem__)
    monkeypatch.setattr(cost_meter, "_ticks", lambda pid: 10**pid)
    assert core_seconds([1, 2]) * os.sysconf("SC_CLK_TCK") == 1110


def test_a_process_that_is_gone_counts_nothing() -> None:
    assert core_seconds([2**22 + 1]) >= 0
    assert not resident_bytes([2**22 + 1])


@LINUX
def test_the_memory_of_children_counts() -> None:
    program = "import sys\nheld = bytearray(b'1') * 10**8\nprint(flush=True)\nsys.stdin.read()"
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program], **pipes) as child:
        assert child.stdout is not None
        child.stdout.readline()
        alone, both = resident_bytes([child.pid]) or 0, resident_bytes([os.getpid()]) or 0
        child.communicate()
    assert 10**8 < alone < 2 * 10**8
    assert both > alone + 10**7


class Packages:
    """Counters of a machine's processors."""

    def __init__(self, folder: Path, num: int = 2) -> None:
        self.folder, self.zones = folder, [folder / f"intel-rapl:{i}" for i in range(num)]
        for zone in [*self.zones, folder / "intel-rapl:9"]:
            zone.mkdir()
            (zone / "name").write_text(
                f"package-{zone.name[-1]}\n" if zone in self.zones else "psys\n"
            )
            (zone / "max_energy_range_uj").write_text("10000000\n")
            (zone / "energy_uj").write_text("0\n")

    def set_joules(self, *joules: float) -> None:
        for zone, each in zip(self.zones, joules, strict=True):
            (zone / "energy_uj").write_text(f"{round(each * 1e6)}\n")


def test_energy_of_all_processors_over_the_end_of_their_counters(tmp_path: Path) -> None:
    packages = Packages(tmp_path)
    packages.set_joules(9, 3)
    meter = CostMeter([], powercap=tmp_path)
    assert meter.read().cpu_joules == 0
    packages.set_joules(9.5, 4)
    assert meter.read().cpu_joules == pytest.approx(1.5)
    packages.set_joules(0.5, 4)  # the first began anew after 10
    assert meter.read().cpu_joules == pytest.approx(2.5)


def test_energy_that_only_root_may_read_is_unknown(tmp_path: Path) -> None:
    packages = Packages(tmp_path)
    (packages.zones[1] / "energy_uj").unlink()
    assert CostMeter([], powercap=tmp_path).read().cpu_joules is None
    assert CostMeter([], powercap=tmp_path / "none").read().cpu_joules is None


class Gpus:
    """Readings of GPUs that have used ``joules``."""

    def __init__(self, **joules: float) -> None:
        self.joules = joules

    def read(self, uuids: list[str]) -> dict[str, dict[str, float]]:
        return {uuid: {"joules": self.joules[uuid]} for uuid in uuids if uuid in self.joules}


def test_energy_and_time_of_gpus(tmp_path: Path) -> None:
    gpus: Any = Gpus(a=100.0, b=200.0)
    meter = CostMeter([], 2, ["a", "b"], tmp_path, gpus)
    gpus.joules = {"a": 150.0, "b": 201.0}
    cost = meter.read()
    assert cost.gpu_joules == 51
    assert cost.gpu_s == 2 * cost.wall_s
    assert CostMeter([], 2, ["a", "other"], tmp_path, gpus).read().gpu_joules is None
    assert CostMeter([], 0, [], tmp_path, gpus).read().gpu_joules == 0
