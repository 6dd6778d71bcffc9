"""What ranks say to each other: the words of each kind of message, and whether one has them all."""

from collections.abc import Mapping

from vecchess.train.distributed.connection import Message

Words = Mapping[str, Mapping[str, type]]
"""By kind of message: what has to be in it, and of which type."""
HELLO: dict[str, type] = {
    "rank": int,
    "host": str,
    "version": str,
    "world_size": int,
    "local_world_size": int,
    "kind": str,
    "word": str,
}
"""The first message of a rank, whose "kind" is that of its device."""
WELCOME: Words = {"welcome": {"hosts": list}, "over": {"line": str, "exit_code": int}}
"""Rank 0's answer to that."""
TO_HUB: Words = {
    "say": {"operation": str, "value": object},
    "stuck": {},
    "present": {},
    "trouble": {"line": str, "exit_code": int},
}
TO_SPOKE: Words = {
    "all": {"values": list},
    "wait": {},
    "roll": {},
    "over": {"line": str, "exit_code": int, "is_lost": bool},
}


def understood(messages: list[Message], words: Words) -> list[Message]:
    """The same messages. Raises ConnectionError where one is none of ``words``: whoever is at the
    other end is no rank of this training."""
    for message in messages:
        wanted = words.get(message["kind"])
        if wanted is None or not has_all(message, wanted):
            raise ConnectionError("the other end says what no rank says")
    return messages


def has_all(message: Message, wanted: Mapping[str, type]) -> bool:
    """Whether all words that are ``wanted`` are there, each of its type."""
    return all(
        name in message and isinstance(message[name], type_) for name, type_ in wanted.items()
    )
