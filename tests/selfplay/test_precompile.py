"""Compiling ahead: what fails there is only noticed by those who start with an empty cache."""

from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest

from tests.snn.positions import NUM_PLANES, random_positions
from vecchess.config import SelfplayConfig, TreeConfig
from vecchess.inference.source import find
from vecchess.jit import cache_dir
from vecchess.runtime.devices import CPU, Device
from vecchess.selfplay.worker import precompile
from vecchess.selfplay.worker.precompile import Precompiler, _kernels_of, network_compiler
from vecchess.snn.initialise import new_network
from vecchess.snn.integer.net_file import save_net
from vecchess.snn.presets import NetConfig


@pytest.mark.thorough
@pytest.mark.parametrize(
    "search", ["gumbel", *(pytest.param(name, marks=pytest.mark.slow) for name in ("none", "puct"))]
)
def test_the_first_run_compiles_and_the_second_does_not(
    search: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under a name of its own, so that other runs of this version do not see its mark."""
    mark = f"test-{search}-{{}}.compiled"
    monkeypatch.setattr("vecchess.selfplay.worker.precompile._MARK", mark)
    config = SelfplayConfig(net="constant", tree=TreeConfig(search=search))
    said = []
    try:
        for _ in range(2):
            lines: list[str] = []
            with Precompiler(config, lines.append) as warmup:
                assert warmup.finish("constant")
            said.append(lines)
    finally:
        for file in cache_dir(precompile.__name__).glob(f"test-{search}-*.compiled"):
            file.unlink()
    assert "compiled in" in said[0][-1]
    assert said[1] == []


def test_a_mark_is_of_one_kind_of_kernels(tmp_path: Path) -> None:
    """A run with spiking networks compiles nothing for their twin without time."""
    kinds = []
    kinds_of_sizes: list[dict[str, Any]] = [
        {},
        {"readout": "graded"},
        {"neuron": "relu", "time_steps": 1},
    ]
    for sizes in kinds_of_sizes:
        config = NetConfig(num_planes=NUM_PLANES, blocks=1, channels=64, **sizes)
        file = tmp_path / "net"
        save_net(new_network(config, 1, random_positions(16, 1)[0]), file)
        kinds.append(_kernels_of(str(file)))
    assert kinds == ["lif-spikes-int16", "lif-graded-int16", "relu-spikes-int32"]
    assert _kernels_of("constant") == "constant"


def test_who_waits_can_look_and_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pulse of a training goes on meanwhile, and a signal is not kept waiting."""
    monkeypatch.setattr("vecchess.selfplay.worker.precompile._MARK", "test-left-{}.compiled")
    looks = []
    with Precompiler(SelfplayConfig(net="constant"), looks.append) as warmup:
        assert not warmup.finish("constant", lambda: len(looks.append("") or looks) > 3)
    assert len(looks) == 4
    assert not active_children()
    assert not list(cache_dir(precompile.__name__).glob("test-left-*"))


def test_a_helper_asks_a_network_while_others_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompile, "num_cores", lambda: 2)
    with network_compiler(find("default"), "auto"):
        (helper,) = active_children()
        helper.join(120)
        assert helper.exitcode == 0
    with pytest.raises(KeyError), network_compiler(find("default"), "auto"):
        raise KeyError
    assert not active_children()


@pytest.mark.parametrize(
    ("net", "backend", "cores"),
    [
        ("material", "auto", 2),
        ("tiny", "auto", 2),
        ("default", "reference", 2),
        ("default", "cpu", 1),
    ],
)
def test_no_helper_where_none_is_of_use(
    net: str, backend: str, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precompile, "num_cores", lambda: cores)
    with network_compiler(find(net), backend):
        assert not active_children()


@pytest.mark.parametrize(("on_gpus", "kinds"), [(True, ["movers"]), (False, ["movers", "network"])])
def test_a_network_on_gpus_is_compiled_by_their_workers(
    on_gpus: bool, kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The processor's kernels would be of no use."""
    started: list[str] = []

    def note(self: Precompiler, kind: str, *_: object) -> None:
        started.append(kind.partition("-")[0])

    monkeypatch.setattr(Precompiler, "_start_helper", note)
    devices = [Device("cuda:0", f"gpu {index}", str(index)) if on_gpus else CPU for index in (0, 1)]
    with Precompiler(SelfplayConfig(net="constant"), print, devices) as warmup:
        assert warmup.finish("constant")
    assert started == kinds
