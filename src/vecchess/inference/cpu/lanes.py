"""Vectors for numba kernels: the LLVM of loops that numba does not vectorise well by itself.

An intrinsic takes an array and an offset in elements for every pointer, touches a fixed number of
neighbouring elements, and is inlined into the kernel. LLVM splits a vector into the registers that
the processor has.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

LANES = 16
"""Neurons that are updated together: int32 in a register of 512 bits."""
I8, I16, I32, I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))


def build(emit: Callable[..., None], *given: Any) -> Any:
    """Signature and code generator of a void numba intrinsic; ``given``: types of its arguments.

    ``emit`` is called with a builder and one LLVM value an argument; an array arrives as the
    pointer to its first element.
    """
    signature = types.void(*given)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = [
            context.make_array(kind)(context, builder, value).data
            if isinstance(kind, types.Array)
            else value
            for kind, value in zip(signature.args, arguments, strict=True)
        ]
        emit(builder, *values)
        return context.get_dummy_value()

    return signature, generate


def vector(element: Any, width: int = LANES) -> Any:
    """The type of ``width`` elements."""
    return ir.VectorType(element, width)


def load(builder: Any, pointer: Any, offset: Any, width: int = LANES) -> Any:
    """``width`` elements from ``pointer[offset]`` on."""
    kind = vector(pointer.type.pointee, width)
    place = builder.bitcast(builder.gep(pointer, [offset]), kind.as_pointer())
    return builder.load(place, align=kind.element.width // 8)


def store(builder: Any, values: Any, pointer: Any, offset: Any) -> None:
    """Write a vector to ``pointer[offset]`` and on."""
    place = builder.bitcast(builder.gep(pointer, [offset]), values.type.as_pointer())
    builder.store(values, place, align=values.type.element.width // 8)


def call(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    """Call the LLVM intrinsic ``name``, spelt with its types."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(builder.module.declare_intrinsic(name, (), kind), arguments)


def prefetch(builder: Any, pointer: Any, offset: Any) -> None:
    """Prefetch the cache line of ``pointer[offset]``, to be written soon."""
    place = builder.bitcast(builder.gep(pointer, [offset]), I8.as_pointer())
    call(builder, "llvm.prefetch.p0", ir.VoidType(), [place, I32(1), I32(3), I32(1)])


def splat(builder: Any, value: Any, width: int = LANES) -> Any:
    """``value`` in every lane."""
    kind = vector(value.type, width)
    single = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(I32, 0))
    return builder.shuffle_vector(single, single, ir.Constant(vector(I32, width), [0] * width))


def constant(element: Any, value: int, width: int = LANES) -> Any:
    """A vector of one known number."""
    return ir.Constant(vector(element, width), [value] * width)


def load_wide(builder: Any, pointer: Any, offset: Any, width: int = LANES) -> Any:
    """As ``load``, signed integers of 32 bits or fewer as int32."""
    values = load(builder, pointer, offset, width)
    return values if values.type.element == I32 else builder.sext(values, vector(I32, width))


def store_narrow(builder: Any, values: Any, pointer: Any, offset: Any) -> None:
    """As ``store``, int32 narrowed to the element type of the array."""
    element = pointer.type.pointee
    if element != I32:
        values = builder.trunc(values, vector(element, values.type.count))
    store(builder, values, pointer, offset)


class Loop:
    """``for index in range(begin, end, step)`` with values carried along, until ``close``."""

    def __init__(self, builder: Any, begin: Any, end: Any, step: int, initial: list[Any]) -> None:
        self._builder, self._end, self._step = builder, end, step
        self._entry, self._initial, self._begin = builder.block, initial, begin
        self._body = builder.append_basic_block("body")
        self._done = builder.append_basic_block("done")
        builder.cbranch(builder.icmp_signed("<", begin, end), self._body, self._done)
        builder.position_at_end(self._body)
        self.index = builder.phi(begin.type)
        self.carried = [builder.phi(value.type) for value in initial]

    def close(self, carried: list[Any]) -> list[Any]:
        """End the body with ``carried`` for the next round; returns the values after the loop."""
        builder, last = self._builder, self._builder.block
        following = builder.add(self.index, ir.Constant(self.index.type, self._step))
        builder.cbranch(builder.icmp_signed("<", following, self._end), self._body, self._done)
        self.index.add_incoming(self._begin, self._entry)
        self.index.add_incoming(following, last)
        for phi, first, again in zip(self.carried, self._initial, carried, strict=True):
            phi.add_incoming(first, self._entry)
            phi.add_incoming(again, last)
        builder.position_at_end(self._done)
        results = [builder.phi(value.type) for value in self._initial]
        for phi, first, again in zip(results, self._initial, carried, strict=True):
            phi.add_incoming(first, self._entry)
            phi.add_incoming(again, last)
        return results
