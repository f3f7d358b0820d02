"""Weaves memory into a request that is passed on, and keeps what was said in it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import structlog

from memwarden import AsyncScope, AsyncWarden
from memwarden.conversation.formats import FORMATS
from memwarden.conversation.formats.reading import field
from memwarden.conversation.settings import ChatSettings
from memwarden.conversation.turn import AsyncTurn
from memwarden.errors import Denied, InvalidInput, MemwardenError, NotKept
from memwarden.observability.prompt_queue import MADE_PROMPTS, MadePrompt
from memwarden.remember.ingest.messages import checked_name
from memwarden.surfaces.http.keys import Grant, Operation, open_scope
from memwarden.surfaces.http.routes.traces import TraceLog
from memwarden.surfaces.proxy.events import DocumentReader, EventReader
from memwarden.surfaces.proxy.headers import MemoryHeaders
from memwarden.surfaces.proxy.sessions import SessionWeave

log = structlog.get_logger("memwarden.proxy")
# Characters of an answer that become a turn; what follows becomes the next. The store takes no longer text.
MAX_ANSWER: Final = 60_000
# Characters of an answer that are kept at all: a flood passes on, and fills no store.
MAX_KEPT: Final = 2_000_000
# Seconds between tries to store what a store refused.
PAUSES: Final = (1.0, 2.0, 5.0, 15.0, 60.0, 300.0)
# Seconds from when a request was handed to the system until what was said is stored. At once, the two would share the
# processor, and the upstream would get the request a millisecond later.
STORING_PAUSE: Final = 0.005
HIT, MISS, BYPASS, DEGRADED = "hit", "miss", "bypass", "degraded"
MAX_LISTED: Final = 100
# Bytes of a decompressed request: as many as a request without compression may have.
MAX_BODY: Final = 8_388_608
# Members of a gzip body. Each is read from a copy of all that follows.
MAX_MEMBERS: Final = 16
# Charsets of a body that is read. Others can take seconds for a small body, and JSON is in none of them.
CHARSETS: Final = frozenset(
    "utf-8 utf8 us-ascii ascii iso-8859-1 latin-1 latin1 windows-1252 cp1252"
    " utf-16 utf-16le utf-16be utf-16-le utf-16-be utf-32 utf-32le utf-32be utf-32-le utf-32-be".split()
)


class ModelRequest(NamedTuple):
    """What a caller sent. form: of the conversation in it. document: the body read as JSON; None for another body."""

    form: str
    body: bytes
    document: dict[str, Any] | None


def read_request(form: str, body: bytes, charset: str | None = None) -> ModelRequest:
    """Return a request with its body read, as far as it can be read. charset: as its header names it.

    Without a form there is nothing to weave in, and the body is not read.
    """
    if not form or (charset is not None and charset.lower() not in CHARSETS):
        return ModelRequest(form, body, None)
    try:
        read = json.loads(body if charset is None else body.decode(charset))
    except (ValueError, LookupError, RecursionError):
        read = None
    return ModelRequest(form, body, read if isinstance(read, dict) else None)


def decompress(body: bytes, encoding: str) -> bytes | None:
    """Return a compressed body, whole, with all members of its gzip file.

    None for another encoding, for a body that is cut or that something else follows, and for more than
    :data:`MAX_BODY` bytes or :data:`MAX_MEMBERS` members.
    """
    if encoding.strip().lower() not in ("gzip", "deflate"):
        return None
    made, rest = b"", body
    for _ in range(MAX_MEMBERS):
        member = zlib.decompressobj(zlib.MAX_WBITS | 32)
        try:
            made += member.decompress(rest, MAX_BODY + 1 - len(made))
        except zlib.error:
            return None
        if len(made) > MAX_BODY or not member.eof:
            return None
        rest = member.unused_data
        if not rest:
            return made
    return None


def find_user(asked: MemoryHeaders, document: Mapping[str, Any] | None, grant: Grant) -> str | None:
    """Return whose memory a request is about; None for nobody's. Raises Denied, InvalidInput.

    The header counts before the body, and both may only name the user of a key that is bound to a user. A program may
    write into the body what is no name of a user here; then the request is nobody's.
    """
    named = asked.user or next(
        (value for name in ("user", "safety_identifier") if isinstance(value := field(document, name), str) and value),
        None,
    )
    if asked.user is None and _usable_name(named) is None:
        return None if named else grant.user
    return grant.narrow_user(named)


def _usable_name(value: str | None) -> str | None:
    """Return a name that a body gives, as it is stored; None for what is none."""
    try:
        return checked_name(value, "the body's name")
    except InvalidInput:
        return None


def choose_access(switch: str | None, grant: Grant) -> str | None:
    """Return the half of memory that a request uses, ``read`` or ``write``; None for both. Raises Denied.

    Without a word of the caller, what the key may do decides.
    """
    may = [item for item in (Operation.READ, Operation.WRITE) if item in grant.operations]
    if switch is None and len(may) == 1:
        return str(may[0])
    wanted = (Operation.READ, Operation.WRITE) if switch in (None, "on") else (Operation(switch),)
    for operation in wanted:
        grant.check_operation(operation)
    return None if len(wanted) == 2 else switch


def name_thread(form: str, document: Mapping[str, Any] | None) -> str | None:
    """Return a name for a conversation whose thread nobody names: by the provider's id, else by how it began."""
    conversation = field(document, "conversation")
    given = conversation if isinstance(conversation, str) else field(conversation, "id")
    if isinstance(given, str) and given:
        return _usable_name(given[:200])
    if not form or document is None or field(document, "previous_response_id"):
        return None  # it goes on with what only the provider knows
    try:
        said = FORMATS[form].read_turns(document)
    except InvalidInput:
        return None
    if not said:
        return None
    return f"chat-{hashlib.blake2b(str(said[0]['content']).encode(errors='replace'), digest_size=8).hexdigest()}"


class MemoryExchange:
    """A request with its answer, and the turn in which memory takes part in it.

    Attributes:
        body: what is sent on. status: hit, miss, bypass or degraded. records: whether the answer's words are kept.
    """

    def __init__(self, request: ModelRequest, trace: str, traces: TraceLog) -> None:
        self._request = request
        self._trace, self._traces = trace, traces
        self._turn: AsyncTurn | None = None
        self._scope: AsyncScope | None = None
        self._session: SessionWeave | None = None
        self._made: list[MadePrompt] = []
        self._record: Callable[[Any], str] | None = None
        self._written, self._size = 0, 0
        self.body = request.body
        self.status = BYPASS
        self.records = False

    async def begin(self, opened: OpenMemory, asked: MemoryHeaders, seconds: float) -> None:
        """Put memories into the request and store what was said. Whatever fails, the request goes on without it."""
        scope, access = opened
        self.status, self._scope = DEGRADED, scope
        if self._request.document is None:
            return
        settings = ChatSettings(
            use_memory=True,
            **({} if asked.mode is None else {"memory_injection_mode": asked.mode}),  # type: ignore[arg-type]
            **({} if asked.budget is None else {"max_memory_tokens": asked.budget}),  # type: ignore[arg-type]
        )
        try:
            turn = scope.turn(self._request.document, settings, form=self._request.form, only=access, seconds=seconds)
            turn.stores_beside = access is None  # the first byte does not wait for the disk
            await self._enter(turn)
        except (MemwardenError, ValueError, TypeError, AttributeError, RecursionError) as error:
            log.warning("memory stands aside", error=type(error).__name__)
            return
        self._turn, self.records = turn, access != "read"
        self.status = DEGRADED if has_failed(turn) else HIT if turn.block.items else MISS
        request = turn.request
        if asked.session is not None and access is None:
            request = await self._weave_session(scope, asked.session, asked.tool_cache or {}, request, seconds)
        self._set_body(request)

    async def _enter(self, turn: AsyncTurn) -> None:
        taking = MADE_PROMPTS.set(self._made)  # its trace has the name of the request
        try:
            await turn.__aenter__()
        finally:
            MADE_PROMPTS.reset(taking)

    async def _weave_session(
        self, scope: AsyncScope, session: str, durations: Mapping[str, int], request: Any, seconds: float
    ) -> Any:
        weave = SessionWeave(scope, session, self._request.form, durations)
        try:
            async with asyncio.timeout(seconds):
                woven = await weave.weave(request)
        except (MemwardenError, TimeoutError, ValueError, TypeError, KeyError) as error:
            log.warning("a session stands aside", error=type(error).__name__)
            self.status = DEGRADED
            return request
        self._session = weave
        return woven

    def _set_body(self, request: Any) -> None:
        if request != self._request.document:
            try:
                self.body = json.dumps(request, allow_nan=False, separators=(",", ":")).encode()
            except (ValueError, TypeError, RecursionError):
                self.status = DEGRADED

    @property
    def is_rewritten(self) -> bool:
        """Whether what is sent on is JSON made here."""
        return self.body is not self._request.body

    def headers(self) -> dict[str, str]:
        """Return what the answer's headers say of memory."""
        block = None if self._turn is None or not self.is_rewritten else self._turn.block
        if self._turn is not None and has_failed(self._turn):  # what was said could not be stored meanwhile
            self.status = DEGRADED
        if self.status == BYPASS:
            return {"X-Memory-Status": BYPASS}
        return {
            "X-Memory-Status": self.status,
            "X-Memory-Injected": ",".join(item.id for item in block.items[:MAX_LISTED]) if block else "",
            "X-Memory-Tokens": str(block.tokens if block else 0),
            "X-Memory-Trace": self._trace,
        }

    def note_sent(self) -> None:
        """Begin to store what was said soon, since the request is on its way."""
        if self._turn is not None and self._turn.stores_beside:
            asyncio.get_running_loop().call_later(STORING_PAUSE, self._begin_storing)

    def _begin_storing(self) -> None:
        if self._turn is not None:
            self._turn.begin_storing()

    def read_stream(self) -> EventReader:
        """Return what reads the answer as a stream of events."""
        return EventReader(self._take_event)

    def read_document(self, length: int | None) -> DocumentReader:
        """Return what reads the answer as a document of so many bytes."""
        return DocumentReader(self._take_document, length)

    async def end(self, *, answered: bool) -> None:
        """Store what was said, and look through the thread when the upstream answered as it should."""
        turn, self._turn = self._turn, None
        if turn is None or self._scope is None:
            return
        try:
            await turn.end(look=answered)
        except NotKept as lost:
            log.warning("what was said is stored later", error=type(lost.__cause__).__name__)
            await store_later(self._scope, lost)
        await self._end_session(turn)
        if self.status == HIT:
            await self._keep_trace(turn)

    async def _end_session(self, turn: AsyncTurn) -> None:
        if self._session is None:
            return
        try:
            await self._session.end(turn.own_answer)
        except MemwardenError as error:
            log.warning("an exchange is not taken into its session", error=type(error).__name__)

    async def _keep_trace(self, turn: AsyncTurn) -> None:
        made = next((made for made in self._made if made.block is turn.block), None)
        if made is None:
            return
        try:
            await self._traces.write(self._trace, made)
        except MemwardenError as error:
            log.warning("a trace is not kept", error=type(error).__name__)

    def _take_event(self, event: Any) -> None:
        turn = self._turn
        if turn is None or self._size > MAX_KEPT:
            return
        if self._record is None or self._written > MAX_ANSWER:
            self._record, self._written = turn.record_events(), 0
        words = len(self._record(event))
        self._written += words
        self._size += words

    def _take_document(self, document: Any) -> None:
        if self._turn is None:
            return
        try:
            words = FORMATS[self._request.form].answer(document)
        except Exception as error:  # whatever an upstream makes up, the caller gets it as it is
            log.warning("an answer that cannot be read is not kept", error=type(error).__name__)
            return
        for start in range(0, min(len(words), MAX_KEPT), MAX_ANSWER):
            self._turn.record_response(words[start : start + MAX_ANSWER])


def has_failed(turn: AsyncTurn) -> bool:
    """Whether memory failed in a turn; what a caller wrote wrong is no failure."""
    return any(not isinstance(failure, InvalidInput) for failure in turn.failures)


async def store_later(scope: AsyncScope, lost: NotKept) -> None:
    """Try again to store what was said, with longer and longer pauses. A cancellation ends it."""
    task = asyncio.current_task()
    for pause in PAUSES:
        await asyncio.sleep(pause)
        try:
            async with asyncio.timeout(30):
                await scope.observe(lost.messages)
        except (MemwardenError, TimeoutError):
            # A store that is closed meanwhile may answer a cancellation with an error of its own.
            if task is not None and task.cancelling():
                raise asyncio.CancelledError from None
            continue
        return
    log.error("what was said could not be stored", messages=len(lost.messages))


class OpenMemory(NamedTuple):
    """The memory of a request. access: the half of it that is used, ``read`` or ``write``; None for both."""

    scope: AsyncScope
    access: str | None


def open_memory(warden: AsyncWarden, grant: Grant, request: ModelRequest, asked: MemoryHeaders) -> OpenMemory | None:
    """Return the memory that a request is about; None for a request without identity.

    Raises Denied, UnknownAgent, InvalidInput.
    """
    try:
        user = find_user(asked, request.document, grant)
        if user is None:
            return None
        access = choose_access(asked.switch, grant)
    except Denied:
        open_scope(warden, grant, _refused_operation(asked.switch), user=asked.user)  # refuses, with an event
        raise
    operation = Operation(access) if access else Operation.READ
    thread = asked.thread or name_thread(request.form, request.document)
    named = {"user": user, "agent": asked.agent, "thread": thread, "project": asked.project}
    return OpenMemory(open_scope(warden, grant, operation, **named), access)


def _refused_operation(switch: str | None) -> Operation:
    return Operation(switch) if switch in ("read", "write") else Operation.READ
