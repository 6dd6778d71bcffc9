"""The contract of a network that a user brings: an ``nn.Module`` that takes one time step a call.

    class Mine(nn.Module):
        time_steps = 8

        def initial_state(self, num_slots): ...
        def forward(self, planes, state): ...      # -> policy, wdl, state

A row of the answer must follow from the same row of the input and of the state alone: no other row,
no random generator, nothing that the module remembers. ``check_step_module`` looks for that.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import Tensor

from vecchess.chess.planes import NUM_PLANES, history_of
from vecchess.errors import NetworkError
from vecchess.networks.state_nest import Nest, leaves, map_nest
from vecchess.safe_parse import clip_line
from vecchess.shapes import NUM_ACTIONS, NUM_OUTCOMES

MOST_TIME_STEPS = 64
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


class ExitThresholds(BaseModel):
    """When a position may leave before T, in logits; all that is set must hold."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    min_steps: int = Field(default=2, ge=1, le=254)
    """Fewest time steps."""
    policy_margin: float = Field(default=0.0, ge=0, le=1e4)
    """Margin of the best legal move over the second."""
    best_move_unchanged: bool = True
    """The best legal move is that of the step before."""
    value_drift: float | None = Field(default=None, ge=0, le=1e4)
    """Most that win, draw or loss may have moved in the last step."""


class ModuleSizes(BaseModel):
    """What vecchess has to know of a module; weights of equal ones may take each other's place."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    module: str
    """Its spec, without weights."""
    kind: Literal["module"] = "module"
    num_planes: int
    """P, input planes."""
    time_steps: int = Field(ge=1, le=MOST_TIME_STEPS)
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
    if not isinstance(module, StepModule):
        lacking = next(n for n in ("time_steps", "initial_state") if not hasattr(module, n))
        raise NetworkError(
            f"{spec}: the module has no {lacking}; see vecchess.networks.step_module"
        )
    values: dict[str, Any] = {"module": spec, "time_steps": module.time_steps}
    values["num_planes"] = getattr(module, "num_planes", NUM_PLANES)
    values["readout"] = getattr(module, "readout", "mean")
    exits = getattr(module, "exit_rule", None)
    values["exits"] = dict(exits) if isinstance(exits, Mapping) else exits
    try:
        sizes = ModuleSizes.model_validate(values)
        history_of(sizes.num_planes)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"])).replace("exits", "exit_rule")
        raise NetworkError(clip_line(f"{spec}: its {where}: {fault['msg']}")) from None
    except NetworkError as error:
        raise NetworkError(f"{spec} takes {error}") from None
    return sizes


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


def _two_steps(module: StepModule, step: StepFunction, planes: Tensor, spec: str) -> list[Tensor]:
    """Policies and values of the first two steps, their shapes checked."""
    try:
        state = module.initial_state(len(planes))
        found: list[Tensor] = []
        for _ in range(min(2, module.time_steps)):
            _require_slots(state, len(planes), spec)
            policy, wdl, after = step(planes, state)
            map_nest(_require_same_shape, state, after)
            found, state = [*found, policy, wdl], after
    except NetworkError:
        raise
    except Exception as error:  # code of the user may raise anything
        text = clip_line(f"{type(error).__name__}: {error}")
        raise NetworkError(f"{spec}: a time step fails: {text}") from error
    shapes = [(len(planes), NUM_ACTIONS), (len(planes), NUM_OUTCOMES)]
    for tensor, shape in zip(found, shapes * (len(found) // 2), strict=True):
        if not isinstance(tensor, Tensor) or tuple(tensor.shape) != shape:
            what = list(tensor.shape) if isinstance(tensor, Tensor) else type(tensor).__name__
            raise NetworkError(f"{spec}: a time step gives {what}, not {list(shape)}")
        if not bool(tensor.isfinite().all()):
            raise NetworkError(f"{spec}: a time step gives numbers that are not finite")
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
