"""Which devices a run uses, and each worker's share of the machine."""

import math
import os
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vecchess.config import SelfplayConfig
from vecchess.errors import ConfigError
from vecchess.machine_limits import num_cores
from vecchess.runtime import devices
from vecchess.runtime.devices import (
    CPU,
    bind_near,
    divide_by_speed,
    parse_gpus,
    release_memory,
    see_only,
    seen_among,
    share_out,
    visible_gpus,
)


def labels(text: str, gpus: int = 8) -> list[str]:
    return [device.label for device in parse_gpus(text, lambda: [str(i) for i in range(gpus)])]


def test_spellings() -> None:
    assert labels("0-7") == [f"gpu {i}" for i in range(8)]
    assert labels("0,2,5") == ["gpu 0", "gpu 2", "gpu 5"]
    assert labels("1-2,4") == ["gpu 1", "gpu 2", "gpu 4"]
    assert labels("all", 2) == labels("auto", 2) == ["gpu 0", "gpu 1"]
    assert labels("auto", 0) == ["cpu"]
    assert labels("cpu:4") == ["cpu"] * 4
    assert labels("GPU-8932f937-d72c") == ["GPU-8932f937-d72c"]


def test_numbers_count_what_is_visible() -> None:
    (chosen,) = parse_gpus("1", lambda: ["4", "6"])
    assert (chosen.visible, chosen.name) == ("6", "cuda:0")
    assert parse_gpus("cpu")[0].visible == ""


@pytest.mark.parametrize(
    "text", ["9", "0-8", "3-1", "x", "", "0-", "-1", "0,0", "cpu:0", "cpu:x", "cpu:-1", "0;1"]
)
def test_mistakes_give_one_line(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        labels(text)
    assert "\n" not in str(caught.value)


def test_all_needs_a_gpu() -> None:
    with pytest.raises(ConfigError, match="no GPU"):
        labels("all", 0)


def test_shares() -> None:
    config = SelfplayConfig()
    alone = share_out(config, [CPU], 10)
    assert (alone.games, alone.slots, alone.movers, alone.threads) == (10, 10, 1, num_cores())
    many = share_out(config, [CPU] * 64, 10**6)
    assert many.threads == 1
    assert many.games == 2 * many.slots
    chosen = share_out(config.model_copy(update={"slots": 5, "movers": 3}), [CPU], 100)
    assert (chosen.slots, chosen.games, chosen.movers) == (5, 10, 3)


@given(
    st.integers(0, 60), st.lists(st.sampled_from([0.5, 1, 1.5, 3, 100]), min_size=1, max_size=5),
    st.integers(1, 40),
)  # fmt: skip
def test_work_is_divided_so_that_it_ends_as_early_as_possible(
    more: int, seconds: list[float], most: int
) -> None:
    total = more + len(seconds)
    counts = divide_by_speed(total, seconds, most)
    assert sum(counts) == min(total, most * len(seconds))
    assert 1 <= min(counts) <= max(counts) <= most
    end = max(count * each for count, each in zip(counts, seconds, strict=True))
    sooner = [min(max(1, math.ceil(end / each - 1e-9) - 1), most) for each in seconds]
    is_least = any((count, each) == (1, end) for count, each in zip(counts, seconds, strict=True))
    assert sum(sooner) < sum(counts) or is_least, "none can do with less than one piece"


@pytest.fixture
def torch_sees(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """As on a machine with NVIDIA's driver, of which NVML counts two GPUs."""
    monkeypatch.setattr(devices, "DRIVER_FILES", (str(tmp_path),))
    monkeypatch.setattr(devices, "open_nvml", object)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return monkeypatch


def test_gpus_are_named_as_the_variable_names_them(torch_sees: pytest.MonkeyPatch) -> None:
    assert visible_gpus() == ["0", "1"]
    torch_sees.setenv("CUDA_VISIBLE_DEVICES", "4,6,9")
    assert visible_gpus() == ["4", "6"]
    torch_sees.setenv("CUDA_VISIBLE_DEVICES", "MIG-a,MIG-b,MIG-c")
    assert visible_gpus() == ["MIG-a", "MIG-b", "MIG-c"], "a process counts one of them only"
    torch_sees.delenv("CUDA_VISIBLE_DEVICES")
    with torch_sees.context() as patch:
        patch.setattr(torch.version, "cuda", None)
        assert visible_gpus() == [], "torch for processors"
    torch_sees.setattr(devices, "DRIVER_FILES", ("/no/such/driver",))
    assert visible_gpus() == []


def test_windows_subsystem_for_linux_has_another_driver_file() -> None:
    assert "/dev/dxg" in devices.DRIVER_FILES


def test_without_nvml_gpus_are_counted_elsewhere(torch_sees: pytest.MonkeyPatch) -> None:
    """torch would start CUDA to count them, and no GPU could be chosen after that."""

    def refuse() -> int:
        raise AssertionError("CUDA is started here")

    torch_sees.setattr(torch.cuda, "device_count", refuse)
    torch_sees.setattr(devices, "open_nvml", lambda: None)
    torch_sees.setattr(devices, "COUNT_GPUS", "print(3)")
    assert visible_gpus() == ["0", "1", "2"]
    torch_sees.setattr(devices, "COUNT_GPUS", "raise SystemExit('driver too old')")
    assert visible_gpus() == []


def test_a_gpu_is_chosen_before_cuda_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    second = parse_gpus("1", lambda: ["4", "6"])[0]
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    see_only(CPU)
    see_only(parse_gpus("0", lambda: ["4", "6"])[0])
    with pytest.raises(ConfigError, match=r"gpu 1: .* on GPU 4 already; .*CUDA_VISIBLE_DEVICES=6"):
        see_only(second)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    see_only(second)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "6"


def test_self_play_may_have_two_workers_on_a_gpu() -> None:
    shared = parse_gpus("0,0,1", lambda: ["0", "1"], may_share=True)
    assert [device.visible for device in shared] == ["0", "0", "1"]
    with pytest.raises(ConfigError, match="named twice; only self-play"):
        parse_gpus("0,0,1", lambda: ["0", "1"])


@pytest.mark.parametrize(
    ("allowed", "near", "least", "bound"),
    [
        ({0, 1, 2, 3}, {2, 3, 4, 5}, 2, {2, 3}),
        ({0, 1, 2, 3}, {3, 4, 5}, 2, {0, 1, 2, 3}),
        ({0, 1}, set(), 2, {0, 1}),
    ],
)
def test_a_worker_keeps_to_the_socket_of_its_gpu(
    allowed: set[int], near: set[int], least: int, bound: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as the cores that it may use suffice there."""
    cores = set(allowed)
    monkeypatch.setattr(torch.cuda, "init", lambda: None)
    monkeypatch.setattr(devices, "gpu_uuid", lambda: "GPU-a")
    monkeypatch.setattr(devices, "cpus_near", lambda uuid: near if uuid == "GPU-a" else set())
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(cores), raising=False)

    def bind(pid: int, wanted: set[int]) -> None:
        cores.intersection_update(wanted)

    monkeypatch.setattr(os, "sched_setaffinity", bind, raising=False)
    bind_near(parse_gpus("0", lambda: ["0"])[0], least)
    assert cores == bound


def test_a_gpu_that_does_not_start_binds_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    def init() -> None:
        raise RuntimeError("the driver is too old")

    monkeypatch.setattr(torch.cuda, "init", init)
    monkeypatch.setattr(devices, "cpus_near", lambda uuid: pytest.fail("asked for no GPU"))
    bind_near(parse_gpus("0", lambda: ["0"])[0], 1)


@pytest.mark.parametrize(
    ("search", "cores", "movers"), [("none", 16, 4), ("none", 3, 2), ("gumbel", 16, 6)]
)
def test_a_few_movers_feed_a_gpu(
    search: str, cores: int, movers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "num_cores", lambda: cores)
    config = SelfplayConfig.model_validate({"tree": {"search": search}})
    share = share_out(config, parse_gpus("0", lambda: ["0"]), 10**6)
    assert (share.movers, share.slots) == (movers, devices.GPU_SLOTS)


def test_memory_goes_back_to_the_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: calls.append("emptied"))
    release_memory()
    assert calls == []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    release_memory()
    assert calls == ["emptied"]


def test_a_rank_plays_its_matches_on_the_gpu_that_it_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    gpus = parse_gpus("all", lambda: ["4", "6"])
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    assert seen_among(gpus) == gpus[0]
    see_only(gpus[1])
    assert seen_among(gpus) == gpus[1]
    assert seen_among([CPU, CPU]) == CPU
