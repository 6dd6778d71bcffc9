"""Opens what settings name, and restores the last good settings where that fails."""

import gc
from time import monotonic
from typing import TYPE_CHECKING

from vecchess.config import BUILT_IN_NETS, UciConfig
from vecchess.errors import VecchessError
from vecchess.runtime.reporting import ReportLine
from vecchess.uci.engine_options import Options

if TYPE_CHECKING:
    from vecchess.uci.engine_state import EngineState

MARK = "uci-{}.compiled"
WARM_SIMS = 200
OPENED = ("net", "gpus", "backend", "exits", "threads", "seed", "hash_mb", "lanes", "syzygy")


class OptionApplier:
    """Keeps the settings that were opened last without an error; at first the defaults."""

    def __init__(self, options: Options, inform: ReportLine, note: ReportLine) -> None:
        """``options``: where failed settings are restored. ``inform`` takes errors for the GUI,
        ``note`` lines for people."""
        self._options, self._inform, self._note = options, inform, note
        self._good = UciConfig()

    def load(self, engine: "EngineState", config: UciConfig) -> UciConfig:
        """Open what ``config`` names, and search with it once; returns ``config``, or the settings
        that are used instead."""
        try:
            engine.open(config)
        except (VecchessError, MemoryError, OSError) as error:
            reason = " ".join(str(error).split()) or "out of memory"
            self._inform(f"error: {reason} (still using {self._good.net})")
            self._options.config = self._without(self._options.config, config)
            config = self._without(config, config)
            engine.open(config)
        self._good = config
        if not engine.is_warm:
            warm_up(engine, config, self._note)
        return config

    def _without(self, config: UciConfig, failed: UciConfig) -> UciConfig:
        """``config`` with the last good value of each setting unchanged since ``failed``."""
        same = (name for name in OPENED if getattr(config, name) == getattr(failed, name))
        return config.model_copy(update={name: getattr(self._good, name) for name in same})


def warm_up(engine: "EngineState", config: UciConfig, note: ReportLine) -> None:
    """Search two positions of a game before the first search whose time counts.

    All kernels are then compiled, or loaded from the cache, and the speed is known.
    """
    from vecchess.jit import cache_dir
    from vecchess.uci.go_command import GoSearch
    from vecchess.uci.parse_command import Go, Position
    from vecchess.uci.uci_board import set_up

    kind = config.net if config.net in BUILT_IN_NETS else config.backend
    mark, start = cache_dir("search") / MARK.format(kind), monotonic()
    if not mark.exists():
        note("compiling the search and its network (once per version) ...")
    plain = config.model_copy(update={"limit_strength": False, "search": "puct"})
    for moves in ((), ("e2e4", "c7c5")):
        game, go = set_up(Position(moves=moves)), Go(nodes=WARM_SIMS)
        GoSearch(go, game, plain, lambda _, ready: ready, monotonic(), lambda line: None).run(
            engine
        )
    engine.session(plain).decide()
    engine.clear()
    engine.is_warm = True
    gc.collect()
    gc.freeze()  # a full collection over what numba and torch made takes 0.1 s, on the clock
    if not mark.exists():
        note(f"compiled in {monotonic() - start:.1f} s, kept in {cache_dir('search')}")
        mark.touch()
