import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vecchess.config import SelfplayConfig
from vecchess.errors import ConfigError
from vecchess.machine_limits import num_cores
from vecchess.runtime.devices import CPU, divide_by_speed, parse_gpus, share_out


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
    devices = parse_gpus("1", lambda: ["4", "6"])
    assert (devices[0].visible, devices[0].name) == ("6", "cuda:0")
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
