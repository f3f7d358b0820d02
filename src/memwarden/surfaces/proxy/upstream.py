"""Sends requests on to the providers of models that the settings name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request

from memwarden.errors import InvalidConfig, ModelUnavailable, NotFound, missing_extra
from memwarden.settings import Settings
from memwarden.surfaces.proxy.headers import has_credential, headers_for_upstream
from memwarden.surfaces.proxy.shapes import AZURE_PATH, path_of

if TYPE_CHECKING:
    import httpx2

# What the transport calls the step after which a request is on its way.
_SENT: Final = ".send_request_body.complete"
CONNECT_SECONDS: Final = 10.0
MAX_CONNECTIONS: Final = 1_000
# Where the keys of the upstreams stand. They are no settings: what is printed of settings would show them.
KEY_VARIABLES: Final[Mapping[str, str]] = {
    "openai": "MEMWARDEN_UPSTREAM_KEY",
    "anthropic": "MEMWARDEN_UPSTREAM_ANTHROPIC_KEY",
}


class SentBody(NamedTuple):
    """The body of a request as it is sent on. decompressed: whether the caller had sent it compressed.

    rewritten: whether it is JSON that was made here, in UTF-8.
    """

    content: bytes
    decompressed: bool = False
    rewritten: bool = False


class UpstreamClient:
    """The connections to the upstreams of the settings. Raises InvalidConfig for a URL that is none."""

    def __init__(self, settings: Settings) -> None:
        self._urls = {
            "openai": _check_url("upstream", settings.upstream),
            "anthropic": _check_url("upstream_anthropic", settings.upstream_anthropic or settings.upstream),
        }
        self._keys = {provider: os.environ.get(name, "") for provider, name in KEY_VARIABLES.items()}
        if not settings.upstream_anthropic:
            self._keys["anthropic"] = self._keys["anthropic"] or self._keys["openai"]
        self._seconds = settings.upstream_seconds
        self._client: httpx2.AsyncClient | None = None

    async def send(
        self, request: Request, provider: str, body: SentBody, *, plain: bool, sent: Callable[[], None]
    ) -> httpx2.Response:
        """Send a request on, with this body, and return the answer as it begins. Raises ModelUnavailable, NotFound.

        plain: whether the answer is to come without compression. sent: is called once the request is on its way.
        """
        import httpx2

        client = self._client = self._client or self._open()
        headers = headers_for_upstream(
            request.headers, plain=plain, decompressed=body.decompressed, rewritten=body.rewritten
        )
        deployment = request.scope.get(AZURE_PATH)
        if self.lends_key(request.headers, provider):
            headers.append(_credential("azure" if deployment else provider, self._keys[provider]))
        query = request.scope["query_string"].decode("latin-1")
        base = self._urls[provider]
        if deployment:  # it is beside the v1 API, which the setting may name
            base = base.removesuffix("/v1").removesuffix("/openai")
        url = base + quote_path(deployment or path_of(request.scope)) + (f"?{query}" if query else "")
        timeout = httpx2.Timeout(self._seconds, connect=CONNECT_SECONDS)
        content = body.content if body.content or request.method != "GET" else None

        async def follow(step: str, _: Mapping[str, Any]) -> None:
            if step.endswith(_SENT):
                sent()

        try:
            made = httpx2.Request(
                request.method,
                url,
                headers=headers,
                content=content,
                extensions={"timeout": timeout.as_dict(), "trace": follow},
            )
            return await client.send(made, stream=True, follow_redirects=False)
        except httpx2.TimeoutException:
            said = f"the upstream at {self._site(provider)} took too long; repeat the call, or raise upstream_seconds"
            raise ModelUnavailable(said) from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            said = f"the upstream at {self._site(provider)} gave no answer ({type(error).__name__}); repeat the call"
            raise ModelUnavailable(said) from None

    def lends_key(self, headers: Headers, provider: str) -> bool:
        """Whether a request with these headers is sent on with the server's own key of the provider."""
        return bool(self._keys[provider]) and not has_credential(headers)

    async def close(self) -> None:
        """Let go of the connections."""
        if self._client is not None:
            await self._client.aclose()

    def _site(self, provider: str) -> str:
        return urlsplit(self._urls[provider]).hostname or "nowhere"

    def _open(self) -> httpx2.AsyncClient:
        import httpx2

        # The connections are shared by all callers: what an upstream wants one to bring again is none of the others'.
        no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
        return httpx2.AsyncClient(limits=httpx2.Limits(max_connections=MAX_CONNECTIONS), cookies=no_cookies)


def open_upstream(settings: Settings) -> UpstreamClient | None:
    """Return the connections to the upstreams; None where the settings name none. Raises InvalidConfig."""
    if not settings.upstream and not settings.upstream_anthropic:
        return None
    if find_spec("httpx2") is None:
        raise missing_extra("upstream", "server")
    return UpstreamClient(settings)


def quote_path(path: str) -> str:
    """Return a path below the upstream's URL, quoted. Raises NotFound for a path that would lead elsewhere."""
    parts = path.removeprefix("/v1").removeprefix("/").split("/")
    # The server decoded the path: what it holds now could be read as a way up, a query or a fragment.
    if not {"", ".", ".."}.isdisjoint(parts) or any(mark in path for mark in "?#%\\"):
        raise NotFound(f"nothing is passed on under {path!r:.80}; name a model as the upstream lists it")
    return "".join("/" + quote(part, safe=":@") for part in parts)


def _check_url(name: str, url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if url and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment):
        raise InvalidConfig(f"{name} is a URL such as https://api.openai.com/v1, not {url!r:.80}")
    return url.rstrip("/")


def _credential(api: str, key: str) -> tuple[bytes, bytes]:
    names = {"anthropic": b"x-api-key", "azure": b"api-key"}
    return (names[api], key.encode()) if api in names else (b"authorization", f"Bearer {key}".encode())
