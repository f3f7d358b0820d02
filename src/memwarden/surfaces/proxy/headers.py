"""Reads what a request's headers say about memory, and leaves out of them what is not for the upstream."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from starlette.datastructures import Headers

from memwarden.checks import whole, word
from memwarden.conversation.settings import INJECTION_MODES, MAX_TOKENS
from memwarden.errors import InvalidInput
from memwarden.remember.ingest.messages import checked_name
from memwarden.surfaces.proxy.sessions import read_durations

PREFIX: Final = "x-memory"
# ``on`` reads and writes; ``off`` passes everything on as it is.
SWITCH: Final = ("on", "off", "read", "write")
OWN_KEY: Final = "x-memory-key"
KEY_MARK: Final = "mw_"
RawHeaders = list[tuple[bytes, bytes]]
_CREDENTIALS: Final = ("authorization", "x-api-key", "api-key")
_KNOWN: Final[Mapping[str, str]] = {
    PREFIX: "switch",
    OWN_KEY: "key",
    "x-memory-user": "user",
    "x-memory-thread": "thread",
    "x-memory-agent": "agent",
    "x-memory-project": "project",
    "x-memory-budget": "budget",
    "x-memory-mode": "mode",
    "x-memory-session": "session",
    "x-memory-tool-cache": "tool_cache",
}
_NAMES: Final = ("user", "thread", "agent", "project", "session")
# What concerns a single connection (RFC 9110, 7.6.1), and what a client of HTTP writes itself.
_OF_CONNECTION: Final = frozenset(
    (
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
# What is between the caller and this server: its cookies, and the ways of reverse proxies before it.
_OF_SERVER: Final = re.compile(r"x-memory(-.*)?|cookie|set-cookie|forwarded|x-forwarded-.*|x-real-ip|origin")


class MemoryHeaders(NamedTuple):
    """What a request asks of memory. None: nothing was said of it.

    Attributes:
        switch: ``on``, ``off``, ``read`` or ``write``.
        session: the stored session that is woven in. tool_cache: for how many exchanges it keeps results of tools.
        mode: where memories are put (:data:`memwarden.conversation.settings.INJECTION_MODES`). budget: tokens.
    """

    switch: str | None = None
    key: str | None = None
    user: str | None = None
    thread: str | None = None
    agent: str | None = None
    project: str | None = None
    budget: int | None = None
    mode: str | None = None
    session: str | None = None
    tool_cache: Mapping[str, int] | None = None


def read_memory_headers(headers: Headers) -> MemoryHeaders:
    """Return what a request asks of memory; of a request with ``off`` nothing else is looked at.

    Raises InvalidInput.
    """
    given: dict[str, str] = {}
    for name, value in ((name.decode("latin-1").lower(), value) for name, value in headers.raw):
        if not name.startswith(PREFIX):
            continue
        # Whoever adds a second name to a request that went through a program would act for somebody else.
        if name in given:
            raise InvalidInput(f"the header {name} is there twice; send it once")
        given[name] = _decode(value).strip()
    if given.get(PREFIX, "").lower() == "off":
        return MemoryHeaders(switch="off")
    unknown = sorted(given.keys() - _KNOWN.keys())
    if unknown:
        raise InvalidInput(f"there is no header {unknown[0]!r:.80} for memory; there are: {', '.join(_KNOWN)}")
    return _check({_KNOWN[name]: value for name, value in given.items()})


def _check(given: Mapping[str, str]) -> MemoryHeaders:
    names = {name: checked_name(given.get(name), f"X-Memory-{name.title()}") for name in _NAMES}
    if "tool_cache" in given and "session" not in given:
        raise InvalidInput("X-Memory-Tool-Cache needs X-Memory-Session, which names the session that keeps the results")
    budget, switch, mode = (given.get(name) for name in ("budget", "switch", "mode"))
    return MemoryHeaders(
        switch=None if switch is None else word(SWITCH).check(switch.lower(), "X-Memory"),
        key=given.get("key"),
        tool_cache=read_durations(given.get("tool_cache", "")),
        budget=None if budget is None else whole(1, MAX_TOKENS).check(budget, "X-Memory-Budget", from_text=True),
        mode=None if mode is None else word(INJECTION_MODES).check(mode.lower(), "X-Memory-Mode"),
        **names,
    )


def read_own_key(headers: Headers) -> str | None:
    """Return the key of this server that a request brings; every other credential is meant for the upstream."""
    given = headers.get(OWN_KEY)
    if given is not None:
        return given
    held = (headers.get(name, "").strip() for name in _CREDENTIALS)
    return next((key for value in held if (key := _bare(value)).startswith(KEY_MARK)), None)


def has_credential(headers: Headers) -> bool:
    """Whether a request brings a credential for the upstream."""
    return any(not _is_own(name, headers.get(name, "")) for name in _CREDENTIALS if name in headers)


def headers_for_upstream(
    headers: Headers, *, plain: bool, decompressed: bool = False, rewritten: bool = False
) -> RawHeaders:
    """Return the headers to send on: without ours, without our key.

    plain: whether the answer is to come without compression, so that its words can be read. decompressed: whether the
    body was decompressed here. rewritten: whether it is JSON that was made here.
    """
    left_out = _OF_CONNECTION | _named_by_connection(headers.raw) | ({"accept-encoding"} if plain else set())
    left_out |= {"content-encoding"} if decompressed else set()
    left_out |= {"content-type"} if rewritten else set()
    passed = [(name, value) for name, value in headers.raw if _is_passed(name, value, left_out)]
    passed += [(b"content-type", b"application/json")] if rewritten else []
    return [*passed, (b"accept-encoding", b"identity")] if plain else passed


def headers_for_caller(raw: Iterable[tuple[bytes, bytes]], *, decoded: bool) -> RawHeaders:
    """Return the upstream's headers as the caller gets them. decoded: whether the body was decompressed here."""
    given = list(raw)
    left_out = (_OF_CONNECTION - {"content-length"}) | _named_by_connection(given)
    left_out |= {"content-encoding", "content-length"} if decoded else set()
    return [(name.lower(), value) for name, value in given if _is_passed(name, b"", left_out)]


def _is_passed(name: bytes, value: bytes, left_out: frozenset[str] | set[str]) -> bool:
    plain = name.decode("latin-1").lower()
    return not (plain in left_out or _OF_SERVER.fullmatch(plain) or _is_own(plain, value.decode("latin-1")))


def _is_own(name: str, value: str) -> bool:
    return name in _CREDENTIALS and _bare(value.strip()).startswith(KEY_MARK)


def _bare(credential: str) -> str:
    scheme, _, rest = credential.partition(" ")
    return rest.strip() if scheme.lower() == "bearer" else credential


def _named_by_connection(raw: Iterable[tuple[bytes, bytes]]) -> set[str]:
    listed = (value.decode("latin-1") for name, value in raw if name.lower() == b"connection")
    return {name.strip().lower() for value in listed for name in value.split(",")}


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
