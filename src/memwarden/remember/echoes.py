"""Answers of an assistant that repeat what is forgotten or corrected."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from memwarden.filters import Condition
from memwarden.records import Channel, Memory, MessageResult, Namespace, WriteResult
from memwarden.stores.protocol import StoreReader
from memwarden.text.small_talk import content_terms

_ECHO_STAYS: Final = "An answer of the assistant repeats it and stays. Forget it, too: "
_BEFORE_ECHO: Final = ". "
# Maximum memories of a call whose echoes are looked for. A whole conversation is forgotten with its answers.
MAX_FORGOTTEN: Final = 20
# Turns of the thread read after the memory. An assistant repeats a fact in its reply, seldom much later.
MAX_TURNS: Final = 20
# Share of the content terms of a memory that its echo has.
SHARED: Final = 0.5
# Share of the content terms of an answer that the memory has.
REPEATED: Final = 0.75
# Content terms of a memory, a name among them, that its echo in other words has.
MIN_NAMED: Final = 2
# Digits of a number that tells a code, an amount or a date by itself.
_CODE: Final = re.compile(r"(?!(?:19|20)\d\d$)\d{4,}")
_NUMBER: Final = re.compile(r"(?<![\w.,])\d[\d.,:-]*\d\d(?![\w])")


async def find_echoes(
    store: StoreReader, namespace: Namespace, memories: Sequence[Memory], readable: Collection[str] | None
) -> dict[str, list[str]]:
    """Return by id of a memory the ids of later answers in its thread that repeat it and are not among the memories.

    readable: categories of the answers. None: all.
    """
    going = {memory.id for memory in memories}
    echoes: dict[str, list[str]] = {}
    for memory in memories[:MAX_FORGOTTEN]:
        if memory.thread_id is None or memory.role == "assistant":
            continue
        where: tuple[Condition, ...] = (
            Condition("thread_id", "$eq", memory.thread_id),
            Condition("channel", "$eq", str(Channel.TURN)),
            Condition("role", "$eq", "assistant"),
            Condition("created_at", "$gte", memory.created_at),
        )
        if readable is not None:
            where = (*where, Condition("category", "$in", tuple(readable)))
        answers = await store.find(namespace, where, limit=MAX_TURNS, descending=False)
        found = [answer.id for answer in answers if answer.id not in going and repeats(answer.text, memory.text)]
        if found:
            echoes[memory.id] = found
    return echoes


def name_echoes(forgotten: WriteResult, echoes: Mapping[str, Sequence[str]]) -> WriteResult:
    """Return the result of a forgetting with the answers that repeat each memory."""
    named = (echoes.get(result.id or "", ()) for result in forgotten.results)
    results = (_name_in(result, ids) for result, ids in zip(forgotten.results, named, strict=True))
    return replace(forgotten, results=tuple(results)) if echoes else forgotten


def name_echoes_of_correction(corrected: WriteResult, ids: Sequence[str]) -> WriteResult:
    """Return the result of a correction with the answers that repeat the words that were wrong."""
    first, *others = corrected.results
    return replace(corrected, results=(_name_in(first, ids), *others))


def _name_in(result: MessageResult, ids: Sequence[str]) -> MessageResult:
    """Add the answers to the reason of a result, as its last words."""
    if not ids:
        return result
    before = f"{result.reason.rstrip('.')}{_BEFORE_ECHO}" if result.reason else ""
    return replace(result, reason=f"{before}{_ECHO_STAYS}{', '.join(ids)}")


def list_echoes(result: WriteResult) -> list[str]:
    """Return the ids of the answers that the results of a forgetting or a correction name."""
    reasons = (item.reason.partition(_ECHO_STAYS)[2] for item in result.results)
    return list(dict.fromkeys(id for named in reasons if named for id in named.split(", ")))


def repeats(answer: str, told: str) -> bool:
    """Whether an answer has half of what was told, or little else, or a number of it, or a name with another word."""
    words, its = frozenset(content_terms(told)), frozenset(content_terms(answer))
    shared = len(words & its)
    if shared > 0 and (shared >= SHARED * len(words) or shared >= REPEATED * len(its)):
        return True
    numbers = set(_NUMBER.findall(told)).intersection(_NUMBER.findall(answer))
    # A year or an hour says nothing alone.
    if any(_CODE.fullmatch(number) for number in numbers):
        return True
    if all(any(map(str.isdigit, word)) for word in words & its):
        return False
    if numbers:
        return True
    if shared < MIN_NAMED:
        return False
    from memwarden.statements.reader import CommonWords, load_weights  # loads numpy, which a command need not wait for
    from memwarden.statements.wording import names_in

    common = CommonWords(load_weights().common)
    return not set(names_in(told, common)).isdisjoint(names_in(answer, common))
