"""Groups the turns of a thread into exchanges. Decisions only, without I/O.

They depend on the thread alone, so that a log that is worked off later gives what it gave turn by turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memwarden.records import Memory

MAX_TURNS_BEFORE = 20
"""The most turns before the mark at which an exchange may begin."""


@dataclass(frozen=True, slots=True)
class ThreadTail:
    """The last turns behind a thread's mark, and how many turns there are in all."""

    turns: tuple[Memory, ...] = ()
    count: int = 0

    def open_exchange(self, *, two_person: bool) -> tuple[Memory, ...]:
        """Return the turns of the exchange that the mark stands in; none where the next turn begins an exchange.

        Where an exchange begins depends on the thread alone, not on how it was handed over or how far somebody looked.
        """
        if two_person:
            return self.turns[-1:] if self.count % 2 else ()
        asked = [place for place, turn in enumerate(self.turns) if turn.role == "user"]
        return self.turns[asked[-1] :] if asked else ()

    def with_turns(self, turns: Sequence[Memory]) -> ThreadTail:
        """The tail when the mark has moved beyond these."""
        return ThreadTail((*self.turns, *turns)[-MAX_TURNS_BEFORE:], self.count + len(turns))


@dataclass(frozen=True, slots=True)
class PendingTurns:
    """The turns before a thread's mark, in exchanges, and the mark after them.

    new: journal numbers of the turns that were not looked at yet; an exchange may begin with some that were.
    tail: what lies behind the mark when all is done.
    """

    exchanges: tuple[tuple[Memory, ...], ...]
    new: Mapping[str, int]
    since: int
    tail: ThreadTail

    def mark_after(self, exchanges: int) -> int:
        """Return the mark after the first exchanges of this number."""
        if exchanges == len(self.exchanges):
            return max(self.new.values())
        done = [
            self.new[turn.id] for exchange in self.exchanges[:exchanges] for turn in exchange if turn.id in self.new
        ]
        return max(done, default=self.since)


def group_exchanges(turns: Sequence[Memory], *, two_person: bool) -> tuple[tuple[Memory, ...], ...]:
    """Group turns: pairs between two people; else each of a person's messages with what answers it."""
    if two_person:
        return tuple(tuple(turns[begin : begin + 2]) for begin in range(0, len(turns), 2))
    found: list[list[Memory]] = []
    for turn in turns:
        if turn.role == "user" or not found:
            found.append([])
        found[-1].append(turn)
    return tuple(tuple(item) for item in found)
