"""The wire format of protocol buffers: the fields of one message, by number."""

import struct

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_MOST_VARINT_BYTES = 10

Fields = dict[int, list[int | memoryview]]
"""Values of a message in their order: numbers as they stand, texts and messages as bytes."""


def read_fields(message: memoryview) -> Fields:
    """The fields of a message. Raises ValueError where it is none."""
    fields: Fields = {}
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        kind = key & 7
        if kind == _VARINT:
            value: int | memoryview
            value, place = _varint(message, place)
        elif kind == _BYTES:
            size, place = _varint(message, place)
            value, place = _part(message, place, size)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            part, place = _part(message, place, 8 if kind == _EIGHT_BYTES else 4)
            value = int.from_bytes(part, "little")
        else:
            raise ValueError(f"a field of kind {kind}")
        fields.setdefault(key >> 3, []).append(value)
    return fields


def number_of(fields: Fields, field: int, default: int = 0) -> int:
    """The number in ``field``, the last if there are several. Raises ValueError for bytes."""
    value = fields.get(field, [default])[-1]
    if not isinstance(value, int):
        raise ValueError(f"field {field} is no number")
    return value


def real_of(fields: Fields, field: int) -> float:
    """The float32 in ``field``, 0 where there is none."""
    (value,) = struct.unpack("<f", struct.pack("<I", number_of(fields, field) & 0xFFFFFFFF))
    return float(value)


def bytes_of(fields: Fields, field: int) -> memoryview:
    """The bytes in ``field``, empty where there are none. Raises ValueError for a number."""
    value = fields.get(field, [memoryview(b"")])[-1]
    if isinstance(value, int):
        raise ValueError(f"field {field} is a number")
    return value


def messages_of(fields: Fields, field: int) -> list[Fields]:
    """The messages in ``field``. Raises ValueError where a value is none."""
    return [read_fields(value) for value in fields.get(field, []) if isinstance(value, memoryview)]


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and the place behind it."""
    value = 0
    for index, byte in enumerate(message[place : place + _MOST_VARINT_BYTES]):
        value |= (byte & 127) << 7 * index
        if byte < 128:
            return value, place + index + 1
    raise ValueError("it ends within a number")


def _part(message: memoryview, place: int, size: int) -> tuple[memoryview, int]:
    if size > len(message) - place:
        raise ValueError("it ends within a field")
    return message[place : place + size], place + size
