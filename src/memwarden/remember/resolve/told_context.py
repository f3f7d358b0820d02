"""Finds what a person's own words say of how they want to be called and spoken to, and fills the consent inbox with it.

High precision only: a sentence has to say it from its beginning to its end, in the first person and for now. What is
found is proposed (:mod:`memwarden.remember.resolve.proposals`), and the person decides.
"""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from memwarden import filters
from memwarden.errors import Conflict, StoreError
from memwarden.records import Channel, ConsentState, Memory, Scope, Trust, UserContext
from memwarden.remember.resolve.proposals import PROPOSAL_LIFETIME, Proposals
from memwarden.remember.resolve.user_context import TONE, VALUES, ContextEdit, is_same
from memwarden.stores.protocol import StoreReader
from memwarden.text.sentences import split_spans

# The newest turns of the last days that are read; an older word has to be said again.
MAX_TURNS_READ: Final = 500
_MAX_SENTENCE: Final = 160
_UNDECIDED: Final = (ConsentState.PENDING, ConsentState.REPLACED)
_JOINED: Final = re.compile(r"[,;] +(?:and |und |y |et |e |en |i )?| (?:and|und|y|et|e|en|i|и) |[，、,]")

log = logging.getLogger(__name__)


def find_told_context(text: str) -> list[ContextEdit]:
    """Return what a person's turn says for the fields of their user context; the last word on each field."""
    if not _wordings().hint.search(text):
        return []
    told: dict[str, ContextEdit] = {}
    for sentence in split_spans(text):
        if len(sentence.text) <= _MAX_SENTENCE:
            told |= {edit.field: edit for edit in _edits_of(sentence.text.replace("\u2019", "'"))}
    return list(told.values())


def _edits_of(sentence: str) -> Iterator[ContextEdit]:
    """The edits of a sentence; of its parts those before the first part that says something else."""
    if whole := _edit_of(sentence):
        yield whole
        return
    for part in _JOINED.split(sentence):
        edit = _edit_of(part)
        if edit is None:
            return
        yield edit


def _edit_of(part: str) -> ContextEdit | None:
    for tone, pattern in _wordings().tones:
        if pattern.search(part):
            return ContextEdit(TONE, tone)
    for field, pattern in _wordings().fields:
        if match := pattern.search(part):
            value = " ".join(match["v"].split()).strip(" .")
            return ContextEdit(field, value.casefold() if field == TONE else value) if value else None
    return None


class _Wordings(NamedTuple):
    """Patterns of whole sentences. hint: a word of it has to stand in a text before anything else is tried."""

    hint: re.Pattern[str]
    fields: tuple[tuple[str, re.Pattern[str]], ...]
    tones: tuple[tuple[str, re.Pattern[str]], ...]


@cache
def _wordings() -> _Wordings:
    raw = tomllib.loads(Path(__file__).with_name("told_context.toml").read_text(encoding="utf-8"))
    lead, end, closed_end = f"(?i){raw['lead']}", raw["end"], raw["closed_end"]
    fields = [
        (item["field"], re.compile(f"{begin}(?:{wording.replace('{v}', raw['values'][item['value']])}){over}"))
        for kind, begin, over in (("sentences", lead, end), ("closed", "^", closed_end))
        for item in raw[kind]
        for wording in item["wordings"]
    ]
    tones = [(tone, re.compile(f"{lead}(?:{said})(?:{end}|{closed_end})")) for tone, said in raw["tones"].items()]
    return _Wordings(re.compile(raw["hint"]), tuple(fields), tuple(tones))


async def fill_inbox(store: StoreReader, proposals: Proposals, scope: Scope) -> None:
    """Propose what the person's turns of the last seven days say, unless it waits from the same turns or was decided.

    What they said last of a field counts. A store that cannot be written is left as it is.
    """
    turns = await _own_turns(store, scope, proposals)
    told = [(turn, edit) for turn in turns for edit in find_told_context(turn.text)]
    if not told:
        return
    consents = await proposals.consents(scope.namespace, None, MAX_TURNS_READ)
    waiting = {source for item in consents if item.state == ConsentState.PENDING for source in item.sources}
    decided = {source for item in consents if item.state not in _UNDECIDED for source in item.sources}
    context = await proposals.context(scope.namespace)
    for field in dict.fromkeys(edit.field for _, edit in told):
        said = [(turn, edit) for turn, edit in told if edit.field == field and not _is_past(context, turn, edit)]
        speaking = _turns_of_last_word(said)
        ids = {turn.id for turn in speaking}
        # A second turn is a second signal for what waits. What was decided is not asked for again.
        if ids and not ids & decided and not ids <= waiting:
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
