"""Searches of a batch of positions with an evaluator of the user's: policies and values back."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vecchess.chess.history import REPEATED_SHIFT, Pasts
from vecchess.chess.planes import NUM_PLANES, POSITION_INPUTS, require_planes_alone
from vecchess.chess.position import COUNTERS, Positions
from vecchess.chess.unpack_planes import unpack_planes
from vecchess.config import TreeConfig, build
from vecchess.errors import ConfigError
from vecchess.inference.float_backend import FloatBackend
from vecchess.search.batch_search import BatchSearch, SearchResults
from vecchess.search.tree.layout import UNIT
from vecchess.shapes import NUM_ACTIONS, NUM_OUTCOMES, POSITION_WORDS, TARGET_UNIT

Inputs = Literal["planes", "bitboards", "positions"]
"""What an evaluator is given: float32[K, P, 8, 8], uint64[K, P] or uint64[K, 8]."""
Evaluator = Callable[[NDArray[Any]], tuple[Any, Any]]
"""``inputs -> logits, values``, numpy or torch: float[K, 4672] of all actions, and float[K] the
expected result from -1 to 1, or float[K, 3] logits of win, draw and loss; the mover's view."""
_LEAST = 1e-6
"""Probability of a result that a value of 1 or -1 rules out."""


class EvaluatorBackend(FloatBackend):
    """``Backend`` with S slots: all that are admitted together are evaluated in one call.

    Logits are rounded to 2**-16. With ``batch_size`` the evaluator always gets so many rows, filled
    up with rows of zeros: then an answer of floats does not depend on how many others there are,
    and a compiled network sees one shape.
    """

    def __init__(
        self, evaluator: Evaluator, num_slots: int, inputs: Inputs, batch_size: int | None = None
    ) -> None:
        """``inputs``: see ``Inputs``; positions need rows of ``POSITION_INPUTS``."""
        super().__init__("the evaluator", num_slots, batch_size)
        self._evaluator, self._inputs = evaluator, inputs

    def _logits(self, planes: NDArray[np.uint64]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Logits of packed planes, uint64[K, P]; raises ValueError for those of wrong shapes."""
        logits, values = (_array(part) for part in self._evaluator(self._given(planes)))
        size = len(planes)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if logits.shape != (size, NUM_ACTIONS) or values.shape not in ((size,), (size, 3)):
            shapes = f"{list(logits.shape)} and {list(values.shape)}"
            wants = f"[{size}, {NUM_ACTIONS}] and [{size}] or [{size}, 3]"
            raise ValueError(f"the evaluator must give logits and values {wants}, not {shapes}")
        return logits, _outcome_logits(values)

    def _given(self, planes: NDArray[np.uint64]) -> NDArray[Any]:
        if self._inputs == "planes":
            unpacked: NDArray[Any] = unpack_planes(planes)
            return unpacked
        if self._inputs == "bitboards":
            return planes
        positions = planes[:, :POSITION_WORDS].copy()
        positions[:, COUNTERS] &= ~np.uint64(1 << REPEATED_SHIFT)
        return positions


def _array(answer: ArrayLike) -> NDArray[Any]:
    """An answer of numpy, or a tensor of torch on any device, as an array."""
    tensor: Any = answer
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().float().cpu().numpy()
    return np.asarray(tensor)


def _outcome_logits(values: NDArray[Any]) -> NDArray[np.float32]:
    """float32[K, 3] of win, draw, loss; a single value is a result without draws."""
    if values.ndim == 2:
        return values.astype(np.float32)
    logits = np.empty((len(values), NUM_OUTCOMES), np.float32)
    win = np.clip((1 + values.astype(np.float64)) / 2, _LEAST, 1 - _LEAST)
    logits[:, 0], logits[:, 1], logits[:, 2] = np.log(win), 2 * np.log(_LEAST), np.log1p(-win)
    return logits


class PolicyOutput(NamedTuple):
    """What searches of B positions found. Point of view: the side to move.

    action: int64[B] the move chosen. action_weights: float32[B, 4672] the policy to learn from,
    which sums to 1 and is 0 where an action is not legal. value: float32[B] of the root, -1 to 1,
    wdl: float32[B, 3] the same as probabilities of win, draw and loss. results: the searches as
    they are, with visits and values of every move of the root.
    """

    action: NDArray[np.int64]
    action_weights: NDArray[np.float32]
    value: NDArray[np.float32]
    wdl: NDArray[np.float32]
    results: SearchResults


class PolicySearch:
    """Searches up to B positions at a time with one evaluator. Not thread-safe."""

    def __init__(
        self,
        evaluator: Evaluator,
        num_positions: int,
        method: Literal["gumbel", "puct"] = "gumbel",
        num_simulations: int = 32,
        *,
        inputs: Inputs = "planes",
        num_planes: int = NUM_PLANES,
        batch_size: int | None = None,
        lanes: int = 1,
        **settings: Any,
    ) -> None:
        """B = ``num_positions``. ``evaluator``: see ``Evaluator``.

        ``num_planes``: P of planes and bitboards. ``batch_size``: rows of every call of the
        evaluator, None for as many as there are. ``lanes``: simulations of a position in flight.
        ``settings``: of ``TreeConfig``, as ``c_puct``; ``cache_mb`` is 0 unless given, because
        answers in a cache outlive the weights they came from.

        Raises ConfigError for settings that cannot be, and where memory is short, NetworkError for
        a P with inputs of moves.
        """
        if inputs not in ("planes", "bitboards", "positions"):
            raise ConfigError(f"inputs {inputs!r}: give 'planes', 'bitboards' or 'positions'")
        require_planes_alone(num_planes)
        if min(num_positions, lanes, 1 if batch_size is None else batch_size) < 1:
            raise ConfigError("num_positions, lanes and batch_size must be at least 1")
        given = {"search": method, "sims": num_simulations, "cache_mb": 0, **settings}
        self._config = build(TreeConfig, given)
        self._backend = EvaluatorBackend(evaluator, num_positions * lanes, inputs, batch_size)
        self._sizes: dict[str, Any] = {
            "num_trees": num_positions,
            "lanes": lanes,
            "num_planes": POSITION_INPUTS if inputs == "positions" else num_planes,
        }
        self._search: BatchSearch | None = None

    def __getstate__(self) -> dict[str, Any]:
        """A copy has the evaluator and the settings; its trees are made when it first runs."""
        return self.__dict__ | {"_search": None}

    def run(
        self,
        positions: Positions,
        *,
        keys: NDArray[np.uint64] | None = None,
        past: Pasts | None = None,
        seed: int = 0,
        numbers: ArrayLike | None = None,
        plies: ArrayLike = 0,
        temperature: ArrayLike = 1.0,
        explore: bool = False,
    ) -> PolicyOutput:
        """Search K <= B positions, uint64[K, 8], none of which is over.

        ``keys``: uint64[K, 102] and ``past``: uint64[K, 8, 8] of their games, for repetitions and
        earlier positions; ``Games`` has both. ``seed``, ``numbers`` (int[K], None for 0 to
        K - 1) and ``plies`` choose the random numbers. ``temperature``: of the choice with PUCT, of
        the Gumbel noise where ``explore``. ``explore``: with Gumbel or Dirichlet noise.

        Raises ValueError for wrong shapes and types, of the evaluator's answers too, a temperature
        below 0 or NaN, and games that are over, NetworkError for answers of NaN; what the evaluator
        raises passes through.
        """
        search = self._search or BatchSearch(self._config, self._backend, **self._sizes)
        self._search = None  # an error leaves requests open
        chosen = np.arange(len(positions)) if numbers is None else numbers
        results = search.run(
            positions, keys, past, seed=seed, numbers=chosen, plies=plies,
            temperature=temperature, explore=explore,
        )  # fmt: skip
        self._search = search
        return _output(results)


def _output(results: SearchResults) -> PolicyOutput:
    """The arrays of a user's loop."""
    num = len(results.action)
    weights = np.zeros((num, NUM_ACTIONS), np.float32)
    rows = np.repeat(np.arange(num), np.diff(results.target_offsets))
    weights[rows, results.target_action] = results.target_prob / np.float32(TARGET_UNIT)
    weights /= weights.sum(axis=1, keepdims=True)
    win, draw = results.win / UNIT, results.draw / UNIT
    wdl = np.stack([win, draw, 1 - win - draw], axis=1).astype(np.float32)
    return PolicyOutput(
        action=results.action.astype(np.int64),
        action_weights=weights,
        value=(2 * win + draw - 1).astype(np.float32),
        wdl=wdl,
        results=results,
    )
