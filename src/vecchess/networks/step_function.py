"""A time step of a module as a function: as it is, in bfloat16, compiled.

torch's compiler fuses a step for the one number of rows that it is called with. Under autocast
convolutions and matrix products are in bfloat16; the state keeps its types, so that a membrane in
float32 stays one.
"""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from vecchess.networks.module_spec import ModuleSpec
from vecchess.networks.state_nest import Nest, map_nest
from vecchess.networks.step_module import StepFunction, StepModule


def step_function(module: StepModule, spec: ModuleSpec, device: torch.device) -> StepFunction:
    """The time step of ``module``, which is on ``device``, as ``spec`` asks for it.

    A compiled one compiles at its first call. torch's compiler is not made for threads that call at
    the same time: all calls come from one.
    """
    step: StepFunction = module.forward
    if spec.is_compiled:
        step = _compiled(step, device)
    return _in_bfloat16(step, device) if spec.precision == "bf16" else step


def _in_bfloat16(step: StepFunction, device: torch.device) -> StepFunction:
    def taken(planes: Tensor, state: Nest) -> tuple[Tensor, Tensor, Nest]:
        with torch.autocast(device.type, torch.bfloat16):
            policy, wdl, after = step(planes, state)
        return policy.float(), wdl.float(), map_nest(_with_type, state, after)

    return taken


def _with_type(before: Tensor, after: Tensor) -> Tensor:
    return after.to(before.dtype)


def _compiled(step: StepFunction, device: torch.device) -> StepFunction:
    """torch may not give up on compiling after a while and compute ``step`` as it is, which may
    round differently: it raises instead, and every backend says so in a line."""
    from torch._dynamo import config

    is_cpu = device.type == "cpu"
    fused = torch.compile(step, dynamic=False, mode="default" if is_cpu else "reduce-overhead")

    def taken(planes: Tensor, state: Nest) -> tuple[Tensor, Tensor, Nest]:
        config.fail_on_recompile_limit_hit = True  # each thread has settings of its own
        if is_cpu:
            return fused(planes, state)
        torch.compiler.cudagraph_mark_step_begin()  # the next replay overwrites what this one gives
        policy, wdl, after = fused(planes, state)
        return policy.clone(), wdl.clone(), map_nest(torch.clone, after)

    return taken


def exact_convolutions(device: torch.device | str) -> AbstractContextManager[None]:
    """On a GPU: convolutions in whole float32, by the same algorithm every time."""
    if torch.device(device).type == "cpu":
        return nullcontext()
    return torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False)
