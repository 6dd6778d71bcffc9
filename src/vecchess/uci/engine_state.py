"""The network and the tree: opened when first needed, and again when their settings change."""

import gc
from collections.abc import Iterable
from contextlib import suppress
from time import monotonic
from typing import Any

import chess

from vecchess.analysis.open_evaluator import compiling, open_evaluator
from vecchess.chess.fen import from_board
from vecchess.chess.uci_moves import from_chess_move
from vecchess.config import BUILT_IN_NETS, MATERIAL_NET, TreeConfig, UciConfig, build
from vecchess.errors import ConfigError, NetworkError, VecchessError
from vecchess.inference.open_network import OpenNetwork
from vecchess.machine_limits import MEGABYTE, machine_limits, memory_text
from vecchess.runtime.devices import CPU, parse_gpus
from vecchess.runtime.reporting import ReportLine
from vecchess.search.game_search import GameSearch
from vecchess.search.kernels.evaluation_cache import EvaluationCache
from vecchess.search.tablebase import Tablebase
from vecchess.search.tree_memory import TreeLimits
from vecchess.uci.engine_options import Options
from vecchess.uci.parse_command import Position
from vecchess.uci.search_snapshot import SearchSnapshot
from vecchess.uci.uci_board import UciGame, set_up

CPU_LANES, GPU_LANES = 32, 256
CACHE_SHARE = 4
"""The cache of evaluations gets this fraction of Hash, 1 / CACHE_SHARE."""
USUAL_SIMS = 800
FIRST_SPEED = 1000.0
"""Simulations a second, until they are measured."""
_TREE_FIELDS = (
    "c_puct", "c_puct_base", "c_puct_factor", "fpu_reduction", "root_fpu_reduction",
    "policy_temperature",
)  # fmt: skip
_NETWORK_FIELDS = ("net", "gpus", "backend", "exits", "threads", "seed", "lanes")
OPENED = (*_NETWORK_FIELDS, "hash_mb", "syzygy")
_FALLBACKS: dict[str, tuple[tuple[str, ...], ...]] = {
    "tablebases": (("syzygy",),),
    "hash": (("hash_mb",),),
    "network": (*((name,) for name in _NETWORK_FIELDS), _NETWORK_FIELDS),
}
"""Part of what is opened -> settings that may be wrong, tried in turn."""
_FAILURES = (VecchessError, MemoryError, OSError)
WARM_SIMS, WARM_LANES = 200, 2


class EngineState:
    """Network, cache, tablebases, tree, and the game searched last. One thread owns it."""

    def __init__(self, options: Options, inform: ReportLine, note: ReportLine) -> None:
        """The state before anything is opened. ``options``: where settings that cannot be opened
        are restored. ``inform`` takes errors for the GUI, ``note`` lines for people."""
        self._options, self._inform, self._note = options, inform, note
        self._good = UciConfig()
        """The settings that were opened last without an error."""
        self.speed = FIRST_SPEED
        """Simulations a second, of late."""
        self._warm = set[str]()
        """Kinds of search that have been tried with the open network."""
        self._evaluator: OpenNetwork | None = None
        self._cache: EvaluationCache | None = None
        self._tables: Tablebase | None = None
        self._temperature = 1.0
        """Temperature of the priors in the cache."""
        self._session: GameSearch | None = None
        self._opened: tuple[object, object, object] = (None, None, None)
        self._session_key: object = None
        self._game: UciGame | None = None
        self._part = ""
        """The part that is being opened, or failed: tablebases, then hash, then network; "" where
        all are open."""

    def load(self, config: UciConfig) -> UciConfig:
        """Open what ``config`` names, and search with it once; returns ``config``, or the settings
        that are used instead."""
        try:
            self.open(config)
        except _FAILURES as error:
            config = self._open_another(config, error)
        self._good = config
        if config.search not in self._warm:
            self._warm_up(config)
        return config

    def _open_another(self, failed: UciConfig, error: Exception) -> UciConfig:
        """Open ``failed`` with the last good value of what is wrong in it, and of nothing else.

        The line says what that is. An option that was set meanwhile stays. Raises ``error`` where
        the last good settings fail too.
        """
        if isinstance(error, NetworkError) and failed.net == self._good.net:
            self._good = self._good.model_copy(update={"net": MATERIAL_NET})  # needs no file
        config, part = failed, self._part
        while part:
            for names in _FALLBACKS[part]:
                other = _with_values(config, self._good, names)
                if other != config and (self._opens(other) or self._part != part):
                    break
            else:
                raise error
            config, part = other, self._part
        wrong = [name for name in OPENED if getattr(config, name) != getattr(failed, name)]
        reason = " ".join(str(error).split()) or "out of memory"
        using = ", ".join(f"{name} {getattr(config, name) or 'none'}" for name in wrong)
        self._inform(f"error: {reason} (going on with {using})")
        now = self._options.config
        same = [name for name in wrong if getattr(now, name) == getattr(failed, name)]
        self._options.config = _with_values(now, config, same)
        return config

    def _opens(self, config: UciConfig) -> bool:
        with suppress(*_FAILURES):
            self.open(config)
            return True
        return False

    def _warm_up(self, config: UciConfig) -> None:
        """Search two positions of a game before the first search whose time counts.

        All kernels are then compiled, or loaded from the cache, and the speed is known.
        """
        plain = config.model_copy(update={"limit_strength": False})
        with compiling("uci", config, self._note):
            session = self.session(plain)
            for moves in ((), ("e2e4", "c7c5")):
                game = set_up(Position(moves=moves))
                self.set_up(game)
                session.begin(WARM_SIMS, WARM_LANES)
                snapshot = SearchSnapshot(session, game, plain, monotonic(), self.speed)
                while not session.is_over:
                    session.advance(session.compute())
                snapshot.info(snapshot.lines(snapshot.choice(is_planned=False, power=None)))
                self.speed = snapshot.speed
            if config.search == "gumbel":  # a kernel that the first move can do without
                _ = session.decision
        self.clear()
        self._warm.add(config.search)
        gc.collect()
        gc.freeze()  # a full collection over what numba and torch made takes 0.1 s, on the clock

    def open(self, config: UciConfig) -> None:
        """Have network, cache and tablebases ready: those there are, where settings are the same.

        Raises ConfigError and NetworkError for what cannot be opened; what was open then still is.
        """
        network = tuple(getattr(config, name) for name in _NETWORK_FIELDS)
        wanted = (network, config.hash_mb, config.syzygy)
        self._part = ""
        if self._opened == wanted:
            return
        evaluator, cache, tables = self._evaluator, self._cache, self._tables
        is_new = evaluator is None or network != self._opened[0]
        self._part = "tablebases"
        if tables is None or config.syzygy != self._opened[2]:
            tables = Tablebase(config.syzygy, self._inform) if config.syzygy else None
        self._part = "hash"
        if cache is None or config.hash_mb != self._opened[1]:
            cache = _new_cache(config.hash_mb)
        self._part = "network"
        if is_new:
            evaluator = open_evaluator(config, _lanes(config), self._note)
            cache.clear()
        self._part = ""
        self._session = self._session_key = None
        self._evaluator, self._cache, self._tables = evaluator, cache, tables
        self._opened = wanted
        if is_new:
            self._warm.clear()

    def session(self, config: UciConfig, search: str = "puct", sims: int = 0) -> GameSearch:
        """The tree to search in: the one there is, if the settings are the same.

        sims: a "gumbel" search has to know them. Raises as ``open``.
        """
        self.open(config)
        assert self._evaluator is not None
        tree = tree_config(config, search, sims)
        key = (tree, config.seed)
        if self._session is None or key != self._session_key:
            self._session, self._game = None, None  # frees its memory before more is allocated
            if self._cache is not None and tree.prior_temperature != self._temperature:
                self._cache.clear()  # it has priors
            self._temperature = tree.prior_temperature
            tree_mb = config.hash_mb - config.hash_mb // CACHE_SHARE
            limits = TreeLimits.of_memory(tree_mb * MEGABYTE)
            self._session = GameSearch(
                tree, limits, self._evaluator.backend, _lanes(config), self._cache, self._tables,
                self._evaluator.num_planes, config.seed,
            )  # fmt: skip
            self._session_key = key
        return self._session

    def set_up(self, game: UciGame) -> GameSearch:
        """Bring the tree to a game's position and keep the part below it. After ``session``."""
        assert self._session is not None
        session, before = self._session, self._game
        self._game = None  # until all has succeeded
        if before is None or not game.begins_with(before):
            session.set_up(from_board(game.start))
            done = 0
        else:
            done = len(before.moves)
        white = (game.start.turn == chess.WHITE) == (done % 2 == 0)
        for move in game.moves[done:]:
            session.play(from_chess_move(move, white))
            white = not white
        self._game = game
        return session

    def clear(self) -> None:
        """Clear tree and cache."""
        self._game = None
        if self._session is not None:
            self._session.forget()
        if self._cache is not None:
            self._cache.clear()

    def close(self) -> None:
        """Drop everything: after an error all is opened again."""
        self._session = self._evaluator = self._cache = self._tables = self._game = None
        self._opened = (None, None, None)


def _with_values(config: UciConfig, other: UciConfig, names: Iterable[str]) -> UciConfig:
    """``config`` with the values of ``other`` for ``names``."""
    return config.model_copy(update={name: getattr(other, name) for name in names})


def _new_cache(hash_mb: int) -> EvaluationCache:
    """The cache's share of Hash. Raises ConfigError where all of it is beyond the memory."""
    if hash_mb * MEGABYTE > machine_limits().memory.amount:
        raise ConfigError(f"Hash {hash_mb:,} is more than the memory, {memory_text()}")
    return EvaluationCache(hash_mb // CACHE_SHARE)


def tree_config(config: UciConfig, search: str, sims: int) -> TreeConfig:
    """Settings of the trees of ``config``."""
    known: dict[str, Any] = {name: getattr(config, name) for name in _TREE_FIELDS}
    draw_score = 0.0 if config.analyse_mode else config.draw_score
    known |= {"search": search, "sims": sims or USUAL_SIMS, "draw_score": draw_score}
    return build(TreeConfig, known)


def _lanes(config: UciConfig) -> int:
    """Positions evaluated in parallel, at most."""
    if config.lanes:
        return config.lanes
    if config.net in BUILT_IN_NETS or parse_gpus(config.gpus)[0] == CPU:
        return CPU_LANES
    return GPU_LANES
