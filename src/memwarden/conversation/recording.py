"""Records what is said in a turn: the user's messages, and the answer while it is passed on."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from uuid import uuid4

from memwarden.conversation.formats.reading import as_dict, as_list, field
from memwarden.conversation.formats.reading import words as read_words
from memwarden.conversation.settings import ChatSettings
from memwarden.errors import StoreUnavailable
from memwarden.observability.instrument import instrumented, record_event
from memwarden.observability.records import EventDraft, Node, Op, Status, UseVerdict
from memwarden.records import MAX_PARTS, ContextBlock, MessageResult, Namespace, Outcome, Scope, WriteResult
from memwarden.remember.ingest.messages import checked_name, read_messages
from memwarden.runtime.services import OpenTurn, Runtime

if TYPE_CHECKING:
    from memwarden.conversation.prompt_cache import PromptLayout

log = logging.getLogger(__name__)


class LoggedScope(Protocol):
    """The part of a scope that a log needs."""

    _runtime: Runtime
    who: Scope


class TurnLog:
    """The store as turns use it: it keeps what is said and lays prompts out. Cheap, holds nothing open."""

    def __init__(self, runtime: Runtime, who: Scope) -> None:
        self._runtime = runtime
        self.who = who

    @classmethod
    def of_scope(cls, scope: LoggedScope) -> TurnLog:
        """Return the log of a scope, for programs that run its turns elsewhere, such as a server."""
        return cls(scope._runtime, scope.who)

    @property
    def open_turns(self) -> set[OpenTurn]:
        """Turns that are not over; what is in them when the warden closes is stored."""
        return self._runtime.turns

    @property
    def late_searches(self) -> dict[Namespace, asyncio.Task[Any]]:
        """Searches that nobody waits for any more, and that still go on."""
        return self._runtime.late

    @property
    def max_text_bytes(self) -> int:
        """The most bytes of a text."""
        return self._runtime.settings.max_text_bytes

    @instrumented(Node.HOTPATH, Op.CREATE)
    async def store(
        self,
        messages: str | Mapping[str, Any] | Iterable[Mapping[str, Any]],
        key: str | None,
        progress: Callable[[int], object] | None = None,
        from_start: bool = False,
    ) -> WriteResult:
        """Store messages without extracting memories. See :meth:`memwarden.api.scope.AsyncScope.observe`.

        from_start: whether the messages are a conversation from its start.
        """
        read = read_messages(messages, self._runtime.settings.max_text_bytes * MAX_PARTS)
        services, categories = self._runtime.services, self._runtime.settings.categories
        return await services.writer.observe(
            self.who,
            read,
            checked_name(key, "key"),
            services.recall.change_cursor.seen(self.who),
            category=categories.default_for(self.who.agent),
            readable=categories.readable(self.who.agent, None),
            progress=progress,
            from_start=from_start,
        )

    async def look_if_due(self, mode: str, turns: int) -> WriteResult | None:
        """Extract as a mode says: at each turn, or after so many turns, and of fewer once the thread is quiet."""
        if mode == "every_turn":
            return await self.look()
        if mode == "periodic":
            if await self._runtime.services.extractor.waiting(self.who, turns) >= turns:
                return await self.look()
            self._runtime.looks.look_when_quiet(
                self.who, self.look_now, self._runtime.settings.extraction_quiet_seconds
            )
        return None

    async def look(self) -> WriteResult | None:
        """Extract from new turns: at once, or in the background when a model is asked; then return None."""
        self._runtime.looks.no_longer_quiet(self.who)
        if self._runtime.services.extractor.asks_a_model:
            self._runtime.looks.look(self.who, self.look_now)
            return None
        try:
            return await self.look_now()
        except StoreUnavailable as error:  # the turns are stored, and await the next extraction
            log.warning("looking through thread %r is put off: %s", self.who.thread, error)
            return None

    @instrumented(Node.EPISODIC, Op.CLASSIFY)
    async def look_now(self, again: bool = False) -> WriteResult:
        """Extract from new turns, even while another extraction runs. again: begin at the thread's first turn."""
        settled = await self._runtime.services.extractor.look_through(self.who, again=again)
        head = await self._runtime.store.head(self.who.namespace)
        return WriteResult(
            head.rev, tuple(MessageResult(item.id, Outcome(item.outcome), item.reason) for item in settled)
        )

    async def lay_out(
        self, said: Sequence[Mapping[str, Any]], block: ContextBlock, settings: ChatSettings, *, renew: bool = False
    ) -> PromptLayout | None:
        """Return where memories stand in the thread's prompt (``cache_stable``), and keep that."""
        # A command that asks no model loads none of this: to lay a prompt out takes numpy.
        from memwarden.conversation.prompt_cache import PromptCacheStore

        return await PromptCacheStore(self._runtime, self.who).at(said, block, settings, renew=renew)

    async def record_uses(self, uses: Iterable[MemoryVerdict], rev: int) -> None:
        """Record which memories of a prompt its answer used, as events that may be lost."""
        for use in uses:
            status = Status.OK if use.verdict == UseVerdict.USED else Status.SKIPPED
            self.record(
                Node.CONTEXT,
                EventDraft(Op.USE, status, use.verdict, use.memory_id, use.category, use.share),
                rev,
            )

    def record(self, node: Node, draft: EventDraft, rev: int | None = None) -> None:
        """Record an operational event of the thread."""
        if self._runtime.events.takes:
            record_event(self._runtime.events.put, self.who, node, draft, rev)


class MemoryVerdict(NamedTuple):
    """Of what use a memory was in a prompt. share: of its own words, those that the answer repeats; 0..1."""

    memory_id: str
    category: str
    verdict: UseVerdict
    share: float | None


@dataclass(slots=True)
class SpokenAnswer:
    """The words of an answer so far. id: the caller's id of it."""

    id: str | None = None
    pieces: list[str] = dataclasses.field(default_factory=list)

    @property
    def text(self) -> str:
        """The whole text. Split surrogate pairs are joined; a lone half becomes U+FFFD."""
        whole = "".join(self.pieces)
        try:
            whole.encode()
        except UnicodeEncodeError:
            whole = whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return whole


class ResponseRecorder:
    """The answers of a turn, in order; several where a model calls tools in between."""

    def __init__(self) -> None:
        self._answers: list[SpokenAnswer] = []

    def begin(self, id: str | None = None) -> SpokenAnswer:
        """Begin an answer."""
        self._answers.append(SpokenAnswer(id))
        return self._answers[-1]

    @property
    def answers(self) -> list[SpokenAnswer]:
        """The answers that have words."""
        return [answer for answer in self._answers if answer.text.strip()]

    @property
    def size(self) -> int:
        """The number of pieces recorded."""
        return sum(len(answer.pieces) for answer in self._answers)


def tee_stream(events: Iterable[Any], take: Callable[[Any], str], *, words: bool) -> Iterator[Any]:
    """Yield the events of a stream, or their words, and hand each to ``take`` first."""
    for event in events:
        said = take(event)
        if said or not words:
            yield said if words else event


async def tee_async_stream(
    events: AsyncIterable[Any], take: Callable[[Any], str], *, words: bool
) -> AsyncIterator[Any]:
    """Do as :func:`tee_stream` for asynchronous events."""
    async for event in events:
        said = take(event)
        if said or not words:
            yield said if words else event


Response = dict[str, Any]


def assemble_response(form: str, events: Iterable[Any]) -> Any:
    """Return the response that the events of a stream form; None when no event holds a part of it."""
    gather = _ASSEMBLERS.get(form)
    return None if gather is None else gather(events)


def _openai_chat(events: Iterable[Any]) -> Response | None:
    words: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    seen = False
    for event in events:
        choices = [item for item in as_list(field(event, "choices")) if not field(item, "index")]
        delta = field(choices[0], "delta") if choices else None
        seen = seen or delta is not None
        words.append(read_words(field(delta, "content"), between=""))  # Mistral's reasoning models send parts
        for piece in as_list(field(delta, "tool_calls")):
            call = calls.setdefault(
                field(piece, "index") or 0, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
            )
            function = field(piece, "function")
            call["id"] = call["id"] or field(piece, "id") or ""
            call["function"]["name"] += field(function, "name") or ""
            call["function"]["arguments"] += field(function, "arguments") or ""
    if not seen:
        return None
    message = {
        "role": "assistant",
        "content": "".join(words) or None,
        "tool_calls": [calls[at] for at in sorted(calls)],
    }
    return {"choices": [{"index": 0, "message": message}]}


def ensure_call_ids(response: Any) -> Any:
    """Return a chat completion whose tool calls have distinct ids; the response itself where they do.

    Other providers behind this API give no ids, or equal ids: then their results could not be told apart.
    """
    choices = as_list(field(response, "choices"))
    calls = as_list(field(field(choices[0], "message"), "tool_calls")) if choices else ()
    ids = [field(call, "id") for call in calls]
    if all(ids) and len(set(ids)) == len(ids):
        return response
    own = [{**as_dict(call, "tool_calls"), "id": f"call_{uuid4().hex}"} for call in calls]
    message = {"role": "assistant", "content": field(field(choices[0], "message"), "content"), "tool_calls": own}
    return {"choices": [{"index": 0, "message": message}]}


def _openai_responses(events: Iterable[Any]) -> Any:
    # The last event of this API carries the whole response; other APIs send deltas only.
    ended = [field(event, "response") for event in events if field(event, "type") == "response.completed"]
    return ended[-1] if ended else None


def _anthropic(events: Iterable[Any]) -> Response | None:
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        kind, at = field(event, "type"), field(event, "index")
        if kind == "content_block_start":
            begun = field(event, "content_block")
            blocks[at] = dict(begun) if isinstance(begun, Mapping) else begun.model_dump(exclude_none=True)
        elif kind == "content_block_delta" and at in blocks:
            _add(blocks[at], field(event, "delta"))
    content = [_whole(blocks[at]) for at in sorted(blocks)]
    return {"role": "assistant", "content": content} if content else None


def _add(block: dict[str, Any], delta: Any) -> None:
    """Add a delta of an Anthropic stream to its block. Thoughts return to the model with their signature."""
    for name in ("text", "thinking", "signature"):
        if isinstance(field(delta, name), str):
            block[name] = (block.get(name) or "") + field(delta, name)
    if field(delta, "type") == "input_json_delta":
        block["json"] = block.get("json", "") + (field(delta, "partial_json") or "")


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    written = block.pop("json", None)
    if written:
        try:
            block["input"] = json.loads(written)
        except ValueError:
            block["input"] = written  # cut off: no arguments, which are others than none
    return block


_ASSEMBLERS: Final[Mapping[str, Callable[[Iterable[Any]], Any]]] = MappingProxyType(
    {"openai_chat": _openai_chat, "openai_responses": _openai_responses, "anthropic": _anthropic}
)
