"""LLVM for kernels: instructions that numba lacks, and vectors that it does not make by itself.

``instruction`` turns a function that emits LLVM into a function for kernels, inlined where it is
used. An array arrives as the pointer to its first element, an address as an integer; bounds are not
checked. LLVM splits a vector into the registers that the processor has.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 16
"""Numbers of a vector where nothing else is said: int32 or float32 in a register of 512 bits."""
I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
F32, F64 = ir.FloatType(), ir.DoubleType()


class _BrainFloat(ir.Type):  # type: ignore[misc]
    """LLVM's bfloat, which llvmlite lacks."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BrainFloat)

    def __hash__(self) -> int:
        return hash(_BrainFloat)


BF16 = _BrainFloat()


def instruction(result: Any, *given: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: a function for kernels from ``emit(builder, *values) -> value``.

    given: types of its arguments, None for the type that is passed. result: ``types.void`` where
    ``emit`` returns nothing, a tuple where it returns a list. An argument of type int64, an address
    or an index, has to be an integer: uint64 + int64 is float64 in numba, and no address.
    """

    def decorate(emit: Callable[..., Any]) -> Any:
        @wraps(emit)
        def typer(typing: Any, *passed: Any) -> Any:
            kinds = [kind or own for kind, own in zip(given, passed, strict=True)]
            for kind, own in zip(kinds, passed, strict=True):
                if kind == types.int64 and not isinstance(own, types.Integer):
                    return None
            return build(emit, *kinds, result=result)

        return intrinsic(typer)

    return decorate


def build(emit: Callable[..., Any], *given: Any, result: Any = types.void) -> Any:
    """Signature and code generator of a numba intrinsic; see ``instruction``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = [
            context.make_array(kind)(context, builder, value).data
            if isinstance(kind, types.Array)
            else value
            for kind, value in zip(signature.args, arguments, strict=True)
        ]
        emitted = emit(builder, *values)
        if isinstance(emitted, list):
            return context.make_tuple(builder, signature.return_type, emitted)
        return context.get_dummy_value() if emitted is None else emitted

    return result(*given), generate


def call(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    """Call the LLVM intrinsic ``name``, spelt with its types."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(builder.module.declare_intrinsic(name, (), kind), arguments)


def vector(element: Any, width: int = LANES) -> Any:
    """The type of ``width`` elements."""
    return ir.VectorType(element, width)


def constant(element: Any, values: int | Sequence[int], width: int = LANES) -> Any:
    """A vector of known numbers, or of one known number."""
    listed = [values] * width if isinstance(values, int) else list(values)
    return ir.Constant(vector(element, len(listed)), listed)


def splat(builder: Any, value: Any, width: int = LANES) -> Any:
    """``value`` in every lane."""
    blank = ir.Constant(vector(value.type, width), ir.Undefined)
    single = builder.insert_element(blank, value, I32(0))
    return builder.shuffle_vector(single, blank, constant(I32, 0, width))


def load(builder: Any, pointer: Any, offset: Any, width: int = LANES) -> Any:
    """``width`` elements from ``pointer[offset]`` on."""
    kind = vector(pointer.type.pointee, width)
    place = builder.bitcast(builder.gep(pointer, [offset]), kind.as_pointer())
    return builder.load(place, align=_bytes(kind.element))


def store(builder: Any, values: Any, pointer: Any, offset: Any) -> None:
    """Write a vector to ``pointer[offset]`` and on."""
    place = builder.bitcast(builder.gep(pointer, [offset]), values.type.as_pointer())
    builder.store(values, place, align=_bytes(values.type.element))


def load_wide(builder: Any, pointer: Any, offset: Any, width: int = LANES) -> Any:
    """Load signed integers of 32 bits or fewer as int32."""
    return load_as(builder, pointer, offset, vector(I32, width))


def load_as(builder: Any, pointer: Any, offset: Any, kind: Any) -> Any:
    """Load signed integers, as many as the vector type ``kind`` has, widened to its own."""
    narrow = load(builder, pointer, offset, kind.count)
    return narrow if narrow.type == kind else builder.sext(narrow, kind)


def load_if(builder: Any, flag: Any, pointer: Any, offset: Any, otherwise: Any) -> Any:
    """Load a vector where the int64 ``flag`` is not 0; else it is ``otherwise``, and nothing is
    read."""
    before = builder.block
    with builder.if_then(builder.icmp_signed("!=", flag, I64(0))):
        found, within = load(builder, pointer, offset, otherwise.type.count), builder.block
    result = builder.phi(otherwise.type)
    result.add_incoming(otherwise, before)
    result.add_incoming(found, within)
    return result


def store_narrow(builder: Any, values: Any, pointer: Any, offset: Any) -> None:
    """Store int32, narrowed to the element type of the array."""
    narrow = builder.trunc(values, vector(pointer.type.pointee, values.type.count))
    store(builder, narrow, pointer, offset)


def prefetch_line(builder: Any, place: Any, is_written: bool) -> None:
    """Prefetch the cache line at a pointer, to be read or written soon."""
    line = builder.bitcast(place, I8.as_pointer())
    call(builder, "llvm.prefetch.p0", ir.VoidType(), [line, I32(int(is_written)), I32(3), I32(1)])


class Loop:
    """A loop that holds values in registers, as long as ``is_on(index)``; ends with ``close``."""

    def __init__(
        self, builder: Any, index: Any, is_on: Callable[[Any], Any], initial: list[Any]
    ) -> None:
        """index: a number, or a word of bits; carried: the values, first ``initial``."""
        self._builder, self._is_on = builder, is_on
        self._entry, self._initial = builder.block, [index, *initial]
        self._body, self._done = (builder.append_basic_block(name) for name in ("body", "done"))
        builder.cbranch(is_on(index), self._body, self._done)
        builder.position_at_end(self._body)
        self._phis = [builder.phi(value.type) for value in self._initial]
        self.index, *self.carried = self._phis

    def close(self, index: Any, carried: list[Any]) -> list[Any]:
        """End the body with the next round's values; returns those carried out of the loop."""
        builder, last, again = self._builder, self._builder.block, [index, *carried]
        builder.cbranch(self._is_on(index), self._body, self._done)
        builder.position_at_end(self._done)
        results = [builder.phi(value.type) for value in self._initial]
        for phis in (self._phis, results):
            for phi, first, following in zip(phis, self._initial, again, strict=True):
                phi.add_incoming(first, self._entry)
                phi.add_incoming(following, last)
        return results[1:]


def _bytes(element: Any) -> int:
    return 4 if element == F32 else int(element.width) // 8
