"""Reads a failure worth remembering: a code, a message and details."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from memwarden.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class FailureSignature:
    """A failure that is worth remembering.

    Attributes:
        code: the kind of failure, a short text or a member of an enum of texts, such as ``"timeout"``.
        message: a description. details: a JSON object.
    """

    code: str | Enum
    message: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def dict(self) -> dict[str, Any]:
        """The failure as a JSON object."""
        return {"code": _code(self.code), "message": self.message, "details": dict(self.details)}


def read_failure(failure: Any) -> tuple[str, dict[str, Any]]:
    """Return the code of a failure and all of it as a JSON object.

    failure: a :class:`FailureSignature`, an object with ``code`` and with ``dict()`` or ``model_dump()``, or a
    dataclass. Raises InvalidInput for anything else.
    """
    code = _code(getattr(failure, "code", None))
    whole = _fields(failure)
    if not isinstance(code, str) or not code.strip() or whole is None:
        raise InvalidInput(
            f"failure is a memwarden.tiers.FailureSignature, or has a code and dict(), not {failure!r:.80}"
        )
    try:
        plain: dict[str, Any] = json.loads(json.dumps(whole, default=_plain, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the failure is no JSON object: {error}") from None
    return code, plain


def _code(code: Any) -> Any:
    return code.value if isinstance(code, Enum) else code


def _fields(failure: Any) -> Mapping[str, Any] | None:
    # Pydantic 2, then Pydantic 1 and FailureSignature.
    for name in ("model_dump", "dict"):
        method = getattr(failure, name, None)
        if callable(method):
            found = method()
            return found if isinstance(found, Mapping) else None
    if dataclasses.is_dataclass(failure) and not isinstance(failure, type):
        return dataclasses.asdict(failure)
    return None


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    raise TypeError(f"{type(value).__name__} is no JSON")
