"""The contract of a network that a user brings: an ``nn.Module`` that takes one time step a call.

    class Mine(nn.Module):
        time_steps = 8

        def initial_state(self, num_slots): ...
        def forward(self, planes, state): ...      # -> policy, wdl, state

A row of the answer must follow from the same row of the input and of the state alone: no other row,
no random generator, nothing that the module remembers. ``check_step_module`` looks for that.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import Any, Literal, Protocol, runtime_checkable

import chess
import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, ValidationError
from torch import Tensor

from vecchess.chess.fen import from_fens
from vecchess.chess.planes import (
    NUM_PLANES,
    encode_planes,
    history_of,
    require_planes_alone,
)
from vecchess.chess.unpack_planes import unpack_planes
from vecchess.config.settings import Settings
from vecchess.errors import NetworkError
from vecchess.networks.state_nest import Nest, leaves, map_nest
from vecchess.runtime.plugin import users_code
from vecchess.safe_parse import clip_line
from vecchess.shapes import MAX_TIME_STEPS, NUM_ACTIONS, NUM_OUTCOMES

EXAMPLE_FENS = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r1bqk2r/pppp1ppp/2n2n2/2b1p3/2B1P3/2NP1N2/PPP2PPP/R1BQK2R b KQkq - 0 5",
    "r2q1rk1/1b2bppp/p1n1pn2/1p6/3P4/P1NB1N2/1P2QPPP/R1B2RK1 w - - 3 14",
    "8/2p2pk1/1p1p2p1/p2Pr2p/P1P1R2P/1P4P1/5PK1/8 b - - 8 37",
    "8/8/1K6/2P5/8/5k2/7r/2R5 w - - 1 61",
)
"""Positions of games, in which modules are tried."""
StepFunction = Callable[[Tensor, Nest], tuple[Tensor, Tensor, Nest]]
"""``StepModule.forward`` of one module, or what computes the same otherwise."""


@runtime_checkable
class StepModule(Protocol):
    """What ``module:...`` makes: an ``nn.Module`` with these. Letters as in ``vecchess.shapes``.

    It may have these besides, as attributes or properties:
        num_planes  P, of ``vecchess.chess.planes``; 25 without it
        readout     "mean" (without it) or "last": the logits after t steps are the mean of the
                    outputs of these steps, or the output of the last one
        exit_rule   a mapping with some of ``ExitThresholds``; without it all positions take T steps
    """

    time_steps: int
    """T, the most steps that a position takes, 1 to 64."""

    def initial_state(self, num_slots: int) -> Nest:
        """The state of S positions before their first step, the same in every slot, on the
        module's device: a tensor[S, ...], or tuples, lists and dictionaries of such; or None."""
        ...

    def forward(self, planes: Tensor, state: Nest) -> tuple[Tensor, Tensor, Nest]:
        """One time step of S positions.

        planes: float32[S, P, 8, 8] of 0 and 1, mover's view, a1 at [0, 0], h1 at [0, 7]; the same
        at every step. Returns the policy [S, 4672] by action (``vecchess.chess.action``), wdl
        [S, 3] (win, draw, loss; mover's view) and the state after the step, which has the structure
        of the one before.
        """
        ...


class ExitThresholds(Settings):
    """When a position may leave before T, in logits; all that is set must hold."""

    min_steps: int = Field(default=2, ge=1, le=254)
    """Fewest time steps."""
    policy_margin: float = Field(default=0.0, ge=0, le=1e4)
    """Margin of the best legal move over the second."""
    best_move_unchanged: bool = True
    """The best legal move is that of the step before."""
    value_drift: float | None = Field(default=None, ge=0, le=1e4)
    """Most that win, draw or loss may have moved in the last step."""


class ModuleSizes(Settings):
    """What vecchess has to know of a module; weights of equal ones may take each other's place."""

    module: str
    """Its spec, without weights."""
    kind: Literal["module"] = "module"
    num_planes: int
    """P, input planes."""
    time_steps: int = Field(ge=1, le=MAX_TIME_STEPS)
    """T, the most time steps a position may take."""
    readout: Literal["mean", "last"] = "mean"
    """What the logits after a step are made of."""
    exits: ExitThresholds | None = None
    """When a position leaves before T; None: never."""

    def facts(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return self.model_dump(mode="json")


def sizes_of_module(module: object, spec: str) -> ModuleSizes:
    """The attributes of a module that meets the contract; NetworkError where one is wrong."""
    if not isinstance(module, torch.nn.Module):
        raise NetworkError(f"{spec} gives a {type(module).__name__}, not a torch.nn.Module")
    with users_code(spec, "the module"):
        lacking = [name for name in ("time_steps", "initial_state") if not hasattr(module, name)]
    if lacking:
        raise NetworkError(
            f"{spec}: the module has no {lacking[0]}; see vecchess.networks.step_module"
        )
    values: dict[str, Any] = {"module": spec}
    with users_code(spec, "the module"):
        for name, default in (("time_steps", None), ("num_planes", NUM_PLANES)):
            values[name] = _whole_number(getattr(module, name, default), f"{spec}: its {name}")
        values["readout"] = getattr(module, "readout", "mean")
        exits = getattr(module, "exit_rule", None)
        values["exits"] = dict(exits) if isinstance(exits, Mapping) else exits
    try:
        sizes = ModuleSizes.model_validate(values)
        require_planes_alone(sizes.num_planes)
        history_of(sizes.num_planes)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"])).replace("exits", "exit_rule")
        raise NetworkError(clip_line(f"{spec}: its {where}: {fault['msg']}")) from None
    except NetworkError as error:
        raise NetworkError(f"{spec} takes {error}") from None
    return sizes


def _whole_number(value: object, where: str) -> int:
    """``value``, an integer of any library; raises NetworkError for another."""
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise NetworkError(
            f"{where} is {clip_line(repr(value))}, a {type(value).__name__}; settings are texts, "
            "int(...) makes numbers of them"
        ) from None


@torch.inference_mode()
def check_step_module(
    module: StepModule, sizes: ModuleSizes, chunk: int, steps: Sequence[StepFunction] = ()
) -> None:
    """Raise NetworkError unless the module, in evaluation mode, meets the contract.

    ``steps``: functions that compute its time step, which have to agree; ``module.forward`` alone
    without them. Each takes a batch of ``chunk`` rows through two steps on random planes, the first
    again, and once more with the rows in another order: the same bits have to come back.
    """
    generator = torch.Generator().manual_seed(1)
    planes = torch.randint(0, 2, (chunk, sizes.num_planes, 8, 8), generator=generator).float()
    order = torch.randperm(chunk, generator=generator)
    device = next((tensor.device for tensor in _tensors(module)), torch.device("cpu"))
    planes, order = planes.to(device), order.to(device)
    step, *others = steps or [module.forward]

    def two_steps(taken: StepFunction, rows: Tensor) -> list[Tensor]:
        return _two_steps(module, taken, rows, sizes.module)

    first, again = (two_steps(step, planes) for _ in range(2))
    if not _same_bits(first, again):
        raise NetworkError(
            f"{sizes.module}: the same positions get different answers: forward draws random "
            "numbers, or the module remembers something outside its state"
        )
    elsewhere = two_steps(step, planes[order])
    if not _same_bits([tensor[order] for tensor in first], elsewhere):
        raise NetworkError(
            f"{sizes.module}: with {chunk} positions at a time an answer depends on its slot: the "
            "rows of a batch are mixed (batch norm in training mode?), or a kernel rounds "
            "differently by place; chunk=1 computes them one by one"
        )
    if not all(_same_bits(first, two_steps(other, planes)) for other in others):
        raise NetworkError(
            f"{sizes.module}: its threads give different answers; compute it with one, --threads 1"
        )


def example_planes(num_planes: int) -> Tensor:
    """float32[5, P, 8, 8]: positions from the opening to an ending, without those before them."""
    planes = encode_planes(from_fens(EXAMPLE_FENS), num_planes=num_planes)
    return torch.from_numpy(unpack_planes(planes))


def answer_of(output: Any, num_slots: int, spec: str) -> tuple[Tensor, Tensor, Nest]:
    """Policy [S, 4672], wdl [S, 3] and state: what ``forward`` has given, looked at.

    Raises NetworkError for anything else, of the module called ``spec``.
    """
    if not isinstance(output, tuple | list) or len(output) != 3:
        raise NetworkError(
            f"{spec}: forward gives {_shape_text(output)}; it has to give policy [S, 4672], wdl "
            "[S, 3] and the state after the step"
        )
    for tensor, width in zip(output, (NUM_ACTIONS, NUM_OUTCOMES), strict=False):
        if not isinstance(tensor, Tensor) or tuple(tensor.shape) != (num_slots, width):
            raise NetworkError(
                f"{spec}: a time step gives {_shape_text(tensor)}, not {[num_slots, width]}"
            )
    policy, wdl, state = output
    return policy, wdl, state


def _shape_text(value: Any) -> str:
    """What a value is, for people: shapes of tensors, within the structure that holds them."""
    if isinstance(value, Tensor):
        return str(list(value.shape))
    if isinstance(value, Mapping):
        return f"a dictionary of {clip_line(', '.join(map(str, value)), 60)}"
    if isinstance(value, tuple | list):
        parts = (_shape_text(part) for part in value[:4])
        return f"a {type(value).__name__} of {len(value)}: {', '.join(parts)}"
    return type(value).__name__


def placement(planes: NDArray[np.uint64]) -> str:
    """Where the pieces of input planes uint64[P] stand, as in a FEN; the mover is white."""
    board = chess.Board(None)
    for plane, men in enumerate(planes[:12].tolist()):
        piece = chess.Piece(plane % 6 + 1, plane < 6)
        for square in chess.scan_forward(men):
            board.set_piece_at(square, piece)
    return f"'{board.board_fen()}' (white to move)"


def _two_steps(module: StepModule, step: StepFunction, planes: Tensor, spec: str) -> list[Tensor]:
    """Policies and values of the first two steps, their shapes checked."""
    found: list[Tensor] = []
    with users_code(spec, "a time step"):
        state = module.initial_state(len(planes))
        for number in range(1, min(2, int(module.time_steps)) + 1):
            _require_slots(state, len(planes), spec)
            policy, wdl, after = answer_of(step(planes, state), len(planes), spec)
            map_nest(_require_same_shape, state, after)
            for name, tensor in (("policy", policy), ("win/draw/loss", wdl)):
                if (bad := tensor[~tensor.isfinite()]).numel():
                    raise NetworkError(
                        f"{spec}: {name} has {bad.numel():,} numbers that are not finite in step "
                        f"{number}, as {float(bad[0])}; illegal moves need no mask"
                    )
            found, state = [*found, policy, wdl], after
    return found


def _require_slots(state: Nest, num_slots: int, spec: str) -> None:
    """Raise NetworkError for a state whose tensors do not have the slots first."""
    for tensor in leaves(state):
        if tensor.dim() == 0 or len(tensor) != num_slots:
            raise NetworkError(
                f"{spec}: a tensor of the state has the shape {list(tensor.shape)}; its first "
                f"dimension has to be the slots, here {num_slots}"
            )


def _require_same_shape(before: Tensor, after: Tensor) -> None:
    if before.shape != after.shape or before.dtype != after.dtype:
        one, other = (f"{tensor.dtype}{list(tensor.shape)}" for tensor in (before, after))
        raise ValueError(f"a tensor of the state was {one} and is {other} now")


def _tensors(module: StepModule) -> list[Tensor]:
    assert isinstance(module, torch.nn.Module)
    return [*module.parameters(), *module.buffers()]


def _same_bits(ours: list[Tensor], theirs: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
