"""Compile the neuron's Triton kernels, with a norm and without: ``python compile_lif.py``.

The GPU that they are for need not be there.

Raises what the compiler raises, and where its arithmetic would round as torch's does not.
"""

from typing import Any

from bench.gpu import machine_code

from vecchess.snn.kernels.surrogate import SIGMOID, SURROGATES
from vecchess.snn.modules.lif_triton import block_of, lif_backward, lif_forward
from vecchess.snn.modules.norm_lif_triton import (
    SQUARES,
    moments,
    norm_backward,
    norm_lif_backward,
    norm_lif_forward,
)

STEPS = ("step", "step_of_spikes", "step_of_shortcut", "step_of_summed")
NUMBERS = ("num", "num_channels", "parts_of_group")
WHOLE = dict.fromkeys((*STEPS, *NUMBERS), "i32") | {"counts": "*i32"}
OPTIONAL = ("of_spikes", "share", "of_after", "of_before")


def compile_kernel(
    kernel: Any, constants: dict[str, Any], spikes: str = "*fp32", currents: str = "*fp32"
) -> str:
    """Its PTX, see ``machine_code.compile_kernel``.

    spikes, currents: the types of them and of their gradients.
    """
    types = WHOLE | {"spikes": spikes, "of_spikes": spikes}
    types |= {"currents": currents, "of_currents": currents}
    compiled = machine_code.compile_kernel(
        kernel, constants, lambda name: types.get(name, "*fp32"), enable_fp_fusion=False
    )
    print(kernel.__name__, constants, f"{len(compiled.asm['cubin'])} bytes")
    return str(compiled.asm["ptx"])


def with_norm() -> list[str]:
    """The kernels that take the norm along, for 64 and 256 channels; the PTX of those that fire."""
    texts = []
    neuron = {"GRID_BITS": 13, "KIND": SURROGATES["atan"].number, "SLOPE": SURROGATES["atan"].slope}
    for lanes, kind in ((64, "*fp32"), (256, "*bf16")):
        rows = max(1, block_of(4) // lanes)
        sizes = {"STEPS": 4, "SQUARES": SQUARES, "ROWS": rows, "LANES": lanes}
        forward = sizes | {"GRID_BITS": 13}
        without = {"shortcut": None}
        for kernel in (moments, norm_backward):
            compile_kernel(kernel, sizes, kind, kind)
        texts.append(compile_kernel(norm_lif_forward, forward, kind, kind))
        absent = forward | without | {"summed": None}
        texts.append(compile_kernel(norm_lif_forward, absent, kind, kind))
        texts.append(compile_kernel(norm_lif_backward, sizes | neuron, kind, kind))
        absent = sizes | neuron | without | dict.fromkeys((*OPTIONAL, "of_summed"))
        texts.append(compile_kernel(norm_lif_backward, absent, kind, kind))
    return texts


def main() -> None:
    """Both kernels for few steps and many, every surrogate, gradients that are not needed."""
    texts = []
    for steps in (1, 4, 16):
        sizes = {"STEPS": steps, "GRID_BITS": 13, "BLOCK": block_of(steps)}
        texts.append(compile_kernel(lif_forward, sizes))
        for surrogate in SURROGATES.values() if steps == 4 else [SURROGATES["atan"]]:
            kind = {"KIND": surrogate.number, "SLOPE": surrogate.slope}
            missing = dict.fromkeys(OPTIONAL if steps == 1 else ())
            text = compile_kernel(lif_backward, sizes | kind | missing)
            if steps == 16:
                texts.append(compile_kernel(lif_forward, sizes, "*bf16"))
                texts.append(compile_kernel(lif_backward, sizes | kind, "*bf16"))
            if surrogate.number != SIGMOID:  # an exponential is made of multiply-adds
                texts.append(text)
    texts += with_norm()
    for text in texts:
        assert "fma.rn.f32" not in text, "a product and a sum became one"
        assert "div.full" not in text, "a division is not the nearest number"


if __name__ == "__main__":
    main()
