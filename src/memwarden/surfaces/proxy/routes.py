"""The routes that are passed on to a provider of models, with memory woven into conversations."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine
from typing import Annotated, Any, Final

import structlog
from fastapi import APIRouter
from fastapi import Path as PathPart
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from memwarden import AsyncWarden
from memwarden.errors import Denied, NotFound
from memwarden.models.protocols import Embedder
from memwarden.surfaces.http.access import KEY_SECONDS, Credentials, find_grant
from memwarden.surfaces.http.keys import Grant, Operation, open_scope
from memwarden.surfaces.http.problems import request_id_of
from memwarden.surfaces.http.routes.traces import TraceLog
from memwarden.surfaces.proxy.events import DocumentReader, EventReader
from memwarden.surfaces.proxy.exchange import MemoryExchange, decompress, open_memory, read_request
from memwarden.surfaces.proxy.headers import RawHeaders, headers_for_caller, read_memory_headers
from memwarden.surfaces.proxy.shapes import PASSED_PATHS, find_provider, path_of
from memwarden.surfaces.proxy.upstream import SentBody, UpstreamClient, open_upstream

log = structlog.get_logger("memwarden.proxy")
router = APIRouter(prefix="/v1", tags=["models"])
# How long what was said may take to be stored once the server is told to stop.
CLOSE_SECONDS: Final = 5.0
MIN_SECONDS: Final = 0.001
# What the log says of a caller who did not wait for an answer; nobody gets it.
HUNG_UP: Final = 499
# Encodings of answers that can be undone here, so that their words can be kept.
DECODED: Final = frozenset(("identity", "gzip", "deflate"))


# Text that is embedded at the start. Its vector is dropped.
_WARMING: Final = "The server starts."


async def load_embedder(embedder: Embedder | None) -> None:
    """Load an embedding model that is loaded at its first use."""
    if embedder is not None and not getattr(embedder, "ready", True):
        await asyncio.to_thread(embedder.embed, [_WARMING])


class ModelProxy:
    """Passes requests on, with memory in those that say whose it is."""

    def __init__(self, warden: AsyncWarden) -> None:
        self._warden = warden
        self._upstream: UpstreamClient | None = open_upstream(warden.settings)
        self._traces = TraceLog(warden.store, strict=warden.settings.strict_secrets)
        self._ending: set[asyncio.Task[None]] = set()

    async def warm(self) -> None:
        """Load the embedding model, when there is an upstream.

        To load it takes most of a turn's deadline, and each search of a cold process would wait for the first.
        """
        if self._upstream is not None:
            await load_embedder(self._warden._runtime.services.embedder)

    async def answer(self, request: Request) -> Response:
        """Return the upstream's answer to a request. Raises NotFound, Denied, InvalidInput, ModelUnavailable."""
        grant = await find_grant(request)
        check_may_pass(self._warden, grant)
        asked = read_memory_headers(request.headers)
        form = PASSED_PATHS.get(path_of(request.scope), "")
        body, encoding = await request.body(), ", ".join(request.headers.getlist("content-encoding"))
        # What memory takes no part in is not decompressed.
        plain = decompress(body, encoding) if form and asked.switch != "off" else None
        held = read_request(form, body if plain is None else plain, _charset_of(request))
        if plain is not None and held.document is None:
            plain, held = None, held._replace(body=body)
        opened = None if asked.switch == "off" else open_memory(self._warden, grant, held, asked)
        if self._upstream is None:
            raise NotFound("this server passes nothing on to a model; start it with --upstream URL")
        check_may_spend(self._upstream, request, grant)
        exchange = MemoryExchange(held, request_id_of(request), self._traces)
        if opened is not None and form:
            # A store that hangs already held the check of the key up.
            await exchange.begin(opened, asked, max(MIN_SECONDS, self.seconds - request.scope["state"][KEY_SECONDS]))
        try:
            answer = await self._ask(self._upstream, request, exchange, decompressed=plain is not None)
        except BaseException:
            self.run_beside(exchange.end(answered=False))
            raise
        if answer is None:
            self.run_beside(exchange.end(answered=False))
            return Response(status_code=HUNG_UP)
        return PassedAnswer(self, exchange, answer)

    async def _ask(
        self, upstream: UpstreamClient, request: Request, exchange: MemoryExchange, *, decompressed: bool
    ) -> Any:
        """Return the upstream's answer as it begins; None once the caller has hung up, and then nobody asks on."""
        provider = find_provider(request.scope) or "openai"
        body = SentBody(exchange.body, decompressed, exchange.is_rewritten)
        send = upstream.send(request, provider, body, plain=exchange.records, sent=exchange.note_sent)
        asking, gone = asyncio.create_task(send), asyncio.create_task(_wait_for_hang_up(request.receive))
        try:
            await asyncio.wait((asking, gone), return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else None
        finally:
            gone.cancel()
            asking.cancel()

    @property
    def seconds(self) -> float:
        """How long a request waits for memory."""
        return self._warden.settings.memory_seconds

    def run_beside(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work that outlives its request."""
        task = asyncio.create_task(work)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return task

    async def close(self) -> None:
        """Store what was said, and let go of the connections."""
        if self._ending:
            await asyncio.wait(self._ending, timeout=CLOSE_SECONDS)
        if self._upstream is not None:
            await self._upstream.close()


def check_may_pass(warden: AsyncWarden, grant: Grant) -> None:
    """Raise Denied for a key that neither reads nor writes memory."""
    if Operation.READ not in grant.operations and Operation.WRITE not in grant.operations:
        open_scope(warden, grant, Operation.READ)


def check_may_spend(upstream: UpstreamClient, request: Request, grant: Grant) -> None:
    """Raise Denied for a key that may not write and brings no key of the provider: it would spend the server's."""
    provider = find_provider(request.scope) or "openai"
    if Operation.WRITE not in grant.operations and upstream.lends_key(request.headers, provider):
        raise Denied(
            "this key may only read, so it does not spend the server's key of the provider; send a key of yours"
        )


def _charset_of(request: Request) -> str | None:
    """Return the charset that a request names for its body; None for UTF-8, which JSON has by default."""
    named = re.search(r"charset=\"?([^\s\";,]+)", request.headers.get("content-type", ""), re.IGNORECASE)
    return None if named is None or named[1].lower() in ("utf-8", "utf8") else named[1]


class PassedAnswer(Response):
    """The upstream's answer on its way to the caller, piece by piece as it comes."""

    def __init__(self, proxy: ModelProxy, exchange: MemoryExchange, answer: Any) -> None:
        self._proxy = proxy
        self._exchange = exchange
        self._answer = answer
        self._end: asyncio.Task[None] | None = None
        self._kept_until = 0.0
        encodings = {item.strip().lower() for item in answer.headers.get("content-encoding", "identity").split(",")}
        # Whatever else an upstream chose without being asked passes as it is.
        self._is_readable = exchange.records and encodings <= DECODED
        self._decoded = self._is_readable and encodings != {"identity"}
        self.status_code = answer.status_code
        self.background = None
        own = [(name.lower().encode(), value.encode()) for name, value in exchange.headers().items()]
        self.raw_headers: RawHeaders = headers_for_caller(answer.headers.raw, decoded=self._decoded) + own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        passing = asyncio.create_task(self._pass(send))
        gone = asyncio.create_task(_wait_for_hang_up(receive))
        try:
            await asyncio.wait((passing, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            passing.cancel()  # nobody reads on: the upstream need not go on either
            await asyncio.gather(passing, gone, return_exceptions=True)
            self._begin_end(answered=False)
            self._proxy.run_beside(self._answer.aclose())
        if not passing.cancelled() and (failure := passing.exception()) is not None:
            raise failure

    async def _pass(self, send: Send) -> None:
        import httpx2

        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        reader = self._choose_reader()
        pieces = self._answer.aiter_bytes() if self._decoded else self._answer.aiter_raw()
        try:
            async for piece in pieces:
                before_end = len(piece) if reader is None else reader.feed(piece)
                if before_end:
                    await send({"type": "http.response.body", "body": piece[:before_end], "more_body": True})
                if before_end < len(piece):
                    await self._keep()
                    await send({"type": "http.response.body", "body": piece[before_end:], "more_body": True})
        except httpx2.HTTPError as error:
            # Without its end the caller knows that the answer is not whole, as from the upstream itself.
            log.warning("the upstream broke off", error=type(error).__name__)
            return
        if reader is not None:
            reader.end()
        await self._keep()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _choose_reader(self) -> EventReader | DocumentReader | None:
        if not self._is_readable or not 200 <= self.status_code < 300:
            return None
        if "event-stream" in self._answer.headers.get("content-type", ""):
            return self._exchange.read_stream()
        length = self._answer.headers.get("content-length", "")
        return self._exchange.read_document(int(length) if length.isdecimal() and not self._decoded else None)

    async def _keep(self) -> None:
        """Store what was said before the caller has the end of it; for a limited time in all."""
        ending, now = self._begin_end(answered=200 <= self.status_code < 300), asyncio.get_running_loop().time()
        self._kept_until = self._kept_until or now + self._proxy.seconds
        await asyncio.wait([ending], timeout=max(0.0, self._kept_until - now))

    def _begin_end(self, *, answered: bool) -> asyncio.Task[None]:
        if self._end is None:
            self._end = self._proxy.run_beside(self._exchange.end(answered=answered))
        return self._end


async def _wait_for_hang_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


_ANSWER: Final = {
    200: {
        "description": "The upstream's answer, as it comes.",
        "content": {"application/json": {}, "text/event-stream": {}},
    },
    "default": {"description": "Every other answer of the upstream, as it comes.", "content": {"*/*": {}}},
}
_BODY: Final = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"type": "object", "additionalProperties": True}}},
    }
}


async def _pass_on(request: Request) -> Response:
    proxy: ModelProxy = request.app.state.proxy
    return await proxy.answer(request)


@router.post("/chat/completions", responses=_ANSWER, openapi_extra=_BODY)  # type: ignore[arg-type]
async def create_chat_completion(request: Request, credentials: Credentials) -> Response:
    """Answer a conversation by the upstream's model, with memory (OpenAI's chat completions)."""
    return await _pass_on(request)


@router.post("/responses", responses=_ANSWER, openapi_extra=_BODY)  # type: ignore[arg-type]
async def create_response(request: Request, credentials: Credentials) -> Response:
    """Answer a conversation by the upstream's model, with memory (OpenAI's Responses)."""
    return await _pass_on(request)


@router.post("/messages", responses=_ANSWER, openapi_extra=_BODY)  # type: ignore[arg-type]
async def create_message(request: Request, credentials: Credentials) -> Response:
    """Answer a conversation by the upstream's model, with memory (Anthropic's messages)."""
    return await _pass_on(request)


@router.post("/messages/count_tokens", responses=_ANSWER, openapi_extra=_BODY)  # type: ignore[arg-type]
async def count_tokens(request: Request, credentials: Credentials) -> Response:
    """Let the upstream count the tokens of a conversation, without memory."""
    return await _pass_on(request)


@router.post("/completions", responses=_ANSWER, openapi_extra=_BODY)  # type: ignore[arg-type]
async def create_completion(request: Request, credentials: Credentials) -> Response:
    """Let the upstream's model go on with a text, without memory (OpenAI's completions)."""
    return await _pass_on(request)


@router.post("/embeddings", responses=_ANSWER, openapi_extra=_BODY)  # type: ignore[arg-type]
async def create_embeddings(request: Request, credentials: Credentials) -> Response:
    """Let the upstream make vectors."""
    return await _pass_on(request)


@router.get("/models", responses=_ANSWER)  # type: ignore[arg-type]
async def list_models(request: Request, credentials: Credentials) -> Response:
    """List the upstream's models."""
    return await _pass_on(request)


@router.get("/models/{model:path}", responses=_ANSWER)  # type: ignore[arg-type]
async def get_model(
    request: Request,
    credentials: Credentials,
    model: Annotated[str, PathPart(min_length=1, description="As the upstream lists it; slashes may be in it.")],
) -> Response:
    """Tell of a model of the upstream."""
    return await _pass_on(request)
