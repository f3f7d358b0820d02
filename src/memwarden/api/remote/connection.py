"""Calls of a server: paths, bodies, the errors that it answers with, and records made of its answers."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar
from urllib.parse import quote

import msgspec

from memwarden import errors
from memwarden.errors import InvalidInput, MemwardenError, NotFound, StoreUnavailable, missing_extra
from memwarden.records import ContextBlock, Cut, Delta, Memory, QueryResult, RecallItem, Why

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")
T = TypeVar("T")

# The server gives up earlier. This is for a network that lost the answer.
SECONDS = 120.0
# What a server lists at once.
PAGE = 1_000
_BY_STATUS: Mapping[int, type[MemwardenError]] = {
    401: errors.KeyRefused,
    403: errors.Denied,
    404: NotFound,
    409: errors.Conflict,
    412: errors.Conflict,
    422: InvalidInput,
    429: errors.RateLimited,
}


def sent_as(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, R]],
) -> Callable[[Callable[[Any, dict[str, Any]], Awaitable[R]]], Callable[Concatenate[A, P], Coroutine[Any, Any, R]]]:
    """Give a function that sends what was given the signature of the verb that it stands for."""
    signature = inspect.signature(method)

    def stand_for(
        send: Callable[[Any, dict[str, Any]], Awaitable[R]],
    ) -> Callable[Concatenate[A, P], Coroutine[Any, Any, R]]:
        @functools.wraps(method)
        async def verb(self: A, /, *args: P.args, **kwargs: P.kwargs) -> R:
            given = dict(signature.bind(self, *args, **kwargs).arguments)
            given.pop("self")
            return await send(self, given)

        return verb

    return stand_for


class Connection:
    """Calls of a server, with a key. Raises the errors of the product that the server answers with."""

    def __init__(self, url: str, key: str | None) -> None:
        try:
            import httpx2
        except ImportError:
            raise missing_extra("a server's address", "client") from None
        self._failures = (httpx2.TransportError, httpx2.InvalidURL)
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._client = httpx2.AsyncClient(base_url=url.rstrip("/"), headers=headers, timeout=SECONDS)
        self._url = url

    async def call(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Call the server. Return what it answers as plain values, None for nothing."""
        params = {name: _as_text(value) for name, value in query.items() if value is not None}
        content = None if body is None else _encode(body)
        headers = {} if content is None else {"Content-Type": "application/json"}
        try:
            answer = await self._client.request(method, path, params=params, content=content, headers=headers)
        except self._failures as error:
            raise StoreUnavailable(
                f"the server at {self._url} cannot be reached ({type(error).__name__}); is it running there?"
            ) from error
        if answer.is_success:
            return msgspec.json.decode(answer.content) if answer.content else None
        refusal = _error_of(answer.status_code, answer.content)
        refusal.add_note(f"request id: {answer.headers.get('X-Request-ID', 'none')}")
        raise refusal

    async def upload(self, path: str, file: Path, **query: Any) -> AsyncIterator[dict[str, Any]]:
        """Send a file as the body of a call. Yield the lines that the server answers meanwhile."""
        from anyio import open_file  # it comes with the client

        async def read() -> AsyncIterator[bytes]:
            async with await open_file(file, "rb") as opened:
                while piece := await opened.read(65_536):
                    yield piece

        params = {name: _as_text(value) for name, value in query.items() if value is not None}
        headers = {"Content-Type": "application/octet-stream", "Accept": "application/x-ndjson"}
        try:
            async with self._client.stream(
                "POST", path, params=params, content=read(), headers=headers, timeout=None
            ) as answer:
                if not answer.is_success:
                    raise _error_of(answer.status_code, await answer.aread())
                async for line in answer.aiter_lines():
                    said = msgspec.json.decode(line)
                    if "error" in said:
                        raise _error_of(500, line.encode())
                    yield said
        except self._failures as error:
            said = f"the server at {self._url} broke off ({type(error).__name__}); import it again, and it goes on"
            raise StoreUnavailable(said) from error

    async def download(self, method: str, path: str, file: Path, **query: Any) -> Mapping[str, str]:
        """Write the answer of a call into a new file. Return its headers. Raises Conflict when the file is there."""
        from anyio import Path as AsyncPath  # it comes with the client

        place = AsyncPath(file)
        if await place.exists():
            raise errors.Conflict(f"{file} is there already; name another file")
        try:
            params = {name: _as_text(value) for name, value in query.items() if value is not None}
            async with self._client.stream(method, path, params=params) as answer:
                if not answer.is_success:
                    raise _error_of(answer.status_code, await answer.aread())
                async with await place.open("xb") as written:
                    async for piece in answer.aiter_bytes():
                        await written.write(piece)
                return dict(answer.headers)
        except self._failures as error:
            await place.unlink(missing_ok=True)
            said = f"the server at {self._url} broke off ({type(error).__name__}); try again"
            raise StoreUnavailable(said) from error

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()


def refuse(what: str) -> NoReturn:
    """Say that a verb works on a store of this machine alone."""
    raise InvalidInput(
        f"{what} works on a store of this machine; over HTTP use the verbs that docs/howto/serve-over-http.md lists"
    )


def check_tenant(tenant: str) -> None:
    """Raise InvalidInput for a tenant of the caller's choice."""
    if tenant != "default":
        raise InvalidInput("over HTTP the key decides about the tenant; leave it out")


def read_record(value: Any, kind: type[T]) -> T:
    """Return a record of plain values. Raises StoreUnavailable for an answer of another form."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, TypeError, KeyError) as error:
        raise StoreUnavailable(
            f"the server answers in another form than this memwarden reads ({error}); use the same release"
        ) from error


def _error_of(status: int, content: bytes) -> MemwardenError:
    """Return the error that a problem document names."""
    try:
        problem = msgspec.json.decode(content)
        name, detail = str(problem["error"]), str(problem["detail"])
    except (msgspec.DecodeError, TypeError, KeyError):
        name, detail = "", f"the server answered {status} and no problem document; is it a memwarden server?"
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, MemwardenError) and kind is not errors.NotKept:
        return kind(detail)
    return _BY_STATUS.get(status, StoreUnavailable)(detail)


def path_part(value: Any) -> str:
    """Return a text as a part of a path. A name of dots alone would lead to another."""
    part = quote(str(value), safe="")
    return part if part.strip(".") else part.replace(".", "%2E")


def _encode(body: Any) -> bytes:
    """Return a body as JSON. Raises InvalidInput for what is none, such as nan, which would arrive as null."""
    waiting = [body]
    while waiting:
        value = waiting.pop()
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidInput(f"value is not JSON: {value} is no number of JSON")
        if isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
    try:
        return msgspec.json.encode(body, enc_hook=plain)
    except (ValueError, TypeError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise InvalidInput(f"value is not JSON: {error!s:.200}") from error


def _as_text(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else value


def plain(value: Any) -> Any:
    """Return a mapping as an object of JSON. Raises InvalidInput for what is no JSON."""
    if isinstance(value, Mapping):
        return dict(value)
    raise InvalidInput(f"{type(value).__name__} is no JSON; keep to texts, numbers, true, false, null, lists, objects")


def _read_item(value: dict[str, Any]) -> RecallItem:
    why, memory = read_record(value["why"], Why), read_record(value["memory"], Memory)
    plain = {name: value[name] for name in ("id", "text", "category", "channel", "kind", "score")}
    partner = None if value["partner"] is None else read_record(value["partner"], Memory)
    return RecallItem(
        **plain,
        sources=tuple(value["sources"]),
        created_at=read_record(value["created_at"], datetime),
        explain=lambda: why,
        memory=memory,
        partner=partner,
    )


def read_query(value: dict[str, Any]) -> QueryResult:
    own = {name: tuple(map(_read_item, value.pop(name))) for name in ("items", "related")}
    own |= _read_shared(value)
    names = ("categories", "confidences")
    lists = {name: None if value[name] is None else tuple(value[name]) for name in names}
    return QueryResult(**{**value, **own, **lists})


def read_block(value: dict[str, Any]) -> ContextBlock:
    own: dict[str, Any] = {"items": tuple(map(_read_item, value.pop("items")))}
    own |= _read_shared(value)
    own |= {name: read_record(value.pop(name), tuple[Memory, ...]) for name in ("updated", "overview_of")}
    return ContextBlock(**{**value, **own})


def _read_shared(value: dict[str, Any]) -> dict[str, Any]:
    delta = value.pop("delta")
    own = {"cut": read_record(value.pop("cut"), tuple[Cut, ...])}
    return {**own, "delta": None if delta is None else read_record(delta, Delta)}
