"""Lays out memories so that a provider's prefix cache keeps hitting: a block stays where it was inserted.

A snapshot of memories stands early in the prompt and is made anew at set points only. Memories that become relevant
later form a delta before the words of the message that made them relevant. The delta stays there in all later prompts,
so each prompt begins with the whole previous prompt. Pure functions; :mod:`memwarden.conversation.prompt_cache`
keeps their result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import takewhile
from typing import Any, Final

from memwarden import clock
from memwarden.categories import OWN_RECORDS
from memwarden.clock import DEFAULT_THREAD
from memwarden.concurrency.optimistic import change_atomically
from memwarden.conversation.formats import Request
from memwarden.conversation.settings import ChatSettings
from memwarden.recall.answer.pack import pack_items
from memwarden.recall.answer.render import order_items, render_memories_block
from memwarden.recall.answer.template import Template
from memwarden.records import OVERVIEW_ID, Channel, ContextBlock, Cut, Memory, RecallItem, Scope, Trust
from memwarden.runtime.services import Runtime
from memwarden.text.tokenizer import TokenCounter, estimate


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A block of memories at its place in a conversation.

    Attributes:
        anchor: fingerprint of the talk up to the message that the block was made for.
        text: the block; empty when nothing was relevant. tokens: its size.
        marks: fingerprints of its memories' contents, by memory id.
    """

    anchor: str
    text: str = ""
    tokens: int = 0
    marks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PromptLayout:
    """The memories in a conversation: a snapshot early, and deltas before later messages, oldest first."""

    snapshot: PlacedBlock
    deltas: tuple[PlacedBlock, ...] = ()

    @property
    def marks(self) -> dict[str, str]:
        """The fingerprints of all its memories, by id."""
        return {key: fingerprint for delta in (*self.deltas, self.snapshot) for key, fingerprint in delta.marks.items()}


def anchors(said: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return for each message a fingerprint of the talk up to and including that message."""
    # Each anchor depends on all earlier messages: the same words at another place are another anchor.
    found, so_far = [], hashlib.blake2b(digest_size=12)
    for message in said:
        so_far.update(json.dumps([message["role"], message["content"]]).encode())
        found.append(so_far.hexdigest())
    return found


def fingerprint(memory: Memory) -> str:
    """Return a fingerprint of a memory's words in a prompt; a changed age or importance does not count."""
    shown = json.dumps([memory.text, memory.summary, memory.context, memory.kind])
    return hashlib.blake2b(shown.encode(), digest_size=8).hexdigest()


def decide_layout(
    before: PromptLayout | None,
    said: Sequence[Mapping[str, Any]],
    block: ContextBlock,
    settings: ChatSettings,
    *,
    gone: Collection[str] = (),
    renew: bool = False,
) -> PromptLayout | None:
    """Return the layout for the message to answer; None for a conversation without a user's message.

    All of it is made anew at set points: there is nothing yet; a conversation begins; a memory of the snapshot is gone;
    the deltas would take more than ``max_delta_tokens``; ``renew``. Otherwise at most a single delta is added, with the
    relevant memories that are not in the prompt yet. A repeated message gets the same memories as before. Deltas are
    dropped when their message left the conversation, or when a memory in them is gone.

    Args:
        said: the talk, ending with the message to answer. block: the memories relevant to it.
        gone: ids of memories that were forgotten, changed or are no longer true.
    """
    chain = anchors(said)
    at = place_to_answer(said)
    if at is None:
        return None
    here, lost = chain[at], set(gone)
    begins = all(item["role"] == "user" for item in said[:at])
    if (
        before is None
        or renew
        or (begins and before.snapshot.anchor not in chain)
        or lost & before.snapshot.marks.keys()
    ):
        return _renew(here, block, settings)
    known = set(chain[: at + 1])
    kept = tuple(delta for delta in before.deltas if delta.anchor in known and not lost & delta.marks.keys())
    stable = PromptLayout(before.snapshot, kept)
    if here in (item.anchor for item in (before.snapshot, *kept)):
        return stable
    words = replace(settings, memory_context_suffix="") if stable.marks else settings  # it stands in the prompt
    more = render_memories(block, words, without=stable.marks)
    if sum(item.tokens for item in kept) + more.tokens > settings.max_delta_tokens:
        return _renew(here, block, settings)
    added = _place_block(here, more, _delta_of(block))
    return PromptLayout(before.snapshot, (*kept, added)) if added.text else stable


def render_memories(
    block: ContextBlock,
    settings: ChatSettings,
    *,
    without: Collection[str] = (),
    now: datetime | None = None,
    count: TokenCounter = estimate,
) -> ContextBlock:
    """Return a block with its memories in the words of the settings' templates, within their budget.

    A memory that does not fit is skipped, and named in ``cut``.

    Args:
        without: ids of memories that are in the prompt already. now: the time that ages are counted to.
    """
    from memwarden.recall.answer.gates import GATES  # numpy is loaded by now: there is a block

    moment, template = now or clock.now(), settings.template
    items = [item for item in block.items if item.id not in without]
    packed = pack_items(
        [item for item in items if item.id == OVERVIEW_ID],
        sorted((item for item in items if item.id != OVERVIEW_ID), key=partial(_worth, template)),
        most=len(block.items),
        budget=settings.max_memory_tokens,
        render=lambda items: render_memories_block(order_items(items, template), moment, template),
        count=count,
    )
    dropped = [Cut(item.id, gate, item.score, GATES[gate]) for item, gate in packed.dropped]
    return ContextBlock(
        packed.text,
        tuple(order_items(packed.items, template)),
        packed.tokens,
        settings.max_memory_tokens,
        block.rev,
        (*dropped, *block.cut),
        overview_of=block.overview_of,
        pending=block.pending,
    )


def _worth(template: Template, item: RecallItem) -> float:
    """Return the sort key by which items are taken: the best score first, or the order given."""
    return -item.score if template.by_day else 0.0


def place_to_answer(said: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the index of the user's last message, or None."""
    after = sum(1 for _ in takewhile(lambda item: item["role"] != "user", reversed(said)))
    return None if after == len(said) else len(said) - 1 - after


def delta_places(stable: PromptLayout, said: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Return the texts of the deltas by the index of their message in the talk."""
    texts = {delta.anchor: delta.text for delta in stable.deltas}
    return {place: texts[anchor] for place, anchor in enumerate(anchors(said)) if anchor in texts}


def layout_to_json(stable: PromptLayout) -> dict[str, Any]:
    """Return a layout as JSON."""
    return {"snapshot": _block_to_json(stable.snapshot), "deltas": [_block_to_json(delta) for delta in stable.deltas]}


def layout_from_json(stored: Mapping[str, Any]) -> PromptLayout:
    """Read the result of :func:`layout_to_json`."""
    return PromptLayout(_block_from_json(stored["snapshot"]), tuple(map(_block_from_json, stored["deltas"])))


def _renew(anchor: str, block: ContextBlock, settings: ChatSettings) -> PromptLayout:
    """Return a layout made anew. What changed stands before the message: a snapshot would tell it for ever."""
    told = _place_block(anchor, None, _delta_of(block))
    snapshot = _place_block(anchor, render_memories(block, settings))
    return PromptLayout(snapshot, (told,) if told.text else ())


def _delta_of(block: ContextBlock) -> ContextBlock:
    """Return the changes that a block tells, as a block without items."""
    text = block.delta.text if block.delta else ""
    return replace(block, text=text, items=(), tokens=estimate(text) if text else 0)


def _place_block(anchor: str, block: ContextBlock | None, told: ContextBlock | None = None) -> PlacedBlock:
    """Return a block at its place, with the changes that are told before it."""
    parts = [part for part in (told, block) if part is not None and part.text]
    marks = {item.id: fingerprint(item.memory) for item in (block.items if block else ())}
    marks |= {memory.id: fingerprint(memory) for memory in (told.updated if told else ())}
    if OVERVIEW_ID in marks and block is not None:
        # An overview leaves with what it rests on, and what it rests on may be shown beside it.
        marks |= {f"{OVERVIEW_ID}:{memory.id}": fingerprint(memory) for memory in block.overview_of}
    return PlacedBlock(anchor, "\n\n".join(part.text for part in parts), sum(part.tokens for part in parts), marks)


def _block_to_json(block: PlacedBlock) -> dict[str, Any]:
    return {"anchor": block.anchor, "text": block.text, "tokens": block.tokens, "marks": dict(block.marks)}


def _block_from_json(stored: Mapping[str, Any]) -> PlacedBlock:
    return PlacedBlock(stored["anchor"], stored["text"], stored["tokens"], dict(stored["marks"]))


PREFIX: Final = "in-prompt:"
SOURCE: Final = "in-prompt"
# A category outside all allowlists: an agent's prompt may hold memories that another agent may not read.
CATEGORY: Final = OWN_RECORDS


class PromptCacheStore:
    """The prompt layout of a thread and an agent; agents may read different memories.

    It is a memory of the channel ``state``, written only when it changes, and only if nobody wrote it since it was
    read; otherwise the layout is decided again on the new state. Earlier contents are not kept: they may hold what was
    forgotten.
    """

    def __init__(self, runtime: Runtime, who: Scope) -> None:
        self._runtime = runtime
        self._who = who
        name = "\x1f".join((who.agent or "", who.thread or DEFAULT_THREAD))
        self._id = PREFIX + hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()

    async def at(
        self, said: Sequence[Mapping[str, Any]], block: ContextBlock, settings: ChatSettings, *, renew: bool = False
    ) -> PromptLayout | None:
        """Return the layout for the message to answer (:func:`memwarden.conversation.prompt_cache.decide_layout`).

        It is durable on return. Raises StoreError.
        """
        namespace = self._who.namespace

        async def decide() -> PromptLayout | None:
            rev = (await self._runtime.store.head(namespace)).rev
            stored = await self._read_stored()
            before = None if stored is None or stored.payload is None else layout_from_json(stored.payload)
            gone = await self._changed_ids(before) if before is not None else ()
            stable = decide_layout(before, said, block, settings, gone=gone, renew=renew)
            if stable is None or stable == before:
                return stable
            await self._runtime.services.items.swap(self._memory_of(stable, stored), rev, keep=0)
            return stable

        return await change_atomically((namespace, self._id), decide)

    async def _read_stored(self) -> Memory | None:
        found = await self._runtime.store.get(self._who.namespace, [self._id])
        return found[0] if found else None

    async def _changed_ids(self, before: PromptLayout) -> list[str]:
        """Return ids of memories that are forgotten, changed, outdated or unreadable since they were inserted."""
        marks, now = before.marks, clock.now()
        allowed = self._runtime.settings.categories.readable(self._who.agent, None)
        ids = {key: key.removeprefix(f"{OVERVIEW_ID}:") for key in marks if key != OVERVIEW_ID}
        stored = await self._runtime.store.get(self._who.namespace, list(dict.fromkeys(ids.values())))
        same = {
            (item.id, fingerprint(item))
            for item in stored
            if (item.valid_to is None or item.valid_to > now) and (allowed is None or item.category in allowed)
        }
        return [key for key, memory_id in ids.items() if (memory_id, marks[key]) not in same]

    def _memory_of(self, stable: PromptLayout, stored: Memory | None) -> Memory:
        now = clock.now()
        return Memory(
            id=self._id,
            namespace=self._who.namespace,
            text=f"In the prompts of {self._who.thread or DEFAULT_THREAD}",
            created_at=now if stored is None else stored.created_at,
            updated_at=now,
            channel=Channel.STATE,
            category=CATEGORY,
            source=SOURCE,
            payload=layout_to_json(stable),
            user_id=self._who.user,
            agent_id=self._who.agent,
            thread_id=self._who.thread,
            trust=Trust.PERSON,
        )


# A provider reads the early parts of a request before the late parts.
_EARLY = ("tools", "system", "instructions")
_LATE = ("messages", "input")


@dataclass(frozen=True, slots=True)
class PrefixShare:
    """The reusable beginning of a prompt. Sizes in tokens.

    Attributes:
        identical: size of the beginning that equals the previous prompt's.
        prompt: size of this prompt. last: size of the previous prompt; 0 for the first.
    """

    identical: int
    prompt: int
    last: int

    @property
    def of_this(self) -> float:
        """The share of this prompt that equals the previous prompt, 0..1."""
        return self.identical / self.prompt if self.prompt else 0.0

    @property
    def of_last(self) -> float:
        """The share of the previous prompt that this prompt begins with, 0..1; 1 when all of it can be reused."""
        return self.identical / self.last if self.last else 0.0


class PrefixMeter:
    """Compares each prompt of a conversation with the previous prompt, in any form.

    >>> meter = PrefixMeter()
    >>> meter.add(turn.request).of_last

    Attributes:
        total: the sums over all prompts but the first.
    """

    def __init__(self, count: TokenCounter = estimate) -> None:
        self._count = count
        self._last = ""
        self.total = PrefixShare(0, 0, 0)

    def add(self, request: Request) -> PrefixShare:
        """Add the next prompt and return how it begins."""
        text, last = prompt_text(request), self._last
        identical = text[: _common_length(last, text)]
        share = PrefixShare(self._count(identical), self._count(text), self._count(last))
        if last:
            total = self.total
            self.total = PrefixShare(
                total.identical + share.identical, total.prompt + share.prompt, total.last + share.last
            )
        self._last = text
        return share


def prompt_text(request: Request) -> str:
    """Return a request as the text that a model reads, in reading order."""
    if not isinstance(request, Mapping):
        return "".join(map(_line, request))
    early = [_line({name: request[name]}) for name in _EARLY if request.get(name)]
    late = [request[name] for name in _LATE if request.get(name)]
    lists = [[{"role": "user", "content": item}] if isinstance(item, str) else item for item in late]
    return "".join(early) + "".join(_line(message) for item in lists for message in item)


def _line(part: Any) -> str:
    """Return a part as a line of JSON, the role first, as models read it."""
    fields = sorted(part.items(), key=lambda item: (item[0] != "role", item[0])) if isinstance(part, Mapping) else part
    return json.dumps(fields, ensure_ascii=False, default=_plain) + "\n"


def _common_length(text: str, other: str) -> int:
    """Return how many characters the beginnings of two texts share."""
    # A binary search compares slices in C: prompts have hundreds of thousands of characters.
    low, high = 0, min(len(text), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _plain(thing: Any) -> Any:
    """Return an SDK object as JSON."""
    dump = getattr(thing, "model_dump", None)
    return dump(mode="json", exclude_unset=True) if callable(dump) else str(thing)
