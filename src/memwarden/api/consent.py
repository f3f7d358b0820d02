"""The user context with the person's consent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memwarden import arguments
from memwarden.api.handle import ScopeHandle
from memwarden.checks import NAME, check_whole, word
from memwarden.errors import Denied
from memwarden.observability.instrument import instrumented
from memwarden.observability.records import Node, Op
from memwarden.records import Consent, ConsentState, UserContext, WriteResult
from memwarden.remember.ingest.messages import checked_names
from memwarden.remember.resolve.user_context import CATEGORY, read_patch

if TYPE_CHECKING:
    from memwarden.remember.resolve.proposals import Proposals


# How a person's decision reached us.
WAYS = ("api", "cli", "ui", "chat")


class AsyncConsent(ScopeHandle):
    """Reads the user context, proposes changes of it, and records the person's decisions. See ``scope.consent``."""

    @property
    def _proposals(self) -> Proposals:
        return self._runtime.services.consents

    async def user_context(self) -> UserContext:
        """Return how the person wants to be called and spoken to, and what they aim for.

        All fields are None or empty until something is known. The same text stands in the category ``profile`` among
        the memories, as ``user-context``, for those agents that may read that category.

        Raises CategoryDenied for an agent that may not read ``profile``.
        """
        self._check_readable()
        return await self._proposals.context(self.who.namespace)

    @instrumented(Node.HOTPATH, Op.UPDATE)
    async def propose(
        self, patch: Mapping[str, Any], *, sources: Sequence[str] = (), confident: bool = False
    ) -> WriteResult:
        """Propose a change of the user context.

        ``preferred_name``, ``pronouns``, ``city`` and ``language`` change with the person's consent only, and so
        does what
        is taken out. A proposal waits for it for 7 days. ``tone`` and ``goals_add`` are changed at once when two
        different
        turns of the person speak for them, or a confident insight does. Else they wait, too. A tone also waits while
        another does, or when the person decided on it before.

        Args:
            patch: field to value. None empties a field. ``goals_add`` and ``goals_remove`` take a goal or a list of
            them. sources: ids of the turns, or of the memories resting on turns, that speak for it. Those of the person
            count. confident: it is an insight that is sure of itself. This counts for ``tone`` and ``goals_add`` alone.

        Returns a result for each change, in the order of the patch: ``updated`` (made), ``proposed`` with the id to
        decide on, or ``rejected`` when there is nothing to change. The reason begins with the field.

        Raises InvalidInput, CategoryDenied, Conflict, StoreError.
        """
        self._check_readable()
        arguments.check_truth(confident, "confident")
        return await self._proposals.propose(self.who, read_patch(patch), checked_names(sources, "sources"), confident)

    async def proposals(self, state: str | None = "pending", *, limit: int = 100, fill: bool = True) -> list[Consent]:
        """List proposed changes of the user context, the newest first.

        In a scope of the person, what their own turns of the last seven days say ("My pronouns are they/them", "Please
        keep answers short", "Call me Bo", in a dozen languages) is proposed first: nobody has to call :meth:`propose`.

        Args:
            state: ``pending``, ``approved``, ``declined``, ``expired``, ``applied``, ``replaced``, or None for all.
            What
                was decided is listed for 30 days. The journal keeps the decision.
            fill: False proposes nothing first and writes nothing, for who may only read.

        Raises InvalidInput, CategoryDenied.
        """
        self._check_readable()
        if state is not None:
            word(ConsentState).check(state, "state")
        check_whole(limit, "limit", 1, None)
        if arguments.check_truth(fill, "fill"):
            await self._fill()
        return await self._proposals.consents(self.who.namespace, state, limit)

    @instrumented(Node.HOTPATH, Op.UPDATE)
    async def decide(self, consent_id: str, approve: bool, *, way: str = "api") -> Consent:
        """Write down the person's decision on a proposal, and make the change if they approve.

        The journal tells who decided (the scope's actor, else its user) and how, never the value. An approval can be
        undone.

        Args:
            way: how the person decided: ``api``, ``cli``, ``ui`` or ``chat``.

        Raises NotFound; Conflict for a proposal that was decided on already or has expired; Denied for an agent: nobody
        consents for somebody else. InvalidInput, StoreError.
        """
        self._refuse_agent()
        NAME.check(consent_id, "a consent id")
        arguments.check_truth(approve, "approve")
        word(WAYS).check(way, "way")
        return await self._proposals.decide(self.who, consent_id, approve, way=way, by=self.who.actor or self.who.user)

    @instrumented(Node.HOTPATH, Op.UPDATE)
    async def acknowledge(self, turn_id: str) -> list[Consent]:
        """Take a person's turn as consent, or as the refusal of it, if it plainly is. Returns what was decided.

        It is when the turn right before it in the thread is the assistant's, was stored after the proposal, ends
        with its
        only question, which asks whether to keep exactly the proposed value for that field, and the person says yes
        or no and nothing else (English, German, Spanish, French, Japanese). Whatever is less plain decides nothing.

        Args:
            turn_id: of a turn that :meth:`observe` stored, as it returns it.

        Raises NotFound for an id that is no turn of this user; Denied for an agent, as :meth:`decide`.
        """
        NAME.check(turn_id, "a turn id")
        self._refuse_agent()
        await self._fill()
        return await self._proposals.acknowledge(self.who, turn_id)

    async def _fill(self) -> None:
        if self.who.agent is None:
            from memwarden.remember.resolve.told_context import fill_inbox  # read where somebody looks into the inbox

            await fill_inbox(self._runtime.store, self._proposals, self.who)

    def _refuse_agent(self) -> None:
        if self.who.agent is not None:
            raise Denied(
                f"agent {self.who.agent!r} cannot consent for a person; decide, or acknowledge the person's answer, in "
                "a scope without an agent"
            )

    def _check_readable(self) -> None:
        if self.who.agent is not None:
            self._categories.readable(self.who.agent, (CATEGORY,))
