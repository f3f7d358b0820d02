"""Fills the consent inbox with what a person's turns say for their user context. It proposes, and decides nothing."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from memwarden import filters
from memwarden.errors import Conflict, StoreError
from memwarden.records import Channel, Memory, Scope, Trust, UserContext
from memwarden.remember.resolve.proposals import PROPOSAL_LIFETIME, Proposals
from memwarden.remember.resolve.told_context import find_told_context
from memwarden.remember.resolve.user_context import VALUES, ContextEdit, is_same
from memwarden.stores.protocol import StoreReader

# The newest turns of the last days that are read; an older word has to be said again.
MAX_TURNS_READ: Final = 500

log = logging.getLogger(__name__)


async def fill_inbox(store: StoreReader, proposals: Proposals, scope: Scope) -> None:
    """Propose what the person's turns of the last seven days say, unless it was proposed from the same turns before.

    What they said last of a field counts. A store that cannot be written is left as it is.
    """
    turns = await _own_turns(store, scope, proposals)
    told = [(turn, edit) for turn in turns for edit in find_told_context(turn.text)]
    if not told:
        return
    known = {
        source for item in await proposals.consents(scope.namespace, None, MAX_TURNS_READ) for source in item.sources
    }
    context = await proposals.context(scope.namespace)
    for field in dict.fromkeys(edit.field for _, edit in told):
        said = [(turn, edit) for turn, edit in told if edit.field == field and not _is_past(context, turn, edit)]
        speaking = _turns_of_last_word(said)
        if speaking and not {turn.id for turn in speaking} & known:
            await _propose(proposals, scope, said[-1][1], speaking)


async def _propose(proposals: Proposals, scope: Scope, edit: ContextEdit, turns: Sequence[Memory]) -> None:
    try:
        await proposals.propose(scope, [edit], [turn.id for turn in turns], False, said_at=turns[0].updated_at)
    except (Conflict, StoreError) as error:
        log.info("the consent inbox was not filled: %s", type(error).__name__)


async def _own_turns(store: StoreReader, scope: Scope, proposals: Proposals) -> list[Memory]:
    """The person's own turns of the last days, the oldest first."""
    since = (proposals.now() - PROPOSAL_LIFETIME).isoformat()
    where = filters.parse({"channel": Channel.TURN, "role": "user", "created_at": {"$gte": since}})
    found = await store.find(scope.namespace, where, limit=MAX_TURNS_READ, order_by=filters.WRITTEN)
    return [turn for turn in reversed(found) if turn.trust == Trust.PERSON and _is_theirs(turn, scope.user)]


def _is_theirs(turn: Memory, user: str) -> bool:
    return turn.name is None or turn.name.casefold() == user.casefold()


def _is_past(context: UserContext, turn: Memory, edit: ContextEdit) -> bool:
    """Whether the field has a value and the context changed since: an old word does not question a newer decision."""
    held = getattr(context, edit.field) if edit.field in VALUES else None
    return held is not None and context.updated_at is not None and turn.updated_at <= context.updated_at


def _turns_of_last_word(said: Sequence[tuple[Memory, ContextEdit]]) -> list[Memory]:
    return [turn for turn, edit in said if is_same(edit, said[-1][1])]
