"""Compile the neuron's Triton kernels for a GPU that need not be there: ``python compile_lif.py``.

Raises what the compiler raises, and where its arithmetic would round as torch's does not.
"""

import os
from typing import Any

os.environ.pop("TRITON_INTERPRET", None)

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from vecchess.snn.kernels.surrogate import SIGMOID, SURROGATES
from vecchess.snn.modules.lif_triton import _block, lif_backward, lif_forward

ALIGNED = [["tt.divisibility", 16]]
WHOLE = {"step": "i32", "step_of_spikes": "i32", "num": "i32", "counts": "*i32"}
OPTIONAL = ("of_spikes", "share", "of_after", "of_before")


def compile_kernel(kernel: Any, constants: dict[str, Any], spikes: str = "*fp32") -> str:
    """For compute capability 9.0, with every pointer aligned to 16 bytes; its PTX. spikes: the type
    of them and of their gradient."""
    types = WHOLE | {"spikes": spikes, "of_spikes": spikes}
    signature, attributes = {}, {}
    for index, name in enumerate(kernel.arg_names):
        signature[name] = "constexpr" if name in constants else types.get(name, "*fp32")
        if signature[name].startswith("*"):
            attributes[(index,)] = ALIGNED
    source = ASTSource(kernel, signature, constants, attributes)
    options = {"enable_fp_fusion": False}
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    print(kernel.__name__, constants, f"{len(compiled.asm['cubin'])} bytes")
    return str(compiled.asm["ptx"])


def main() -> None:
    """Both kernels for few steps and many, every surrogate, gradients that are not needed."""
    texts = []
    for steps in (1, 4, 16):
        sizes = {"STEPS": steps, "GRID_BITS": 13, "BLOCK": _block(steps)}
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
    for text in texts:
        assert "fma.rn.f32" not in text, "a product and a sum became one"
        assert "div.full" not in text, "a division is not the nearest number"


if __name__ == "__main__":
    main()
