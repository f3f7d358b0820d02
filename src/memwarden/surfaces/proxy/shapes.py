"""Tells which requests are passed on, and words refusals of them as the provider's clients parse errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.types import Scope

# Paths that are passed on, with the form of their requests (:mod:`memwarden.conversation.formats`); "" for those
# without a conversation.
PASSED_PATHS: Final[Mapping[str, str]] = {
    "/v1/chat/completions": "openai_chat",
    "/v1/responses": "openai_responses",
    "/v1/messages": "anthropic",
    "/v1/messages/count_tokens": "",
    "/v1/completions": "",
    "/v1/embeddings": "",
    "/v1/models": "",
}
_MODEL: Final = "/v1/models/"
# Paths of Azure OpenAI: of a deployment with ``?api-version=...``, and of its v1 API.
_OF_AZURE: Final = re.compile(
    r"/openai/deployments/[^/]+(?P<rest>/chat/completions|/completions|/embeddings)|/openai/v1(?P<same>/.+)"
)
# Key of a request's scope: the path of a deployment as the caller named it.
AZURE_PATH: Final = "memwarden.azure_path"
_OF_ANTHROPIC: Final = "/v1/messages"
# Clients of Anthropic send it with every call, and say by it whose list of models they mean.
ANTHROPIC_VERSION: Final = "anthropic-version"
_TYPES_OF_ANTHROPIC: Final[Mapping[int, str]] = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.NOT_FOUND: "not_found_error",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "request_too_large",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
    HTTPStatus.GATEWAY_TIMEOUT: "timeout_error",
}

# What :func:`shape_error` makes, for both providers.
ERROR_SCHEMA: Final[Mapping[str, Any]] = {
    "title": "ModelError",
    "description": "What this server refuses, as the provider of models writes its own errors.",
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["type", "message"],
            "properties": {"type": {"type": "string"}, "message": {"type": "string"}},
        }
    },
}


def path_of(scope: Mapping[str, Any]) -> str:
    """Return the path of a request below the place where the server is mounted."""
    return str(scope["path"]).removeprefix(str(scope.get("root_path", "")))


def unify_azure(scope: Scope) -> Scope:
    """Return a request with OpenAI's path in place of Azure's; :data:`AZURE_PATH` keeps that of a deployment."""
    path = path_of(scope)
    found = _OF_AZURE.fullmatch(path)
    if found is None:
        return scope
    root = str(scope["path"]).removesuffix(path)
    if found["same"]:
        return {**scope, "path": f"{root}/v1{found['same']}"}
    return {**scope, "path": f"{root}/v1{found['rest']}", AZURE_PATH: path}


def is_passed_on(path: str) -> bool:
    """Whether requests of a path, or of a pattern of paths, are passed on to an upstream."""
    return path in PASSED_PATHS or path.startswith(_MODEL)


def find_provider(scope: Mapping[str, Any]) -> str | None:
    """Return whose API a request speaks, ``openai`` or ``anthropic``; None for what is not passed on."""
    path = path_of(scope)
    if not is_passed_on(path):
        return None
    of_anthropic = path.startswith(_OF_ANTHROPIC) or ANTHROPIC_VERSION in Headers(raw=list(scope["headers"]))
    return "anthropic" if of_anthropic else "openai"


def shape_error(provider: str, status: int, error: str, detail: str, request_id: str) -> dict[str, Any]:
    """Return the body of a refusal as a provider would write it. error: its name in the Python package."""
    mistaken = status < HTTPStatus.INTERNAL_SERVER_ERROR
    if provider == "anthropic":
        kind = _TYPES_OF_ANTHROPIC.get(status, "invalid_request_error" if mistaken else "api_error")
        return {"type": "error", "error": {"type": kind, "message": detail}, "request_id": request_id}
    kind = "invalid_request_error" if mistaken else "server_error"
    return {"error": {"message": detail, "type": kind, "param": None, "code": error}}
