"""Use of memories in prompts."""

from __future__ import annotations

from memwarden.api.handle import ScopeHandle
from memwarden.api.journal import AsyncJournal, When
from memwarden.checks import check_whole, word
from memwarden.observability.instrument import record_event
from memwarden.observability.records import EventDraft, MemoryUse, Node, Op, UseVerdict, summarize_uses

_ALL_USES = 10**9


class AsyncUsage(ScopeHandle):
    """Takes feedback on memories that stood in prompts, and counts their use.

    A signal is an operational event: it lies beside the journal, takes no lock, changes no memory, and may be lost.
    """

    async def feedback(self, memory_id: str, verdict: str, *, rev: int) -> None:
        """Record of what use a memory was in a prompt of this thread. It replaces what was judged or said before.

        A turn judges by itself, from the words of the answer. This verb is for what a person or a better judge knows.
        It changes no memory. The job ``weigh`` moves importance by what was judged.

        Args:
            verdict: ``used``, ``unused``, ``wrong`` (it was not true, or harmed the answer), or ``withdrawn``, which
                takes back what was said and judged.
            rev: ``rev`` of the block that the memory stood in (``turn.block.rev``). It names the prompt.

        Raises NotFound, InvalidInput.
        """
        memory = await self._get(memory_id)
        said = UseVerdict(word(UseVerdict).check(verdict, "verdict"))
        draft = EventDraft(Op.USE, said.status, said, memory.id, memory.category)
        known = check_whole(rev, "rev", 0, None)
        if self._runtime.events.takes:
            record_event(self._runtime.events.put, self.who, Node.HOTPATH, draft, known)

    async def uses(self, *, memory_id: str | None = None, since: When = None) -> list[MemoryUse]:
        """Return how often memories that were put into prompts were of use there, the last judged first.

        For each prompt the last word counts: that of :meth:`feedback`, else that of the turn. It covers the days of the
        setting ``events_days`` (30), and is empty with the setting ``events`` off.

        Args:
            memory_id: of a single memory; None: of all. since: only prompts that were judged since then (included).

        Raises InvalidInput, StoreError.
        """
        journal = AsyncJournal(self._runtime, self.who)
        return summarize_uses(await journal.events(since=since, op=Op.USE, memory_id=memory_id, limit=_ALL_USES))
