"""The engine of a page: a network, searches and self-play in an image of linear memory.

Memory is prepared by the classes that prepare it for this machine, one row and one tree each, and
the kernels are the same; a page writes a position or the number of a game, calls them in the order
in which ``search.tree_driver`` and ``selfplay.games.mover`` do, and reads the arrays.

An image is made with the processor "generic" alone (``GENERIC``), because the order of weights
depends on the width of vectors.
"""

import hashlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vecchess.browser.memory_image import KernelCall, MemoryImage
from vecchess.chess.bitboards import tables
from vecchess.chess.game_cursor import CursorMemory
from vecchess.chess.history import no_past
from vecchess.chess.movegen import MOVE_BUFFER
from vecchess.chess.rules import KEY_HISTORY
from vecchess.config import SelfplayConfig, TreeConfig, build, read_toml
from vecchess.errors import NetworkError, VecchessError
from vecchess.inference.cpu.kernels import Network, answer
from vecchess.inference.cpu.neurons import Leaky
from vecchess.inference.cpu.packed_network import cpu_network, new_scratch
from vecchess.inference.open_network import exit_rule_of
from vecchess.inference.requests import Requests
from vecchess.jit import cpu_features, kernel_sources
from vecchess.memory_layout import Record
from vecchess.search.forest import Forest
from vecchess.search.kernels.entry_points import (
    begin_searches,
    decide_searches,
    free_trees,
    search_rows,
)
from vecchess.search.tree import layout
from vecchess.search.tree_memory import TreeLimits
from vecchess.selfplay.games.game_ids import GameIdPool
from vecchess.selfplay.games.game_kernel import CURSOR_WORDS, play_rows
from vecchess.selfplay.games.game_log import read_heads, read_moves, unpack_words
from vecchess.selfplay.games.search_kernel import play_decisions
from vecchess.selfplay.games.search_mover import SearchMover
from vecchess.selfplay.worker.setup import mover_factory
from vecchess.shapes import MAX_MOVES, NUM_SQUARES, POSITION_WORDS
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.integer.integer_net import IntegerNet
from vecchess.snn.integer.net_file import load_net
from vecchess.snn.topology import neuron_layers
from vecchess.store.records import PLY_COLUMNS, empty_search_columns
from vecchess.store.replay_positions import write_requests
from vecchess.store.run_pins import rules_digest

GENERIC = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
"""Environment in which images are made, and kernels compiled for them."""
SCHEMA = 1
MOST_PLIES = 1200
"""Plies of a game on the page."""
MOST_SIMS = 4000
"""Simulations of an analysis."""
_RECORDS = (
    layout.ForestRecord, layout.TreeRecord, layout.NodeRecord, layout.EdgeRecord,
    layout.DecisionRecord,
)  # fmt: skip


@dataclass(frozen=True)
class EngineImage:
    """What a page loads: ``memory``, pairs of place and bytes, and ``facts`` for JSON."""

    memory: list[tuple[int, bytes]]
    facts: dict[str, Any]

    def to_bytes(self) -> bytes:
        """One file: the length of the facts, the facts as JSON, then each piece of memory."""
        pieces = [{"at": place, "bytes": len(data)} for place, data in self.memory]
        head = json.dumps(self.facts | {"pieces": pieces}, separators=(",", ":")).encode()
        head += b" " * (-len(head) % 8)
        return len(head).to_bytes(8, "little") + head + b"".join(data for _, data in self.memory)


def image_facts(data: bytes) -> dict[str, Any]:
    """The facts in ``EngineImage.to_bytes``."""
    facts: dict[str, Any] = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return facts


class EngineMemory:
    """The arrays of one engine on this machine, and the calls of its kernels."""

    def __init__(self, net: IntegerNet, config: SelfplayConfig, rows: int = 1) -> None:
        """``config``: how its games are played. ``rows``: games at a time.

        Raises NetworkError for a network that is not proved exact, and ConfigError.
        """
        report = check_bounds(net)
        report.require_exact()
        self.net, self.config, self.num_rows = net, config, rows
        self._sums: Any = np.int16 if report.int16_sums else np.int32
        self.network = cpu_network(net, self._sums)
        if net.config.neuron == "lif":  # computed by events alone
            layers = self.network.convolutions
            layers = layers._replace(dense=np.zeros_like(layers.dense))
            self.network = self.network._replace(convolutions=layers)
        self.calls: dict[str, KernelCall] = {}
        self.forests: dict[str, Forest] = {}
        self.decision = np.zeros(1, layout.DecisionRecord.dtype)
        """What the search decided; its call names it by an address."""
        self._add_network()
        self._add_game()
        self._add_search()
        self._add_selfplay()

    def _call(self, name: str, kernel: Any, *arguments: Any) -> None:
        self.calls[name] = KernelCall(kernel, arguments)

    def _add_network(self) -> None:
        """The network's answers, and those of the network cut behind a layer: its spikes."""
        config, rule = self.net.config, exit_rule_of(self.net, True)
        self._requests = Requests.empty(1, config.num_planes)
        scratch = new_scratch(config, 1, self._sums)
        if config.time_steps > len(scratch.sums):
            raise NetworkError("the page shows networks of up to 4 time steps")
        dense = np.zeros(len(self.network.convolutions.outputs), np.bool_)
        dense[1:] = config.neuron == "relu"  # an activation is no event
        self._dense, row = dense, np.zeros(1, np.int32)
        given = rule.as_integers(), rule.first_exit, dense, self.network
        self._call("answer", answer, row, *given, self._requests, scratch)
        if isinstance(self.network.neuron, Leaky):
            inner: Network = self.network._replace(readout=self.network.neuron)
            late = np.array([config.time_steps, 0, 0, -1], np.int64)
            own = new_scratch(config, 1, self._sums)
            everything = late, config.time_steps, dense, inner
            self._call("trace", answer, row, *everything, self._requests, own)

    def _add_game(self) -> None:
        """A game up to a position: its question to the network, and the board of the searches."""
        self._board = CursorMemory(
            np.zeros((1, POSITION_WORDS), np.uint64),
            np.zeros((1, KEY_HISTORY), np.uint64),
            no_past(1),
            np.zeros(MOVE_BUFFER, np.uint16),
        )
        board = self._board._replace(
            position=self._board.position[0], keys=self._board.keys[0],
            past=self._board.past.reshape(-1),
        )  # fmt: skip
        start = np.zeros((1, POSITION_WORDS), np.uint64)
        given = start, np.zeros(2, np.int64), np.zeros(MOST_PLIES, np.uint16), np.zeros(1, np.int64)
        asked = self._requests.planes, self._requests.legal, self._requests.num_legal
        rows = (*asked, np.zeros(1, np.int64), np.zeros(1, np.bool_))
        self._call("position", write_requests, tables.address(), *given, board, rows)

    def _add_search(self) -> None:
        """A tree over the position of the page."""
        config = build(TreeConfig, {"search": "puct", "sims": MOST_SIMS, "cache_mb": 0})
        boards = self._board.position, self._board.keys, self._board.past
        scales = self.net.policy_scale, self.net.value_scale
        forest = Forest(config, TreeLimits.of(config), boards, self._requests, scales, 0)
        tree = np.zeros(1, np.int64)
        numbers = tree, tree.copy(), tree.copy(), np.zeros(1, np.float64)
        self._add_forest("tree", forest, 1)
        self._call("tree.begin", begin_searches, forest.address, *numbers, config.sims, 0)
        self._call("tree.decide", decide_searches, forest.address, tree, self.decision.ctypes.data)
        self._call("tree.free", free_trees, forest.address, tree)

    def _add_forest(self, name: str, forest: Forest, rows: int) -> None:
        self.forests[name] = forest
        searched, decided = np.zeros(rows, np.int32), np.zeros(rows, np.int64)
        self._call(f"{name}.search", search_rows, forest.address, searched, decided)

    def _add_selfplay(self) -> None:
        """Games of self-play in rows of their own, by the run's settings."""
        net, num = self.net, self.num_rows
        tree = self.config.tree.model_copy(update={"cache_mb": 0})  # an image has none
        config = self.config.model_copy(update={"tree": tree})
        scales = net.policy_scale, net.value_scale
        make_mover = mover_factory(config, net.sha256, scales, net.config.time_steps)
        requests = Requests.empty(num, net.config.num_planes)
        mover = make_mover(requests, GameIdPool())
        if isinstance(mover, SearchMover):
            self._add_forest("games", mover.forest, num)
        mover.reserve_logs(num)
        self._mover = mover
        rows = np.arange(num, dtype=np.int32)
        rule, scratch = exit_rule_of(net, config.exits), new_scratch(net.config, 1, self._sums)
        self._call(
            "games.answer", answer, rows.copy(), rule.as_integers(), rule.first_exit, self._dense,
            self.network, requests, scratch,
        )  # fmt: skip
        supply, cursor = np.zeros(num + 1, np.int64), np.zeros(CURSOR_WORDS, np.int64)
        kernel, arguments = mover.kernel_call(supply, rows, rows.copy(), cursor)
        self._call("games.play", kernel, *arguments)
        self._add_unpacking(mover.rules.most_steps, mover.rules.max_plies)

    def _add_unpacking(self, most_steps: int, max_plies: int) -> None:
        """One finished game as the columns of a shard."""
        plies = max_plies + 1
        names = "action", "steps", "win", "draw", "prob", "tag"
        columns = tuple(np.zeros(plies, PLY_COLUMNS[name]) for name in names)
        room = self._mover.room
        self._call("games.plies", unpack_words, room.logged, most_steps, columns)
        found = empty_search_columns(plies)
        visits, full, thought, offsets = (
            found[name] for name in ("visits", "full", "thought", "target_offsets")
        )
        ends = np.zeros(2, np.int64), np.zeros(2, np.int64)
        words = room.words[:, 0]
        self._call("games.heads", read_heads, words, *ends, (visits, full, thought, offsets))
        targets = tuple(np.zeros(plies * MAX_MOVES, np.uint16) for _ in range(2))
        self._call("games.moves", read_moves, words, *ends, (offsets, *targets))


def engine_image(net: IntegerNet, config: SelfplayConfig, rows: int = 1) -> EngineImage:
    """The engine with ``net`` in an image; see ``EngineMemory``."""
    assert not cpu_features(), "an image is made with the settings of GENERIC"
    memory, image = EngineMemory(net, config, rows), MemoryImage()
    image.place(tables.block())
    for forest in memory.forests.values():
        for array, has_addresses in forest.memory():
            image.place(array, has_addresses)
    image.place(memory.decision)
    calls, blocks = {}, []
    for name, call in memory.calls.items():
        words, places = image.block(call)
        blocks.append(words)  # which lives as long as the image
        calls[name] = {"export": call.export, "at": image.place(words), "words": places}
    places_of = {name: image.translate(of.address) for name, of in memory.forests.items()}
    facts = _net_facts(memory) | {
        "schema": SCHEMA,
        "rules": rules_digest(config),
        "actions": image.translate(tables.address()) + 8 * tables.ACTIONS,
        "calls": calls,
        "forests": places_of,
        "records": {record.__name__: _fields(record) for record in _RECORDS},
        "nbytes": image.nbytes,
    }
    return EngineImage(list(image.segments()), facts)


def _net_facts(memory: EngineMemory) -> dict[str, Any]:
    net, num_layers = memory.net, len(memory.network.convolutions.outputs)
    sizes = list(neuron_layers(net.config).items())[:num_layers]  # without the value's
    return {
        "net": net.sha256,
        "time_steps": net.config.time_steps,
        "policy_scale": net.policy_scale,
        "value_scale": net.value_scale,
        "layers": [(name, size // NUM_SQUARES) for name, size in sizes],
    }


def _fields(record: type[Record]) -> dict[str, tuple[int, str]]:
    """Offset and type of each field."""
    return {name: (of.offset, of.dtype.str.lstrip("<|=")) for name, of in record.fields.items()}


def sources_digest() -> str:
    """Hash of the sources of all kernels and of this file: those compiled from others do not fit an
    image."""
    modules = (answer, write_requests, search_rows, play_rows, play_decisions, unpack_words)
    files = {file for kernel in modules for file in kernel_sources(kernel.__module__)}
    files.add(Path(__file__))
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def main(net: str, settings: str, rows: str, out: str) -> None:
    """Write the image of a network and of settings to a file."""
    try:
        config = build(SelfplayConfig, read_toml(Path(settings)))
        image = engine_image(load_net(net), config, int(rows))
    except VecchessError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    Path(out).write_bytes(image.to_bytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
