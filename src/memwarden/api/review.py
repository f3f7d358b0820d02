"""Review of candidates, quarantined texts and held memories."""

from __future__ import annotations

from memwarden import arguments
from memwarden.api.handle import ScopeHandle
from memwarden.checks import check_whole, word
from memwarden.errors import Denied
from memwarden.observability.instrument import instrumented
from memwarden.observability.records import Node, Op
from memwarden.records import MemoryState, PendingReview, WriteResult


class AsyncReview(ScopeHandle):
    """Lists and decides on what is stored but in no answer yet: candidates and quarantined texts."""

    async def pending(self, state: str | None = None, *, limit: int = 100) -> list[PendingReview]:
        """List what is stored apart from all answers until somebody decides on it, newest first.

        The list is for a person's eyes: a quarantined text looks like orders for an assistant, so keep it out of
        prompts. Proposals for the user context are in ``scope.consent.proposals``.

        Args:
            state: ``candidate`` (a statement that is not certain enough until it is heard again) or ``quarantined`` (a
                text that looks like an attack). None: both. For an agent candidates alone, in categories that it may
                read.
            limit: the most entries.

        Raises InvalidInput; Denied for an agent that asks for quarantined texts.
        """
        from memwarden.remember.resolve.pending import REVIEWED_STATES, check_agent, list_pending

        if state is not None:
            word(sorted(REVIEWED_STATES)).check(state, "state")
            check_agent(self.who, state)
        states = [item for item in REVIEWED_STATES if state in (None, item)]
        if self.who.agent is not None:
            states = [MemoryState.CANDIDATE]
        most = check_whole(limit, "limit", 1, None)
        return await list_pending(self._runtime.store, self.who.namespace, states, self._readable, most)

    @instrumented(Node.HOTPATH, Op.RESTORE)
    async def approve(self, memory_id: str, *, vouch: bool = False) -> WriteResult:
        """Make a memory of what is pending. It is compared with what is known, as by ``scope.remember``.

        A quarantined text keeps its trust: it corrects nothing that a person said, and prompts show it without what
        reads like an order, even if nothing else is left. The decision is in the journal (CONFIRM). Its undo makes the
        text pending again.

        Args:
            vouch: a person has read the text and answers for its words. From now on they count as a person's: shown
                whole, and able to correct.

        Returns ``created``, ``merged`` or ``superseded``, as ``scope.remember``. Raises NotFound for an unknown id or
        a category that the agent may not read; Conflict for what is not pending; Denied for an agent that approves a
        quarantined text or vouches. InvalidInput, StoreError.
        """
        vouch = arguments.check_truth(vouch, "vouch")
        if vouch and self.who.agent is not None:
            raise Denied(f"agent {self.who.agent!r} cannot vouch for a text: use a scope without an agent for a person")
        return await self._runtime.services.reviews.approve(
            self.who, arguments.check_memory_id(memory_id), self._readable, vouch=vouch
        )

    @instrumented(Node.HOTPATH, Op.DELETE)
    async def reject(self, memory_id: str) -> WriteResult:
        """Give up what is pending. For 30 days that can be undone: then it is pending again.

        Raises as :meth:`approve`.
        """
        return await self._runtime.services.reviews.reject(
            self.who, arguments.check_memory_id(memory_id), self._readable
        )
