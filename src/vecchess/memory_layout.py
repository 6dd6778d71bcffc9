"""Records at addresses: memory with named fields that kernels read and write as attributes.

A layout is a class whose annotations are its fields, at the offsets a C compiler would choose:

    class EdgeRecord(Record, nbytes=16):
        child: I32
        visits: I32

In a kernel ``EdgeRecord(address)`` is such a record; ``edge.child`` is one load, ``edge.child = 3``
one store, and ``edge[2]`` the second record behind it. For the compiler a record is its address
and nothing else. Integers are loaded as ``int64`` (``U64`` as ``uint64``), reals as ``float64``;
what is stored is cut or rounded to the field. Nothing checks bounds.
numpy sees the same memory with ``EdgeRecord.dtype``.

A field ``Array[X]`` holds the address of the first of many ``X``, numbers or records:
``forest.nodes[index]`` is one of them. ``Annotated[Array[X], 12]`` is twelve of them in the record
itself, and a field whose type is a record class is such a record within this one.
``Annotated[I32, "other"]`` is another name for the memory of the field ``other``.

Decision 206.
"""

import operator
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_getattr,
    infer_global,
    signature,
)
from numba.extending import (
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    type_callable,
)

U8 = Annotated[int, np.dtype("u1")]
U16 = Annotated[int, np.dtype("u2")]
I32 = Annotated[int, np.dtype("i4")]
U32 = Annotated[int, np.dtype("u4")]
I64 = Annotated[int, np.dtype("i8")]
U64 = Annotated[int, np.dtype("u8")]
F32 = Annotated[float, np.dtype("f4")]
F64 = Annotated[float, np.dtype("f8")]

Item = TypeVar("Item")
_I64, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()


class Array(Generic[Item]):
    """The address of the first of many numbers or records; a field's annotation."""


class HoldsAddresses:
    """Refuses to be copied and pickled: the addresses in a copy would be those of the original."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Raise TypeError, as Python does for locks and files."""
        raise TypeError(
            f"a {type(self).__name__} holds addresses of its memory and cannot be copied: "
            "make another one"
        )


class Field(NamedTuple):
    """A field: ``dtype`` in memory, ``type`` in kernels; ``offset`` in bytes.

    is_inside: an array or record that is itself part of the memory. alias_of: see ``Record``.
    """

    dtype: np.dtype[Any]
    type: types.Type
    is_inside: bool = False
    alias_of: str = ""
    offset: int = 0


class Record:
    """Memory at an address, laid out as the annotations of a subclass are. For kernels."""

    dtype: ClassVar[np.dtype[np.void]]
    fields: ClassVar[dict[str, Field]]

    def __init__(self, address: Any) -> None:
        raise NotImplementedError("records at an address are for kernels; see ``dtype``")

    def __init_subclass__(cls, nbytes: int = 0) -> None:
        """Place the fields. nbytes: of the whole record, where that is more than they take."""
        hints = get_type_hints(cls, include_extras=True)
        fields = {name: _field(hints[name]) for name in cls.__annotations__}
        own = [(name, field.dtype) for name, field in fields.items() if not field.alias_of]
        packed: Any = np.dtype(own, align=True)
        size = nbytes or packed.itemsize
        assert size >= packed.itemsize, f"the fields of {cls.__name__} take {packed.itemsize} bytes"
        cls.fields = {
            name: field._replace(offset=packed.fields[field.alias_of or name][1])
            for name, field in fields.items()
        }
        formats = [field.dtype for field in fields.values()]
        offsets = [field.offset for field in cls.fields.values()]
        cls.dtype = np.dtype(
            {"names": list(fields), "formats": formats, "offsets": offsets, "itemsize": size}
        )
        type_callable(cls)(lambda context: lambda address: Pointer(cls))
        lower_builtin(cls, types.Integer)(_from_address)


class Pointer(types.Type):
    """numba's type of an address of ``item``: a record class, or the ``dtype`` of a number."""

    def __init__(self, item: Any) -> None:
        """A type is known by its name, so record classes must differ in theirs."""
        is_record = isinstance(item, type)
        self.item = item
        self.fields: dict[str, Field] = item.fields if is_record else {}
        self.item_bytes = int(item.dtype.itemsize if is_record else item.itemsize)
        self.item_type = self if is_record else _wide(item)
        super().__init__(f"Pointer({item.__name__ if is_record else item.str})")


def _field(hint: Any) -> Field:
    """The field of an annotation."""
    if isinstance(hint, type) and issubclass(hint, Record):
        return Field(hint.dtype, Pointer(hint), is_inside=True)
    if get_origin(hint) is Array:
        return Field(np.dtype(np.int64), Pointer(_item(hint)))
    kind, *facts = get_args(hint)
    if get_origin(kind) is Array:
        item = _item(kind)
        dtype = item.dtype if isinstance(item, type) else item  # type: ignore[attr-defined]
        return Field(np.dtype((dtype, (facts[0],))), Pointer(item), is_inside=True)
    return Field(facts[0], _wide(facts[0]), alias_of=facts[1] if len(facts) > 1 else "")


def _item(array: Any) -> Any:
    """X of ``Array[X]``: a record class, or a ``dtype``."""
    (item,) = get_args(array)
    return item if isinstance(item, type) else get_args(item)[1]


def _wide(dtype: np.dtype[Any]) -> types.Type:
    """The type that a number has in kernels."""
    if dtype.kind == "f":
        return types.float64
    return types.uint64 if dtype == np.uint64 else types.int64


@register_model(Pointer)
class _Model(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _I64)  # type: ignore[no-untyped-call]


def _from_address(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return context.cast(builder, args[0], sig.args[0], types.int64)


@infer_getattr
class _Attributes(AttributeTemplate):
    key = Pointer

    def generic_resolve(self, pointer: Pointer, name: str) -> Any:  # type: ignore[override]
        if name == "address":
            return types.int64
        return pointer.fields[name].type if name in pointer.fields else None


@lower_getattr_generic(Pointer)
def _get_field(context: Any, builder: Any, pointer: Any, address: Any, name: str) -> Any:
    if name == "address":
        return address
    field = pointer.fields[name]
    offset = ir.Constant(_I64, field.offset)
    if field.is_inside:
        return builder.add(address, offset)
    return _load(builder, field.dtype, _place(builder, address, offset))


@lower_setattr_generic(Pointer)
def _set_field(context: Any, builder: Any, sig: Any, args: Any, name: str) -> None:
    field = sig.args[0].fields[name]
    place = _place(builder, args[0], ir.Constant(_I64, field.offset))
    _store(builder, field.dtype, place, args[1])


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], Pointer) and isinstance(args[1], types.Integer):
            return signature(args[0].item_type, args[0], types.int64)
        return None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], Pointer) and isinstance(args[1], types.Integer):
            return signature(types.void, args[0], types.int64, args[0].item_type)
        return None


@lower_builtin(operator.getitem, Pointer, types.Integer)
def _get_item(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    pointer = sig.args[0]
    offset = builder.mul(args[1], ir.Constant(_I64, pointer.item_bytes))
    if isinstance(pointer.item, type):
        return builder.add(args[0], offset)
    return _load(builder, pointer.item, _place(builder, args[0], offset))


@lower_builtin(operator.setitem, Pointer, types.Integer, types.Any)
def _set_item(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    pointer = sig.args[0]
    offset = builder.mul(args[1], ir.Constant(_I64, pointer.item_bytes))
    _store(builder, pointer.item, _place(builder, args[0], offset), args[2])
    return context.get_dummy_value()


def _place(builder: Any, address: Any, offset: Any) -> Any:
    return builder.gep(builder.inttoptr(address, _BYTES), [offset])


def _llvm_type(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return ir.FloatType() if dtype.itemsize == 4 else ir.DoubleType()
    return ir.IntType(8 * dtype.itemsize)


def _load(builder: Any, dtype: np.dtype[Any], place: Any) -> Any:
    item = _llvm_type(dtype)
    value = builder.load(builder.bitcast(place, item.as_pointer()), align=dtype.itemsize)
    if dtype.itemsize == 8:
        return value
    if dtype.kind == "f":
        return builder.fpext(value, ir.DoubleType())
    return (builder.sext if dtype.kind == "i" else builder.zext)(value, _I64)


def _store(builder: Any, dtype: np.dtype[Any], place: Any, value: Any) -> None:
    item = _llvm_type(dtype)
    if dtype.itemsize < 8:
        value = (builder.fptrunc if dtype.kind == "f" else builder.trunc)(value, item)
    builder.store(value, builder.bitcast(place, item.as_pointer()), align=dtype.itemsize)
