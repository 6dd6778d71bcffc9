"""From what plays to a network on its device: found, loaded, with a backend that fits.

    net = open_network("default", slots=64)
    policy, outcomes = net.answer(requests)

``inference.source`` says what may be named.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vecchess.chess.fen import from_fens, is_chess960
from vecchess.chess.movegen import legal_moves
from vecchess.chess.planes import positions_seen
from vecchess.chess.uci_moves import move_to_uci
from vecchess.config import build
from vecchess.errors import ConfigError, DeviceError, NetworkError
from vecchess.inference.backend import Backend
from vecchess.inference.backend_registry import choose_backend, open_backend
from vecchess.inference.engine import answer_all
from vecchess.inference.playable_net import BuiltInNet, PlayableNet
from vecchess.inference.requests import Requests
from vecchess.inference.source import Source, find
from vecchess.runtime.devices import CPU, Device, parse_gpus, release_memory, see_only
from vecchess.runtime.reporting import ReportLine, no_report
from vecchess.snn.integer.bounds import check_bounds
from vecchess.snn.integer.integer_net import ExitRule, IntegerNet
from vecchess.snn.presets import NetConfig

FEWEST_SLOTS = 16
"""Fewest slots: a device that has no memory for so many is of no use."""


@dataclass(frozen=True)
class Evaluation:
    """A network's answer to one position. Point of view: the side to move."""

    fen: str
    moves: tuple[str, ...]
    """The L legal moves, UCI; castling is written as ``is_chess960`` says."""
    policy: NDArray[np.float64]
    """float64[L], the probability of each of ``moves``."""
    wdl: tuple[float, float, float]
    """Probabilities of win, draw and loss."""
    steps: int
    """Time steps that the network took."""

    @property
    def best(self) -> str:
        """The move of the highest probability, UCI."""
        return self.moves[int(self.policy.argmax())]


@dataclass(frozen=True)
class OpenNetwork:
    """A network on its device, which answers questions. Threads may share it: they take turns."""

    name: str
    """What it was called when it was opened."""
    net: PlayableNet
    backend: Backend
    device: Device
    turn: Lock = field(default_factory=Lock, repr=False, compare=False)
    """Held by the thread that asks; a backend answers one at a time."""

    @property
    def num_planes(self) -> int:
        """P of its questions, see ``chess.planes``."""
        return self.net.config.num_planes

    @property
    def facts(self) -> dict[str, Any]:
        """Its name and hash, ready for JSON."""
        sha256 = None if isinstance(self.net, BuiltInNet) else self.net.sha256
        return {"net": self.name, "sha256": sha256}

    def answer(self, requests: Requests) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Probabilities of the legal moves, in the order of ``requests.legal``, float64[R, L], and
        of win, draw and loss, float64[R, 3]; the steps taken are in ``requests.steps``."""
        with self.turn:
            answer_all(self.backend, requests)
        steps = requests.steps[:, None]
        legal = np.arange(requests.legal.shape[1]) < requests.num_legal[:, None]
        policy = requests.policy * self.backend.policy_scale / steps
        outcomes = requests.wdl * self.backend.value_scale / steps
        return softmax(np.where(legal, policy, -np.inf)), softmax(outcomes)

    def evaluate(self, fens: str | Sequence[str]) -> list[Evaluation]:
        """What the network answers to each FEN, without the positions before it.

        Raises ConfigError for a bad FEN, and for a position without a legal move.
        """
        fens = [fens] if isinstance(fens, str) else list(fens)
        positions = from_fens(fens)
        requests, (moves, counts) = Requests.at(positions, self.num_planes), legal_moves(positions)
        for fen, count in zip(fens, counts, strict=True):
            if count == 0:
                raise ConfigError(f"'{fen}' has no legal move: there is nothing to evaluate")
        policy, outcomes = self.answer(requests)
        is_960 = [is_chess960(position) for position in positions]
        return [
            Evaluation(
                fen,
                tuple(move_to_uci(position, int(each), is_960[row]) for each in moves[row, :count]),
                policy[row, :count],
                (float(outcomes[row, 0]), float(outcomes[row, 1]), float(outcomes[row, 2])),
                int(requests.steps[row]),
            )
            for row, (fen, position, count) in enumerate(zip(fens, positions, counts, strict=True))
        ]


def open_network(
    what: str | Source,
    slots: int,
    *,
    seed: int = 0,
    time_steps: int | None = None,
    exits: bool = True,
    backend: str = "auto",
    device: Device | str = CPU,
    threads: int = 1,
    report_line: ReportLine = no_report,
) -> OpenNetwork:
    """The network that ``what`` names (``inference.source``), for ``slots`` positions at a time.

    seed: of new weights. time_steps: instead of the network's own. device: one of them, or a text
    as of ``--gpus``, of which the first is taken; built-in networks are computed on the processor
    where that is "auto". threads: of the processor. Raises ConfigError, NetworkError and
    DeviceError, as ``open_loaded``.
    """
    source = find(what) if isinstance(what, str) else what
    if isinstance(device, str):
        is_free = source.kind == "built-in" and device == "auto"
        device = CPU if is_free else parse_gpus(device)[0]
    if source.kind != "built-in":
        see_only(device)
    net = source.load(seed)
    if time_steps not in (None, net.config.time_steps):
        net = _with_time_steps(net, source.text, time_steps)
    return open_loaded(
        net, source.text, slots, exits=exits, backend=backend, device=device, threads=threads,
        report_line=report_line,
    )  # fmt: skip


def open_loaded(
    net: PlayableNet,
    name: str,
    slots: int,
    *,
    exits: bool = True,
    backend: str = "auto",
    device: Device = CPU,
    threads: int = 1,
    report_line: ReportLine = no_report,
) -> OpenNetwork:
    """``net`` on ``device``; messages call it ``name``.

    ``report_line`` gets a line where the backend is not the one to be expected, or has fewer slots.
    Raises ConfigError for a backend or device that will not do, NetworkError for a network that
    will not, DeviceError where the device fails.
    """
    require_input(net, name)
    rule = exit_rule_of(net, exits)
    choice = choose_backend(backend, net.config, device.name)
    if choice.reason:
        report_line(choice.reason)

    def open_with(count: int) -> Backend:
        return open_backend(choice.name, net, count, rule, device.name, threads)

    return OpenNetwork(name, net, open_what_fits(open_with, slots, report_line), device)


def exit_rule_of(net: PlayableNet, exits: bool) -> ExitRule:
    """The rule that positions leave ``net`` by; raises NetworkError for one not understood."""
    return ExitRule.from_metadata(net.exit_rule) if exits else ExitRule.never()


def open_what_fits(
    open_with: Callable[[int], Backend], slots: int, report_line: ReportLine
) -> Backend:
    """``open_with(slots)``, with half as many and half again where the device has no memory."""
    while True:
        try:
            return open_with(slots)
        except DeviceError as error:
            if not error.out_of_memory or slots // 2 < FEWEST_SLOTS:
                raise
        release_memory()  # what was allocated before memory ran out
        report_line(f"the device has no memory for {slots:,} slots; trying {slots // 2:,}")
        slots //= 2


def require_input(net: PlayableNet, name: str) -> None:
    """Raise NetworkError for a network with input planes that vecchess does not make."""
    try:
        positions_seen(net.config.num_planes)
    except NetworkError as error:
        raise NetworkError(f"{name} takes {error}") from None


def _with_time_steps(net: PlayableNet, name: str, steps: int | None) -> PlayableNet:
    """The network with another number of time steps; raises ConfigError for a number that will
    not do, NetworkError where it is not proved exact."""
    if not isinstance(net, IntegerNet):
        raise ConfigError(f"{name}: T={steps} needs a network of vecchess's own")
    config = build(NetConfig, net.config.model_dump() | {"time_steps": steps})
    changed = replace(net, config=config)
    if not check_bounds(changed).exact:
        raise NetworkError(f"T={steps}: the network cannot be proved exact for so many steps")
    return changed


def softmax(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    """Probabilities of each row."""
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return shares
