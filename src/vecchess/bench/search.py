"""``bench search``: speed and memory of searches of many positions, with any evaluator."""

from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from vecchess.bench.throughput import ENDLESS, keep_to_cores
from vecchess.chess.sample import random_games
from vecchess.config import (
    CONSTANT_NET,
    MATERIAL_NET,
    SelfplayConfig,
    TreeConfig,
    build,
)
from vecchess.config.bench_settings import SearchBench
from vecchess.errors import ConfigError
from vecchess.inference.open_network import OpenNetwork, open_loaded
from vecchess.inference.source import find
from vecchess.machine_limits import num_cores
from vecchess.runtime.devices import CPU, parse_gpus, see_only, share_out
from vecchess.search.batch_search import BatchSearch
from vecchess.search.tree_memory import EDGE_BYTES, NODE_BYTES
from vecchess.selfplay.worker.slot_tuning import with_remembered_slots

SCHEMA = 1
ROUNDS = 5


def open_evaluator(net: str, rows: int, gpus: str = "auto", **settings: object) -> OpenNetwork:
    """An evaluator for R = ``rows`` request rows; settings: slots, threads, ... of self-play.

    Raises ConfigError for wrong settings, NetworkError for a network that cannot be used.
    """
    config = build(SelfplayConfig, {"net": net, "concurrent_games": rows} | settings)
    source, devices = find(net), [CPU]
    if source.kind != "built-in":
        devices = parse_gpus(gpus)
        if len(devices) > 1:
            raise ConfigError(f"--gpus {gpus}: a search is measured on one device at a time")
        see_only(devices[0])
    network = source.load(config.seed)
    config = with_remembered_slots(config, network.config, devices)
    slots, threads = config.slots or rows, 1
    if source.kind != "built-in":
        share = share_out(config, devices, ENDLESS)
        slots, threads = share.slots, share.threads
    return open_loaded(
        network, net, slots, exits=config.exits, backend=config.backend, device=devices[0],
        threads=threads,
    )  # fmt: skip


def run(config: SearchBench) -> dict[str, Any]:
    """Search in this process; returns the medians of ``MeasuredSearch.lap``, and ``memory``.

    The same without the cache is under "without_cache". Trees of the constant network are flat, as
    all its values are equal: "material", which counts material, is measured beside it. Raises
    ConfigError for settings, and NetworkError for a network, that cannot be measured.
    """
    keep_to_cores(config.cores)
    first = _open(config, config.net)
    rows = {"": (first, config.cache_mb)}
    if config.cache_mb:
        rows["without_cache"] = (first, 0)
    if config.net == CONSTANT_NET:
        rows[MATERIAL_NET] = (_open(config, MATERIAL_NET), config.cache_mb)
    facts: dict[str, Any] = {
        "schema": SCHEMA,
        "device": first.device.label,
        "net": config.net,
        "search": config.search,
        "sims": config.sims,
        "games": config.games,
        "lanes": config.lanes,
        "cache_mb": config.cache_mb,
        "slots": first.backend.num_slots,
        "cores": num_cores(),
    }
    for name, (evaluator, cache_mb) in rows.items():
        measured = _measure(config, evaluator, cache_mb, config.seconds / len(rows))
        facts |= {name: measured} if name else measured
    return facts


def _open(config: SearchBench, net: str) -> OpenNetwork:
    names = ("backend", "slots", "threads", "seed")
    settings = {name: getattr(config, name) for name in names}
    return open_evaluator(net, config.games * config.lanes, config.gpus, **settings)


def _measure(
    config: SearchBench, evaluator: OpenNetwork, cache_mb: int, seconds: float
) -> dict[str, Any]:
    search = MeasuredSearch(config, evaluator, cache_mb)
    search.search_batch()  # compiles, and allocates the memory
    laps = [search.lap(seconds / ROUNDS) for _ in range(ROUNDS)]
    middle = {name: median(lap[name] for lap in laps) for name in laps[0]}
    return {name: _rounded(value) for name, value in middle.items()} | search.memory()


def _rounded(value: float) -> float:
    return round(value) if value >= 1000 else round(value, 4)


class MeasuredSearch:
    """One search over batches of positions; each is new, and begins with an empty cache."""

    def __init__(self, config: SearchBench, evaluator: OpenNetwork, cache_mb: int) -> None:
        """Raises ConfigError where memory is short."""
        tree = TreeConfig(search=config.search, sims=config.sims, cache_mb=cache_mb)
        self._config = config
        self._search = BatchSearch(
            tree, evaluator.backend, config.games, config.seed, config.lanes,
            num_planes=evaluator.num_planes,
        )  # fmt: skip
        self._batches = 0
        self._most_nodes = 0

    def search_batch(self) -> tuple[float, int]:
        """Search the next G positions as self-play does; returns seconds and simulations."""
        games, nodes = self._config.games, self._reading()["nodes_made"]
        positions, past = random_games(games, self._config.seed + self._batches)
        numbers = np.arange(games) + self._batches * games
        if self._search.cache:
            self._search.cache.clear()
        start = perf_counter()
        results = self._search.run(
            positions, past=past, seed=self._config.seed, numbers=numbers, temperature=1.0,
            explore=True,
        )  # fmt: skip
        spent = perf_counter() - start
        self._batches += 1
        self._most_nodes = max(self._most_nodes, self._reading()["nodes_made"] - nodes)
        return spent, int(results.visits.sum())

    def lap(self, seconds: float) -> dict[str, float]:
        """Search for ``seconds``, one batch at least; returns speeds, sizes of trees, shares.

        Simulations are those below the root. The machinery is everything but the evaluator.
        """
        before, batches, simulations, spent = self._reading(), self._batches, 0, 0.0
        while spent < seconds:
            batch_s, visits = self.search_batch()
            spent, simulations = spent + batch_s, simulations + visits
        grown = {name: value - before[name] for name, value in self._reading().items()}
        moves = (self._batches - batches) * self._config.games
        busy = grown["busy_ns"] / 1e9 / spent
        return {
            "simulations_per_s": simulations / spent,
            "moves_per_s": moves / spent,
            "evals_per_s": grown["evaluations"] / spent,
            "nodes": grown["nodes_made"] / moves,
            "edges_per_node": grown["edges_made"] / grown["nodes_made"],
            "mean_depth": grown["depth"] / simulations,
            "terminals": grown["terminals"] / simulations,
            "cache_hit_rate": grown["cache_hits"] / max(grown["cache_probes"], 1),
            "device_busy": busy,
            "machinery": 1.0 - busy,
        }

    def memory(self) -> dict[str, Any]:
        """Bytes of all pages that trees have used, of those they may use, and for each node.

        A node with its edges takes ``node_bytes`` + edges_per_node * ``edge_bytes``; the rest of
        ``bytes_per_node`` is room at the ends of pages.
        """
        forest = self._search.forest
        return {
            "bytes_per_node": round(forest.bytes_touched / self._most_nodes, 1),
            "node_bytes": NODE_BYTES,
            "edge_bytes": EDGE_BYTES,
            "bytes_touched": forest.bytes_touched,
            "bytes_reserved": forest.bytes_reserved,
        }

    def _reading(self) -> dict[str, int]:
        counters = self._search.engine.counters
        return self._search.forest.counters() | {"busy_ns": counters.busy_ns}
