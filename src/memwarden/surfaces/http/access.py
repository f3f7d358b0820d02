"""Finds out who calls: a key becomes a grant, and a grant with what is asked for becomes a scope."""

# Annotations are no texts here: FastAPI could not look up the names of closures in them.

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from math import inf
from typing import Annotated, Any, NamedTuple, cast

from fastapi import Depends, Query, Request, Security
from fastapi.dependencies.models import Dependant
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from memwarden import AsyncScope, AsyncWarden
from memwarden.arguments import check_no_agent
from memwarden.errors import Denied, InvalidInput, KeyRefused, StoreError, StoreUnavailable
from memwarden.surfaces.http.bodies import IdentifiedBody, Name
from memwarden.surfaces.http.categories import KeptCategories
from memwarden.surfaces.http.keys import EVERYTHING_GRANTED, AccessKey, Grant, KeyRing, Operation, open_scope
from memwarden.surfaces.http.limits import RateLimits
from memwarden.surfaces.proxy.headers import read_own_key
from memwarden.surfaces.proxy.shapes import find_provider

# Where the grant of a request stands in its state: the caller is asked for a key once.
GRANT = "grant"
# How long the store took to say so.
KEY_SECONDS = "key_seconds"
# A key that was good is good for so long while the store does not answer.
MAX_REMEMBERED_SECONDS = 600.0
MAX_REMEMBERED_KEYS = 1_000
_bearer = HTTPBearer(
    auto_error=False, scheme_name="key", description="A key of memwarden key create, as Authorization: Bearer mw_..."
)
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]


class RememberedKeys:
    """What a store said of keys lately, for calls that go on while it does not answer. Texts of keys are not kept."""

    def __init__(self) -> None:
        self._said: OrderedDict[bytes, tuple[float, AccessKey | None]] = OrderedDict()

    async def ask(self, text: str, ask: Callable[[], Awaitable[AccessKey | None]], seconds: float) -> AccessKey | None:
        """Return what the store says of a key, or said within ten minutes. Raises KeyRefused, StoreUnavailable."""
        place = hashlib.sha256(text.encode(errors="replace")).digest()
        try:
            async with asyncio.timeout(seconds):
                found = await ask()
        except (TimeoutError, StoreError):
            said_at, known = self._said.get(place, (-inf, None))
            if time.monotonic() - said_at > MAX_REMEMBERED_SECONDS:
                raise StoreUnavailable("the store does not answer, so no key can be checked; repeat the call") from None
            return known
        except KeyRefused:
            self._said.pop(place, None)
            raise
        self._said[place] = (time.monotonic(), found)
        self._said.move_to_end(place)
        if len(self._said) > MAX_REMEMBERED_KEYS:
            self._said.popitem(last=False)
        return found


class Entrance(NamedTuple):
    """What decides about callers. open_door: whether a store without keys may be used without a key."""

    keys: KeyRing
    limits: RateLimits
    open_door: bool
    categories: KeptCategories
    remembered: RememberedKeys

    async def find_grant(
        self, key: str | None, address: str, state: dict[str, Any], *, seconds: float | None = None
    ) -> Grant:
        """Return the grant of a caller, and count the call. Raises KeyRefused, RateLimited, StoreError.

        Args:
            key: what stands in the header, without the word Bearer. address: the caller's, for callers without a key.
            state: of the request; the headers of rate limits are put there.
            seconds: after so long a wait for the store what it said lately decides; None waits.
        """
        if key is None:
            await self.limits.count(f"address {address}", state, seconds=seconds)
            await self._ask("", self._check_open, seconds)
            return EVERYTHING_GRANTED
        try:
            known = await self._ask(key, lambda: self.keys.check(key), seconds)
        except KeyRefused:
            await self.limits.count(f"address {address}", state, seconds=seconds)
            raise
        assert known is not None
        await self.limits.count(f"key {known.id}", state, seconds=seconds)
        state["key_id"] = known.id
        return known.grant

    async def _ask(
        self, key: str, ask: Callable[[], Awaitable[AccessKey | None]], seconds: float | None
    ) -> AccessKey | None:
        async def follow_and_ask() -> AccessKey | None:
            await self.categories.follow()
            return await ask()

        return await follow_and_ask() if seconds is None else await self.remembered.ask(key, follow_and_ask, seconds)

    async def _check_open(self) -> None:
        """Raise KeyRefused unless callers need no key."""
        if not self.open_door or await self.keys.has_keys():
            raise KeyRefused("this server takes a key: Authorization: Bearer mw_...; memwarden key create makes keys")


class Caller(NamedTuple):
    """Whoever calls, allowed to do an operation."""

    warden: AsyncWarden
    grant: Grant
    operation: Operation

    def open(self, body: IdentifiedBody, *, user: str | None = None) -> AsyncScope:
        """Return the scope of a body. user: whom its filters name. Raises Denied, InvalidInput."""
        if body.user_id is not None and user is not None and body.user_id != user:
            raise InvalidInput(f"user_id is {body.user_id!r} and filters.user_id {user!r}; name a single user")
        return open_scope(
            self.warden,
            self.grant,
            self.operation,
            user=body.user_id if user is None else user,
            agent=body.agent,
            thread=body.thread_id,
            run=body.run_id,
            actor=body.actor_id,
            project=body.project_id,
            task=body.task_id,
            role=body.role,
        )

    def open_user(self, user: str | None, *, agent: str | None = None, thread: str | None = None) -> AsyncScope:
        """Return the scope of a user; None stands for the key's. Raises Denied."""
        return open_scope(self.warden, self.grant, self.operation, user=user, agent=agent, thread=thread)

    def check_whole_store(self, what: str) -> None:
        """Raise Denied for a key of a user, an agent or a tenant, where something belongs to all tenants."""
        self.check_unbound(what)
        if self.grant.tenant != "default":
            raise Denied(f"{what} takes a key of the tenant 'default', whose operators run the server")

    def check_unbound(self, what: str) -> None:
        """Raise Denied for a key of a single user or agent, where something belongs to a whole tenant."""
        if self.grant.user is not None or self.grant.agent is not None:
            raise Denied(f"{what} takes a key that is bound to no user and no agent")


async def find_grant(request: Request) -> Grant:
    """Return the grant of a request's key, and count the call. Raises KeyRefused, RateLimited, StoreError."""
    entrance: Entrance = request.app.state.entrance
    state: dict[str, Any] = request.scope.setdefault("state", {})
    if GRANT in state:  # the gate asked before it read the body
        return cast(Grant, state[GRANT])
    address = request.client.host if request.client else "unknown"
    passed_on = find_provider(request.scope) is not None
    seconds = request.app.state.warden.settings.memory_seconds if passed_on else None
    began = time.monotonic()
    state[GRANT] = await entrance.find_grant(_read_key(request), address, state, seconds=seconds)
    state[KEY_SECONDS] = time.monotonic() - began
    return cast(Grant, state[GRANT])


def _read_key(request: Request) -> str | None:
    """Return the key that a request brings; None for a request without any."""
    if find_provider(request.scope) is not None:
        return read_own_key(request.headers)
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    # Another scheme is no key, and no missing key either.
    return None if not scheme else given.strip() if scheme.lower() == "bearer" else ""


def check_parameters(request: Request) -> None:
    """Refuse parameters that a route does not have: a user_id passed over would act on somebody else's memory."""
    unknown = sorted(request.query_params.keys() - (known := _find_parameters(request.scope["route"].dependant)))
    if unknown:
        there = f"it takes: {', '.join(sorted(known))}" if known else "what it takes stands in the body"
        raise InvalidInput(f"{request.method} here has no parameter {unknown[0]!r:.80} in its URL; {there}")


def _find_parameters(needed: Dependant) -> set[str]:
    """Return the names of what stands after ? in the URL of a route, and of all that the route depends on."""
    found = {field.alias for field in needed.query_params}
    return found.union(*(_find_parameters(dependency) for dependency in needed.dependencies))


def caller_for(operation: Operation) -> Callable[..., Awaitable[Caller]]:
    """Return the dependency of routes that do an operation."""

    # The credentials are asked for so that the OpenAPI document names the scheme.
    async def find_caller(request: Request, credentials: Credentials) -> Caller:
        grant = await find_grant(request)
        check_parameters(request)
        warden: AsyncWarden = request.app.state.warden
        if operation not in grant.operations:
            open_scope(warden, grant, operation)  # refuses, with an event
        return Caller(warden, grant, operation)

    return find_caller


def scope_for(operation: Operation) -> Callable[..., Awaitable[AsyncScope]]:
    """Return the dependency of routes whose query says who calls."""
    find_caller = caller_for(operation)

    async def find_scope(
        caller: Annotated[Caller, Depends(find_caller)],
        user_id: Annotated[Name | None, Query(description="Whose memory. Default: the key's user.")] = None,
        agent: Annotated[Name | None, Query(description="The agent that asks; its allowlist decides.")] = None,
        thread_id: Annotated[Name | None, Query(description="The conversation.")] = None,
    ) -> AsyncScope:
        return open_scope(caller.warden, caller.grant, operation, user=user_id, agent=agent, thread=thread_id)

    return find_scope


def owner_for(operation: Operation) -> Callable[..., Awaitable[Caller]]:
    """Return the dependency of routes that are about all of a person's memory, whatever agents may see."""
    find_caller = caller_for(operation)

    async def find_owner(
        caller: Annotated[Caller, Depends(find_caller)],
        agent: Annotated[Name | None, Query(description="Must be left out: agents may not.")] = None,
    ) -> Caller:
        check_no_agent(caller.grant.narrow_agent(agent))
        return caller

    return find_owner


Importer = Annotated[Caller, Depends(owner_for(Operation.WRITE))]
Exporter = Annotated[Caller, Depends(owner_for(Operation.READ))]
Eraser = Annotated[Caller, Depends(owner_for(Operation.DECIDE))]
Reader = Annotated[Caller, Depends(caller_for(Operation.READ))]
WritingCaller = Annotated[Caller, Depends(caller_for(Operation.WRITE))]
Operator = Annotated[Caller, Depends(caller_for(Operation.OPERATE))]
ReadScope = Annotated[AsyncScope, Depends(scope_for(Operation.READ))]
WriteScope = Annotated[AsyncScope, Depends(scope_for(Operation.WRITE))]
DecideScope = Annotated[AsyncScope, Depends(scope_for(Operation.DECIDE))]
