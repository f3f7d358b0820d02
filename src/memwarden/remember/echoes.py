"""Answers of an assistant that repeat what is forgotten."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from memwarden.filters import Condition
from memwarden.records import Channel, Memory, Namespace, WriteResult
from memwarden.stores.protocol import StoreReader
from memwarden.text.small_talk import content_terms

ECHO_STAYS: Final = "an answer of the assistant repeats it and stays; forget it, too: {ids}"
# Maximum memories of a call whose echoes are looked for. A whole conversation is forgotten with its answers.
MAX_FORGOTTEN: Final = 20
# Turns of the thread read after the memory. An assistant repeats a fact in its reply, seldom much later.
MAX_TURNS: Final = 20
# Share of the content terms of a memory that its echo has.
SHARED: Final = 0.5
# Share of the content terms of an answer that the memory has.
REPEATED: Final = 0.75


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
    if not echoes:
        return forgotten
    named = (echoes.get(result.id or "", ()) for result in forgotten.results)
    results = (
        replace(result, reason=ECHO_STAYS.format(ids=", ".join(ids))) if ids else result
        for result, ids in zip(forgotten.results, named, strict=True)
    )
    return replace(forgotten, results=tuple(results))


def repeats(answer: str, told: str) -> bool:
    """Whether an answer has half of what was told, or little else."""
    words, its = frozenset(content_terms(told)), frozenset(content_terms(answer))
    shared = len(words & its)
    return shared > 0 and (shared >= SHARED * len(words) or shared >= REPEATED * len(its))
