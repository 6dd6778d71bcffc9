"""How ranks keep in touch: each has one wire to rank 0, which hears all and answers all.

    spoke -> hub    say       its part of an exchange: the operation's name and a value
                    stuck     a sum does not come to an end: find out who is missing
                    present   the answer to ``roll``
                    trouble   it ends with an error: the line and the exit code
    hub -> spoke    all       every rank's value, in the order of ranks
                    wait      rank 0 is here, others are missing
                    roll      say that you are there
                    over      the run ends: the line, the exit code, whether a rank is lost

This stands beside torch.distributed, which carries gradients alone, for three reasons. A time-out
there names a rank on rank 0 at best, here every rank hears the name. A rank that dies closes its
wire, so that all know at once, wherever they are. And an error of one rank reaches the others in
the middle of a sum.
"""

from collections.abc import Iterable
from time import monotonic
from typing import Any, NoReturn

from vecchess.errors import RankLost, VecchessError
from vecchess.safe_parse import clip_line
from vecchess.train.distributed.connection import Message, Wire, readable
from vecchess.train.distributed.messages import TO_HUB, TO_SPOKE, understood

ROLL_S = 5.0
"""A rank that does not answer a roll call for so long is lost."""
GRACE_S = 3.0
"""Others give rank 0 so much longer than it gives them: it knows more names than they do."""
WAIT_INTERVAL_S = 2.0
TOGETHER_S = 0.2
"""Ranks of one machine die together; so long after the first the others are looked for."""
LINGER_S = 1.0
"""To hang up on somebody whose words are not read yet would take ours back."""
LONGEST_LINE = 1000
"""Of another rank's error."""
RESUME = "every rank ends; start all machines again with --resume"


class SharedError(VecchessError):
    """An error of another rank. Empty where that rank or rank 0 has printed the line already."""

    def __init__(self, line: str, exit_code: int) -> None:
        """``line`` may be empty; ``exit_code`` is the same on all ranks."""
        super().__init__(line)
        self.exit_code = exit_code


def lost_line(ranks: Iterable[int], hosts: list[str], what: str) -> str:
    """The line about lost ranks: "rank 3 on gpu-7 and rank 4 on gpu-7 do not answer ..."."""
    names = [f"rank {rank} on {hosts[rank]}" for rank in sorted(ranks)]
    return f"{' and '.join(names)} {what}: {RESUME}"


class Hub:
    """Rank 0's end of all wires."""

    def __init__(self, wires: dict[int, Wire], hosts: list[str]) -> None:
        """``wires`` by rank, without 0; ``hosts`` of all ranks."""
        for wire in wires.values():
            wire.trust()
        self._wires = wires
        self._hosts = hosts
        self._said: dict[int, Message] = {}
        self._present: set[int] = set()
        self._must_call = False

    def exchange(self, operation: str, value: Any, patience_s: float) -> list[Any]:
        """Every rank's value, on every rank.

        Raises RankLost where one does not turn up within ``patience_s``, SharedError where one
        has failed.
        """
        start = monotonic()
        next_word = start + WAIT_INTERVAL_S
        while len(self._said) < len(self._wires):
            now = monotonic()
            if now > start + patience_s:
                missing = self._wires.keys() - self._said.keys()
                self._lose(missing, f"did not turn up within {patience_s:g} s")
            if now > next_word:
                self._send_all({"kind": "wait"})
                next_word = now + WAIT_INTERVAL_S
            self._listen(min(next_word, start + patience_s) - now)
        said, self._said = self._said, {}
        for rank, message in said.items():
            assert message["operation"] == operation, (
                f"rank {rank} is at {message['operation']}, rank 0 at {operation}"
            )
        values = [value, *(said[rank]["value"] for rank in sorted(said))]
        self._send_all({"kind": "all", "values": values})
        return values

    def check(self) -> None:
        """Look, without waiting, whether everybody is there and well; raises as ``exchange``."""
        self._listen(0.0)
        if self._must_call:
            self.find_missing("a sum over ranks does not come to an end")

    def find_missing(self, reason: str) -> NoReturn:
        """Ask who is there, and raise RankLost that names those who are not."""
        self._must_call = False
        self._present = set()
        self._send_all({"kind": "roll"})
        deadline = monotonic() + ROLL_S
        while (left := deadline - monotonic()) > 0 and len(self._present) < len(self._wires):
            self._listen(left)
        missing = self._wires.keys() - self._present
        if missing:
            self._lose(missing, f"did not answer for {ROLL_S:g} s")
        self._end(f"all ranks answer, but {reason}: {RESUME}", RankLost.exit_code, is_lost=True)
        raise RankLost(f"all ranks answer, but {reason}: {RESUME}")

    def share(self, line: str, exit_code: int) -> bool:
        """End the run on all ranks with rank 0's error; rank 0 prints ``line`` itself: False."""
        self._end(line, exit_code, is_lost=False)
        return False

    def close(self) -> None:
        """Hang up on all, once they had a moment to read the last word."""
        for wire in self._wires.values():
            wire.end()
        open_wires = set(self._wires.values())
        deadline = monotonic() + LINGER_S
        while open_wires and (left := deadline - monotonic()) > 0:
            for wire in readable(list(open_wires), left):
                try:
                    wire.receive()
                except ConnectionError:
                    open_wires.remove(wire)
        for wire in self._wires.values():
            wire.close()

    def _listen(self, wait_s: float) -> None:
        ranks = {wire: rank for rank, wire in self._wires.items()}
        gone = {
            ranks[wire] for wire in readable(list(ranks), wait_s) if not self._read(ranks[wire])
        }
        if gone:
            for wire in readable(list(ranks), TOGETHER_S):
                if ranks[wire] not in gone and not self._read(ranks[wire]):
                    gone.add(ranks[wire])
            self._lose(gone, "died" if len(gone) == 1 else "died at the same time")

    def _read(self, rank: int) -> bool:
        """Take in what ``rank`` sent; False once it is gone."""
        try:
            messages = understood(self._wires[rank].receive(), TO_HUB)
        except ConnectionError:
            return False
        for message in messages:
            if message["kind"] == "say":
                self._said[rank] = message
                self._present.add(rank)  # it waits for an answer: it is there
            elif message["kind"] == "present":
                self._present.add(rank)
            elif message["kind"] == "stuck":
                self._must_call = True
            elif message["kind"] == "trouble":
                self._heed_trouble(rank, message)
        return True

    def _heed_trouble(self, rank: int, message: Message) -> NoReturn:
        line = clip_line(message["line"], LONGEST_LINE)
        named = f"rank {rank} on {self._hosts[rank]}: {line}" if line else ""
        self._end(named, message["exit_code"], is_lost=False)
        raise SharedError(named, message["exit_code"])

    def _lose(self, ranks: Iterable[int], what: str) -> NoReturn:
        line = lost_line(ranks, self._hosts, what)
        self._end(line, RankLost.exit_code, is_lost=True)
        raise RankLost(line)

    def _end(self, line: str, exit_code: int, is_lost: bool) -> None:
        self._send_all({"kind": "over", "line": line, "exit_code": exit_code, "is_lost": is_lost})

    def _send_all(self, message: Message) -> None:
        for wire in self._wires.values():
            try:
                wire.send(message)
            except ConnectionError:  # the next look at its wire says so
                continue


class Spoke:
    """Every other rank's end of its wire to rank 0. The same verbs as ``Hub``."""

    def __init__(self, wire: Wire, hosts: list[str]) -> None:
        """``hosts`` of all ranks."""
        wire.trust()
        self._wire = wire
        self._hosts = hosts
        self._values: list[Any] | None = None
        self._deadline = 0.0

    def exchange(self, operation: str, value: Any, patience_s: float) -> list[Any]:
        """As ``Hub.exchange``. Rank 0 counts as lost when it says nothing for ``patience_s``."""
        self._send({"kind": "say", "operation": operation, "value": value})
        patience_s += GRACE_S
        self._deadline = monotonic() + patience_s
        while self._values is None:
            left = self._deadline - monotonic()
            if left <= 0:
                self._lose_first(f"did not answer for {patience_s:g} s")
            self._listen(left, patience_s)
        values, self._values = self._values, None
        return values

    def check(self) -> None:
        """As ``Hub.check``."""
        self._listen(0.0, 0.0)

    def find_missing(self, reason: str) -> NoReturn:
        """As ``Hub.find_missing``: rank 0 asks, and tells."""
        self._send({"kind": "stuck"})
        deadline = monotonic() + ROLL_S + GRACE_S
        while (left := deadline - monotonic()) > 0:
            self._listen(left, 0.0)
        self._lose_first(f"did not answer for {ROLL_S + GRACE_S:g} s, and {reason}")

    def share(self, line: str, exit_code: int) -> bool:
        """Tell rank 0 of this rank's error; True once it has it, and so prints it."""
        try:
            self._send({"kind": "trouble", "line": line, "exit_code": exit_code})
            deadline = monotonic() + ROLL_S + GRACE_S
            while (left := deadline - monotonic()) > 0:
                self._listen(left, 0.0)
        except RankLost:
            return False
        except SharedError:
            return True
        return False

    def close(self) -> None:
        """Hang up."""
        self._wire.close()

    def _listen(self, wait_s: float, patience_s: float) -> None:
        if not readable([self._wire], wait_s):
            return
        try:
            messages = understood(self._wire.receive(), TO_SPOKE)
        except ConnectionError:
            self._lose_first("died")
        for message in messages:
            self._heed(message, patience_s)

    def _heed(self, message: Message, patience_s: float) -> None:
        if message["kind"] == "all":
            self._values = message["values"]
        elif message["kind"] == "wait":
            self._deadline = monotonic() + patience_s
        elif message["kind"] == "roll":
            self._send({"kind": "present"})
        elif message["kind"] == "over":
            if message["is_lost"]:
                raise RankLost(clip_line(message["line"], LONGEST_LINE))
            raise SharedError("", message["exit_code"])

    def _send(self, message: Message) -> None:
        try:
            self._wire.send(message)
        except ConnectionError:
            self._listen(0.0, 0.0)  # its last words, where there are any, say more
            self._lose_first("died")

    def _lose_first(self, what: str) -> NoReturn:
        raise RankLost(lost_line([0], self._hosts, what))
