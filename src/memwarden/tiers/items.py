"""The items of the three stores: ids, sources, tags, importances and payloads.

Pure functions. A token cost is counted by the product's counter, never by splitting on spaces.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from memwarden.clock import new_id
from memwarden.errors import InvalidInput
from memwarden.records import Kind
from memwarden.remember.ingest.messages import checked_name, checked_names
from memwarden.text.tokenizer import TokenCounter, estimate
from memwarden.tiers.backend import ContextItem

# The importance of each kind, 0..1.
IMPORTANCE: Final[Mapping[str, float]] = {
    Kind.REASONING: 0.5,
    Kind.TOOL_OUTPUT: 0.7,
    Kind.DECISION: 0.9,
    Kind.CONVENTION: 0.8,
    Kind.FAILURE: 0.85,
    Kind.PREFERENCE: 0.9,
    Kind.PATTERN: 0.7,
}
# Characters of a tool output in a prompt: about 400 tokens, so that it fits a usual budget.
MAX_OUTPUT: Final = 1_600
# The sections of a project's memory, and the kind of their items.
SECTIONS: Final[Mapping[str, str]] = {
    "decisions": Kind.DECISION,
    "conventions": Kind.CONVENTION,
    "failures": Kind.FAILURE,
    "patterns": Kind.PATTERN,
    "preferences": Kind.PREFERENCE,
}


def reasoning(task_id: str, stage_id: str, text: str, count: TokenCounter = estimate) -> ContextItem:
    """Return the item of an agent's thought in a stage."""
    return _item(
        Kind.REASONING,
        f"reasoning-{stage_id}",
        f"task/{task_id}/{stage_id}",
        ("task", stage_id),
        {"text": text},
        count(text),
    )


def tool_output(task_id: str, tool_id: str, output: Any, count: TokenCounter = estimate) -> ContextItem:
    """Return the item of a tool's answer, any JSON value. Raises InvalidInput for other values."""
    try:
        said = json.dumps(output, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the output of tool {tool_id!r:.80} is no JSON value: {error}") from None
    plain = json.loads(said)
    cost = count(plain if isinstance(plain, str) else said)
    payload = {"tool_id": tool_id, "output": plain}
    return _item(Kind.TOOL_OUTPUT, f"tool-{tool_id}", f"task/{task_id}", ("task", "tool", tool_id), payload, cost)


def decision(project_id: str, text: str, tags: Sequence[str], count: TokenCounter = estimate) -> ContextItem:
    """Return the item of a project's decision."""
    given = checked_names(tags, "tags")
    return _of_project(Kind.DECISION, project_id, given, {"decision": text}, count(text))


def convention(project_id: str, text: str, scope: str, count: TokenCounter = estimate) -> ContextItem:
    """Return the item of a project's convention, and where it applies."""
    return _of_project(Kind.CONVENTION, project_id, (scope,), {"convention": text, "scope": scope}, count(text))


def failure(
    project_id: str, code: str, whole: Mapping[str, Any], lesson: str, count: TokenCounter = estimate
) -> ContextItem:
    """Return the item of a project's failure and its lesson."""
    payload = {"failure": dict(whole), "lesson": lesson}
    return _of_project(Kind.FAILURE, project_id, (code,), payload, count(lesson))


def preference(project_id: str | None, text: str, category: str, count: TokenCounter = estimate) -> ContextItem:
    """How somebody wants it, in a project or (None) everywhere."""
    payload = {"preference": text, "category": category}
    return _of_project(Kind.PREFERENCE, project_id, (category,), payload, count(text), "pref")


def pattern(project_id: str | None, text: str, domain: str, count: TokenCounter = estimate) -> ContextItem:
    """Return the item of a pattern that works in a project or (None) everywhere."""
    return _of_project(Kind.PATTERN, project_id, (domain,), {"pattern": text, "domain": domain}, count(text))


def item_words(item: ContextItem) -> str:
    """Return the words that stand for an item in a prompt: its payload by its kind, else all its texts."""
    payload = item.payload
    if item.kind == Kind.TOOL_OUTPUT and "output" in payload:
        output = payload["output"]
        said = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        return f"{payload.get('tool_id', 'tool')}: {said}"
    if item.kind == Kind.FAILURE and isinstance(payload.get("failure"), Mapping):
        failed, lesson = payload["failure"], str(payload.get("lesson", ""))
        message = failed.get("message")
        # The lesson of a failed command repeats its message.
        is_new = isinstance(message, str) and message.strip() and message.strip() not in lesson
        said = f" ({message.strip()})" if is_new else ""
        return f"{failed.get('code', 'failure')}{said}: {lesson}"
    main = payload.get(item.kind, payload.get("text"))
    beside = next(
        (payload[name] for name in ("scope", "category", "domain") if isinstance(payload.get(name), str)), None
    )
    if isinstance(main, str):
        return f"{main} ({beside})" if beside and item.kind in SECTIONS.values() else main
    return "; ".join(f"{key}: {_flat(value)}" for key, value in payload.items()) or item.kind


def shorten_output(words: str) -> str:
    """Return the beginning and the end of a long tool output."""
    if len(words) <= MAX_OUTPUT:
        return words
    head, tail = MAX_OUTPUT * 3 // 4, MAX_OUTPUT // 4
    return f"{words[:head]} … [{len(words) - head - tail:,} characters left out] … {words[-tail:]}"


def _flat(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _of_project(
    kind: Kind, project_id: str | None, tags: Sequence[str], payload: Mapping[str, Any], cost: int, prefix: str = ""
) -> ContextItem:
    tier = "global" if project_id is None else "project"
    source = "global" if project_id is None else f"project/{project_id}"
    return _item(kind, prefix or str(kind), source, (tier, str(kind), *tags), payload, cost)


def _item(
    kind: Kind, prefix: str, source: str, tags: Sequence[str], payload: Mapping[str, Any], cost: int
) -> ContextItem:
    # The prefix holds the caller's names of stages and tools, which may be too long together.
    identity = checked_name(f"{prefix}-{new_id()}", "the item's id")
    return ContextItem(
        context_item_id=identity or "",
        kind=str(kind),
        source=source,
        tags=tags,
        importance=IMPORTANCE[kind],
        token_cost=cost,
        payload=payload,
    )


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
