"""Messages of two processes: whole, in pieces, and none at all."""

from multiprocessing import Pipe

import pytest

from vecchess.runtime import json_pipe
from vecchess.runtime.json_pipe import JsonPipe, decode_message

pytestmark = pytest.mark.plain


def test_messages_arrive_in_order_and_the_end_is_none() -> None:
    one, other = Pipe()
    pipe, peer = JsonPipe(one), JsonPipe(other)
    assert pipe.receive() == []
    assert peer.send("games", ranges=[(0, 3)])
    assert peer.send("stop")
    pipe.wait()
    assert pipe.receive() == [{"kind": "games", "ranges": [[0, 3]]}, {"kind": "stop"}]
    other.close()
    assert pipe.receive() is None
    assert not pipe.send("note", line="nobody reads")


@pytest.mark.parametrize("data", [b"[1]\n", b'{"kind": 1}\n', b"{}\n", b"x" * 101])
def test_a_peer_that_sends_something_else_counts_as_gone(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_pipe, "MOST_BYTES", 100)
    one, other = Pipe()
    pipe = JsonPipe(one)
    other.send_bytes(data)
    assert pipe.receive() is None


def test_a_message_needs_a_kind() -> None:
    assert decode_message('{"kind": "a"}') == {"kind": "a"}
    with pytest.raises(ValueError, match="kind"):
        decode_message(b'{"type": "a"}')
