"""The verbs of a scope about the use of memories in prompts (F22): what somebody says of it, and what is known of it.

They are the methods of :class:`memwarden.api.scope.AsyncScope` under the same names. A signal is an operational
event: it lies beside the journal, takes no lock, changes no memory, and may be lost.
"""

from __future__ import annotations

from typing import Protocol

from memwarden import arguments
from memwarden.api.events import Looker, When, events
from memwarden.errors import InvalidInput
from memwarden.observability.instrument import EventDraft, tell_of
from memwarden.observability.records import MemoryUse, Node, Op, UseVerdict, uses_of
from memwarden.records import Memory

_ALL = 10**9


class Judge(Looker, Protocol):
    """What these verbs need of a scope."""

    async def get(self, memory_id: str) -> Memory: ...


async def feedback(self: Judge, memory_id: str, verdict: str, *, rev: int) -> None:
    """Say of what use a memory was in a prompt of this thread: in place of what was judged of it, or said before.

    A turn judges by itself, from the words of the answer. This verb is for what a person or a better judge knows. It
    changes no memory; :meth:`uses` tells what is known.

    Args:
        verdict: ``used``, ``unused``, ``wrong`` (it was not true, or harmed the answer), or ``withdrawn``, which takes
            back what was said and judged.
        rev: ``rev`` of the block that the memory stood in (``turn.block.rev``), which says of which prompt it is.

    Raises NotFound, InvalidInput.
    """
    memory = await self.get(memory_id)
    if not isinstance(verdict, str) or verdict not in set(UseVerdict):
        raise InvalidInput(f"verdict is one of {', '.join(UseVerdict)}, not {verdict!r:.80}")
    said = UseVerdict(verdict)
    deed = EventDraft(Op.USE, said.status, said, memory.id, memory.category)
    known = arguments.whole(rev, "rev", 0, None)
    if self._parts.events.takes:
        tell_of(self._parts.events.put, self.who, Node.HOTPATH, deed, known)


async def uses(self: Judge, *, memory_id: str | None = None, since: When = None) -> list[MemoryUse]:
    """Return how often memories that were put into prompts were of use there, the last one judged first.

    For each prompt the last word counts: what :meth:`feedback` said, else what the turn judged. Known is what
    operational events know: of ``events_days`` (30) days, and nothing with the setting ``events`` off.

    Args:
        memory_id: of one memory; None: of all. since: only prompts that were judged since then (included).

    Raises InvalidInput, StoreError.
    """
    return uses_of(await events(self, since=since, op=Op.USE, memory_id=memory_id, limit=_ALL))
