"""The object of a block, and its names."""

import pytest

from vecchess.errors import DataError
from vecchess.store.remote.block_file import BlockName, pack_block, unpack_block


def test_shard_and_cut_come_back() -> None:
    for shard, cut in ((b"shard", b"cut"), (b"", b"cut"), (b"shard", b"")):
        assert unpack_block("x", pack_block(shard, cut)) == (shard, cut)


def test_what_is_cut_short_or_something_else_is_refused() -> None:
    for data in (b"", pack_block(b"", b"cut")[:-1], b"X" + pack_block(b"s", b"c")[1:]):
        with pytest.raises(DataError, match="not the result of a block"):
            unpack_block("x", data)


def test_names_of_file_and_object_come_back() -> None:
    name = BlockName(12, 3, "host_7_ab")
    assert name.object == "fleet/blocks/000012/00003-host_7_ab"
    assert BlockName.of_object(name.object) == BlockName.of_file(name.file) == name
    for other in ("0000-000-c3a281-000000.npz", "b000012-00003-.npz", "b000012-00003-../x.npz"):
        assert BlockName.of_file(other) is None
    assert BlockName.of_object(f"{name.object}.claim") is None, "a claim is no result"
