"""Corrections of turns: the right words as a new memory, beside what else a message says."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from memwarden.checks import quote as shorten
from memwarden.errors import InvalidInput
from memwarden.filters import Condition
from memwarden.records import CORRECTED, EXTRACTED_BY, QUOTATION, UNDOES, Channel, Event, Memory, Trust, leave_part_tags
from memwarden.remember.ingest.messages import Draft
from memwarden.remember.ingest.screening import trust_of
from memwarden.stores.protocol import StoreReader
from memwarden.text.language import language_of
from memwarden.text.lexicon import pattern_of
from memwarden.text.sentences import SentenceSpan, split_sentences, split_spans
from memwarden.text.small_talk import is_chatter
from memwarden.text.tokenizer import GLUED

# Maximum extracted memories of the moment of a turn that are read. A turn has up to three.
MAX_QUOTATIONS: Final = 50
# Maximum memories said after a turn that are read for what replaced its right words. People correct what is recent.
MAX_LATER: Final = 200
# Before and after quoted words: not within a word, but for scripts that write no spaces.
_LETTER: Final = rf"[^\W{GLUED}]"
_NOT_WITHIN: Final = (f"(?:(?<!{_LETTER})|(?!{_LETTER}))", f"(?:(?!{_LETTER})|(?<!{_LETTER}))")
# Between the label of a line in a list and its words: "home: I live in Bern."
_LABEL_END: Final = ": "
# What ends a sentence and is followed by nothing of it.
_CLOSING: Final = re.compile(r"[.!?…。！？।]+(?=\s|$)")


def find_quoted(text: str, quoted: str) -> list[SentenceSpan]:
    """Return where a text holds quoted words: once, or as whole sentences. White space matches any other.

    Words that it does not hold as they are written are looked for in any case, and then without the label of a list,
    as in "home: I live in Bern."

    Raises InvalidInput when it does not hold them, or holds them more than once and never as a sentence.
    """
    if not any(map(str.isalnum, quoted)):
        raise InvalidInput(f"{shorten(quoted)} holds no words; give words of the memory")
    found = _find_words(text, quoted)
    if not found:
        raise InvalidInput(f"the memory does not hold the words {shorten(quoted)}; give them as it has them")
    if len(found) == 1:
        return found
    whole = set(split_spans(text, small_starts=True))
    if not any(span in whole for span in found):
        raise InvalidInput(f"the memory holds the words {shorten(quoted)} more than once; give a whole sentence of it")
    return [span for span in found if span in whole]


def holds_quoted(text: str, quoted: str) -> bool:
    """Whether a text holds quoted words."""
    return bool(_find_words(text, quoted))


def _find_words(text: str, quoted: str) -> list[SentenceSpan]:
    """Return where a text holds words: as they are written, else in any case, else without a label before them."""
    _, _, unlabelled = quoted.partition(_LABEL_END)
    for words, flags in ((quoted, re.NOFLAG), (quoted, re.IGNORECASE), (unlabelled, re.IGNORECASE)):
        if any(map(str.isalnum, words)):
            hits = _pattern_of(words, flags).finditer(text)
            if spans := [SentenceSpan(*hit.span(), hit[0]) for hit in hits]:
                return spans
    return []


def _pattern_of(quoted: str, flags: re.RegexFlag) -> re.Pattern[str]:
    words = r"\s+".join(map(re.escape, quoted.split()))
    return re.compile(f"{_NOT_WITHIN[0]}{words}{_NOT_WITHIN[1]}", flags)


def replace_quoted(text: str, quoted: str, words: str) -> str:
    """Return a text with other words in the place of quoted ones. Raises as :func:`find_quoted`."""
    for span in reversed(find_quoted(text, quoted)):
        text = text[: span.start] + words + text[_end_of(text, span, words) :]
    return text


def correct_sentences(text: str, quoted: str, words: str) -> tuple[str, str]:
    """Return the sentences around quoted words with other words in their place, and the rest of the text.

    Raises as :func:`find_quoted`.
    """
    found = find_quoted(text, quoted)
    around = [
        each
        for each in split_spans(text, small_starts=True)
        if any(each.start < span.end and span.start < each.end for span in found)
    ]
    first = found[0]
    start = min(first.start, around[0].start)
    end = max(first.end, *(each.end for each in around if each.start < first.end))
    right = text[start : first.start] + words + text[_end_of(text[:end], first, words) : end]
    return right, _cut_out(text, around)


def _cut_out(text: str, spans: Sequence[SentenceSpan]) -> str:
    """Return a text without some of its sentences, which are in its order."""
    for span in reversed(spans):
        text = _join(text[: span.start], text[span.end :])
    return text.strip()


def stands_alone(rest: str) -> bool:
    """Whether the other words of a corrected message are understood without it: "My bike code is 4711."

    "ouch. picking it up on Wednesday" is not.
    """
    # They load numpy, which a command need not wait for.
    from memwarden.statements.explicit import read_text, says_whom

    things = pattern_of("objects", language_of(rest))
    if things.search(rest):
        return False
    # The capital of a first word does not show a name.
    read = [(read_text(sentence), sentence) for sentence in split_sentences(rest)]
    return all(says_whom(text) and (each.person == "self" or each.names - {each.first_name}) for each, text in read)


def _end_of(text: str, span: SentenceSpan, words: str) -> int:
    """Return where the text after a quotation goes on, without the sign that ends the sentence if the words end it."""
    after = _CLOSING.match(text, span.end)
    return span.end if after is None or not _CLOSING.match(words[-1:]) else after.end()


def _join(before: str, after: str) -> str:
    """Join what was around a sentence, on a line of its own if it was."""
    start, end = before.rstrip(), after.lstrip()
    line = "\n" in before[len(start) :] + after[: len(after) - len(end)]
    return ("\n" if line else " ").join(filter(None, (start, end)))


async def find_corrected(store: StoreReader, turn: Memory) -> list[str]:
    """Return the ids of what stands for a corrected turn, the right words first. Empty if it was not corrected."""
    undone: set[object] = set()
    for entry in await store.journal(turn.namespace, memory_id=turn.id, descending=True):
        meta = entry.meta or {}
        undone.add(meta.get(UNDOES))
        if entry.event == Event.UPDATE and "by" in meta and entry.step not in undone:
            step = await store.journal(turn.namespace, step=entry.step)
            others = (each.memory_id for each in step if each.event == Event.ADD and each.memory_id != meta["by"])
            return [str(meta["by"]), *others]
    return []


async def split_by_end(
    store: StoreReader, turn: Memory, words: str, readable: Collection[str] | None
) -> list[tuple[str, datetime | None]]:
    """Return the right words of a turn with the time at which a later memory of its speaker replaced them.

    Sentences that were replaced at different times, or of which some were not, are apart. What is still true is first.
    Small talk stays with the sentence after it. At the end of the words it stays with the sentence before it.

    readable: categories of the memories. None: all.
    """
    spans = list(split_spans(words))
    sentences = [" ".join(span.text.split()) for span in spans]
    ends = _join_small_talk(sentences, await _find_ends(store, turn, sentences, readable))
    times = sorted(set(ends), key=lambda end: (end is not None, end or turn.since))
    if len(times) == 1:
        return [(words, times[0])]
    return [
        (_cut_out(words, [span for span, each in zip(spans, ends, strict=True) if each != end]), end) for end in times
    ]


def _join_small_talk(sentences: Sequence[str], ends: Sequence[datetime | None]) -> list[datetime | None]:
    """Return the end of each sentence, where small talk ends with the nearest other sentence after or before it."""
    others = [place for place, sentence in enumerate(sentences) if not is_chatter(sentence)] or range(len(sentences))
    near = (min(bisect_left(others, place), len(others) - 1) for place in range(len(sentences)))
    return [ends[others[each]] for each in near]


async def _find_ends(
    store: StoreReader, turn: Memory, sentences: Sequence[str], readable: Collection[str] | None
) -> list[datetime | None]:
    """Return for each sentence when a later memory of the speaker of a turn replaced it."""
    where: tuple[Condition, ...] = (
        Condition("channel", "$in", (str(Channel.TURN), str(Channel.SEMANTIC))),
        Condition("created_at", "$gt", turn.created_at),
    )
    if readable is not None:
        where = (*where, Condition("category", "$in", tuple(readable)))
    # They load numpy, which a command need not wait for.
    from memwarden.remember.resolve.same_fact.updates import find_update
    from memwarden.statements.explicit import read_text

    rights = [read_text(sentence) for sentence in sentences]
    ends: list[datetime | None] = [None] * len(rights)
    for later in await store.find(turn.namespace, where, limit=MAX_LATER, descending=False):
        if later.role == "assistant" or later.trust == Trust.EXTERNAL or later.name != turn.name:
            continue
        # A message that was corrected ends nothing, nor does what was true before.
        if (later.channel == Channel.TURN and later.valid_to is not None) or later.since <= turn.since:
            continue
        news = [read_text(sentence) for sentence in split_sentences(later.text)]
        for place, right in enumerate(rights):
            if ends[place] is None and any(find_update(right, each) for each in news):
                ends[place] = later.since
    return ends


def make_correction(turn: Memory, changes: Mapping[str, Any], end: datetime | None = None) -> Draft:
    """Return the draft of the right words of a turn. changes: fields of the memory, with its text.

    They were said when the turn was, so what was said later is newer. They are true of the time of the turn, because
    its own words never were.

    end: the time at which the right words were replaced.
    """
    given = dict(changes)
    return Draft(
        text=given["text"],
        kind=given.get("kind"),
        category=given.get("category", turn.category),
        importance=given.get("importance", turn.importance),
        tags=given.get("tags", leave_part_tags(turn.tags)),
        pinned=given.get("pinned", turn.pinned),
        source=turn.source,
        summary=given.get("summary"),
        context=given.get("context"),
        characters=turn.characters,
        created_at=turn.said_at,
        valid_from=given.get("valid_from", turn.since),
        trust=trust_of(None, given.get("kind"), turn.source),
        role=_role_of_person(turn),
        name=turn.name,
        metadata=given.get("payload", turn.payload),
        expires_at=given.get("valid_to", end or turn.valid_to),
    )


def _role_of_person(turn: Memory) -> str | None:
    """Return the role of a person's turn, by which an answer shows its speaker and day. A correction is no model's."""
    return turn.role if turn.role == "user" else None


def make_rest(turn: Memory, rest: str) -> Draft:
    """Return the draft of the other words of a turn, as they were said."""
    return Draft(
        text=rest,
        category=turn.category,
        importance=turn.importance,
        tags=(*leave_part_tags(turn.tags), QUOTATION),
        pinned=turn.pinned,
        source=turn.source,
        sources=turn.sources,
        characters=turn.characters,
        created_at=turn.said_at,
        valid_from=turn.since,
        trust=turn.trust,
        role=turn.role,
        name=turn.name,
        metadata=turn.payload,
        expires_at=turn.valid_to,
    )


async def find_quotations(store: StoreReader, turn: Memory) -> list[Memory]:
    """Return the quotations that were extracted of a turn, also those that ended."""
    where = (
        Condition("thread_id", "$eq", turn.thread_id),
        Condition("actor_id", "$eq", EXTRACTED_BY),
        Condition("created_at", "$eq", turn.created_at),
    )
    found = await store.find(turn.namespace, where, limit=MAX_QUOTATIONS)
    return [memory for memory in found if QUOTATION in memory.tags and memory.sources[:1] == turn.sources[:1]]


def mark_corrected(turn: Memory, at: datetime) -> Memory:
    """Return a corrected turn, or a quotation of it: its words were never true, so it ends when it began.

    at: the time of the correction.
    """
    return replace(turn, kind=CORRECTED, valid_to=turn.since, updated_at=at)
