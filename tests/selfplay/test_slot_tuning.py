"""Where remembered slot counts are used, and that they change no game."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.nets import FOUR_STEPS
from vecchess.config import SelfplayConfig, TreeConfig
from vecchess.inference.backend_registry import BackendChoice
from vecchess.inference.playable_net import BUILT_IN_SIZES
from vecchess.inference.tune.slot_search import Rung, SlotLimits
from vecchess.inference.tune.tuning_cache import TuningKey, store_tuned
from vecchess.machine_limits import Limit, MachineLimits
from vecchess.runtime.devices import CPU, Device, Share
from vecchess.selfplay.worker import slot_tuning as tuning
from vecchess.selfplay.worker.slot_tuning import tune, tuned_share, with_remembered_slots
from vecchess.snn.create import create_network
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.integer.net_file import save_net

GPU = Device("cuda:0", "gpu 0", "0")
WIDE = Share(slots=4096, games=8192, movers=3, threads=4)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tuning, "CPU_LADDER", [4, 8])


@pytest.fixture(scope="module")
def network() -> IntegerNet:
    return create_network(FOUR_STEPS, 0)


def test_tuning_is_remembered_and_taken_up(network: IntegerNet) -> None:
    config = SelfplayConfig(gpus="cpu", threads=1)
    assert with_remembered_slots(config, network.config, [CPU]) is config
    seen: list[Rung] = []
    tuned = tune(config, network, [CPU], SlotLimits(latency_ms=60_000), seen.append)
    assert tuned.remembered
    assert [rung.slots for rung in tuned.rungs] == [rung.slots for rung in seen] == [4, 8]
    assert tuned.limits.nbytes is not None
    assert with_remembered_slots(config, network.config, [CPU]).slots == tuned.chosen.slots
    assert with_remembered_slots(config, BUILT_IN_SIZES, [CPU]) is config
    assert with_remembered_slots(config, network.config, [GPU]) is config
    named = config.model_copy(update={"backend": "cpu"})
    assert with_remembered_slots(named, network.config, [CPU]).slots == tuned.chosen.slots
    two = config.model_copy(update={"threads": 2})
    assert with_remembered_slots(two, network.config, [CPU]) is two
    chosen = config.model_copy(update={"slots": 3})
    assert with_remembered_slots(chosen, network.config, [CPU]) is chosen


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """128 GiB, whatever this machine has."""
    found = MachineLimits(Limit(128 << 30, "128 GiB"), Limit(16, "cores"))
    for user in ("search.tree_memory", "selfplay.worker.memory_plan"):
        monkeypatch.setattr(f"vecchess.{user}.machine_limits", lambda: found)


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize(("tree_mb", "slots"), [(0, 1024), (5000, 1024), (500, 0)])
def test_remembered_slots_are_not_more_than_trees_may_take(
    network: IntegerNet, tree_mb: int, slots: int
) -> None:
    tree = TreeConfig(search="puct", sims=800, tree_mb=tree_mb)
    config = SelfplayConfig(gpus="cpu", threads=1, tree=tree)
    place = tuning._place(config, network.config, CPU, Share(128, 256, 1, 1))
    store_tuned(place, Rung(1024, 1e6, 2.0, 10**9).to_dict())
    assert with_remembered_slots(config, network.config, [CPU]).slots == slots


@pytest.fixture
def gpu(network: IntegerNet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A GPU of a made-up model; returns a network file."""
    monkeypatch.setattr(tuning, "_model", lambda device, threads: "made-up")
    monkeypatch.setattr(tuning, "choose_backend", lambda *_: BackendChoice("cuda", ""))
    save_net(network, tmp_path / "net")
    return tmp_path / "net"


def test_a_gpu_worker_takes_what_is_remembered(gpu: Path, network: IntegerNet) -> None:
    config = SelfplayConfig()
    place = tuning._place(config, network.config, GPU, WIDE)
    store_tuned(place, Rung(16384, 1e6, 2.0, 10**9).to_dict())
    said: list[str] = []
    share = tuned_share(config, str(gpu), GPU, 1, WIDE, said.append, said.append)
    assert (share.slots, share.games, share.movers) == (16384, 32768, 3)
    assert said == []
    few = config.model_copy(update={"concurrent_games": 5000})
    share = tuned_share(few, str(gpu), GPU, 1, WIDE, said.append, said.append)
    assert (share.slots, share.games) == (5000, 5000)


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize(
    ("sims", "tree_mb", "num_workers", "slots"),
    [(800, 0, 1, 32768), (800, 0, 2, 16384), (800, 30_000, 1, 8192), (800, 1000, 1, 4096)],
)
def test_a_gpu_worker_halves_what_is_remembered_until_its_trees_fit(
    gpu: Path, network: IntegerNet, sims: int, tree_mb: int, num_workers: int, slots: int
) -> None:
    """Beside those of the other workers; what it was given it keeps."""
    config = SelfplayConfig(tree=TreeConfig(search="puct", sims=sims, tree_mb=tree_mb))
    place = tuning._place(config, network.config, GPU, WIDE)
    store_tuned(place, Rung(32768, 1e6, 2.0, 10**9).to_dict())
    share = tuned_share(config, str(gpu), GPU, num_workers, WIDE, print, print)
    assert (share.slots, share.games) == (slots, 2 * slots)


def test_a_gpu_worker_measures_where_nothing_is_remembered(
    gpu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung = Rung(1024, 1e6, 2.0, 10**9)
    monkeypatch.setattr(tuning, "measure_counts", lambda *_: [rung])
    monkeypatch.setattr(tuning, "default_limits", lambda device: SlotLimits())
    said: list[str] = []
    share = tuned_share(SelfplayConfig(), str(gpu), GPU, 1, WIDE, said.append, said.append)
    assert (share.slots, share.games) == (1024, 2048)
    assert "once" in said[0]
    assert "1,024 slots, 1,000,000 positions/s on made-up" in said[1]
    again = tuned_share(SelfplayConfig(), str(gpu), GPU, 1, WIDE, said.append, said.append)
    assert (again, len(said)) == (share, 2)


def test_a_gpu_worker_that_waited_takes_what_the_first_one_measured(
    gpu: Path, network: IntegerNet, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def others_measure(key: TuningKey) -> Iterator[None]:
        store_tuned(key, Rung(8192, 1e6, 2.0, 10**9).to_dict())
        yield

    monkeypatch.setattr(tuning, "tuning_alone", others_measure)
    monkeypatch.setattr(tuning, "tune", lambda *_: pytest.fail("measured again"))
    said: list[str] = []
    share = tuned_share(SelfplayConfig(), str(gpu), GPU, 1, WIDE, said.append, said.append)
    assert (share.slots, said) == (8192, [])


def test_shares_that_stay_as_they_are(gpu: Path) -> None:
    config = SelfplayConfig()
    small = Share(slots=100, games=100, movers=1, threads=1)
    chosen = config.model_copy(update={"slots": 4096})
    for settings, net, device, share in (
        (config, str(gpu), CPU, WIDE),
        (config, str(gpu), GPU, small),
        (chosen, str(gpu), GPU, WIDE),
        (config, "constant", GPU, WIDE),
    ):
        assert tuned_share(settings, net, device, 1, share, print, print) is share
