"""Slots and games for the memory that there is."""

import pytest

from vecchess.config import SelfplayConfig, TreeConfig
from vecchess.errors import ConfigError
from vecchess.machine_limits import MEGABYTE, Limit, MachineLimits
from vecchess.runtime.devices import CPU
from vecchess.selfplay.worker import memory_plan
from vecchess.selfplay.worker.memory_plan import MemoryNeed, check_search, fitting_share

SEARCH = SelfplayConfig(tree=TreeConfig(search="puct", sims=1600))


@pytest.fixture(autouse=True)
def container(monkeypatch: pytest.MonkeyPatch) -> None:
    found = MachineLimits(Limit(700 * MEGABYTE, "memory.max of /a"), Limit(0.5, "cpu.max of /a"))
    for user in ("machine_limits", "search.tree_memory", "selfplay.worker.memory_plan"):
        monkeypatch.setattr(f"vecchess.{user}.machine_limits", lambda: found)


def test_games_follow_from_the_memory_where_they_are_left_open() -> None:
    plain = fitting_share(SelfplayConfig(), [CPU], 10**6)
    assert (plain.games, plain.slots, plain.threads) == (256, 128, 1)
    share = fitting_share(SEARCH, [CPU], 10**6)
    assert (share.games, share.slots) == (64, 32)
    check_search(SEARCH.tree, share, [CPU])


def test_a_choice_that_does_not_fit_is_refused_with_what_it_needs() -> None:
    chosen = SEARCH.model_copy(update={"concurrent_games": 256})
    share = fitting_share(chosen, [CPU], 10**6)
    assert share.games == 256
    with pytest.raises(ConfigError, match="more than the memory, 700 MB"):
        check_search(SEARCH.tree, share, [CPU])
    five = [CPU] * 5
    with pytest.raises(ConfigError) as caught:
        check_search(TreeConfig(), fitting_share(SelfplayConfig(), five, 9), five)
    assert str(caught.value) == (
        "5 workers (games at a time: 1) may need 840 MB: processes 840 MB, caches 0 MB, trees 0 "
        "MB; the memory is 700 MB (memory.max of /a): give more, or take fewer workers, games "
        "at a time or simulations"
    )
    assert MemoryNeed.of(TreeConfig(), share, [CPU]).fits
    assert memory_plan.halved(memory_plan.halved(share)).games == 64
