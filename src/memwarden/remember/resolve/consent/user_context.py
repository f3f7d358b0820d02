"""The fields of a user context, and edits of them. No I/O."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memwarden.checks import quote
from memwarden.errors import InvalidInput
from memwarden.records import Memory, UserContext
from memwarden.remember.ingest.messages import normalize_line

CONTEXT_ID = "user-context"
"""The id of the memory that holds the user context of a namespace."""
# An agent needs this category on its allowlist to see anything of the context.
CATEGORY = "profile"

# Who somebody is: a wrong value would be repeated to them in every answer.
CONSENT_FIELDS = ("preferred_name", "pronouns", "city", "language")
TONE, GOALS_ADD, GOALS_REMOVE = "tone", "goals_add", "goals_remove"
VALUES = (*CONSENT_FIELDS, TONE)
"""The fields that hold a single value, or None."""
EDITABLE = (*VALUES, GOALS_ADD, GOALS_REMOVE)
# A value is a name or a goal. A text would be room for orders in every prompt.
MAX_VALUE_CHARACTERS = 200
# The context stands in every prompt, so it stays short.
MAX_GOALS = 20


@dataclass(frozen=True, slots=True)
class ContextEdit:
    """A change of a user context: a field and its new value, or a goal that comes or goes."""

    field: str
    value: str | None


def read_patch(patch: Any) -> tuple[ContextEdit, ...]:
    """Turn a caller's patch into changes. Raises InvalidInput that names the field and what is wrong with it.

    A mapping of field to value; None empties a field; ``goals_add`` and ``goals_remove`` take a text or a list.
    """
    if not isinstance(patch, Mapping) or not patch:
        raise InvalidInput(f"patch is a mapping such as {{'city': 'Lisbon'}}, not {quote(patch)}")
    edits: list[ContextEdit] = []
    for field, value in patch.items():
        if field not in EDITABLE:
            raise InvalidInput(f"a user context has {', '.join(EDITABLE)}, not {quote(field)}")
        if field in VALUES:
            edits.append(ContextEdit(field, None if value is None else _check_value(value, field)))
            continue
        goals = value if isinstance(value, Sequence) and not isinstance(value, str | bytes) else [value]
        if not goals:
            raise InvalidInput(f"{field} is an empty list; name a goal or leave it out")
        edits += [ContextEdit(field, _check_value(goal, field)) for goal in goals]
    return tuple(dict.fromkeys(edits))


def _check_value(value: Any, field: str) -> str:
    line = normalize_line(value)
    if line is None or not line.strip() or len(line) > MAX_VALUE_CHARACTERS:
        raise InvalidInput(
            f"{field} is a single line of 1 to {MAX_VALUE_CHARACTERS} printable characters, not {quote(value)}"
        )
    return " ".join(line.split())


def is_same(edit: ContextEdit, two: ContextEdit) -> bool:
    """Whether two edits are the same.

    Stricter than for memories: the same words, and for what needs consent the same letters. Likeness never counts.
    """
    if edit.field != two.field or edit.value is None or two.value is None or edit.field in CONSENT_FIELDS:
        return edit == two
    return _fold(edit.value) == _fold(two.value)


def _fold(value: str) -> str:
    return unicodedata.normalize("NFKC", value).casefold()


def apply_edit(context: UserContext, edit: ContextEdit) -> UserContext:
    """Return the context after an edit; an equal context when the edit changes nothing."""
    if edit.field in VALUES:
        held = ContextEdit(edit.field, getattr(context, edit.field))
        value: dict[str, Any] = {edit.field: edit.value}
        return context if is_same(held, edit) else replace(context, **value)
    known = [goal for goal in context.goals if is_same(ContextEdit(edit.field, goal), edit)]
    if edit.field == GOALS_ADD:
        return context if known or edit.value is None else replace(context, goals=(*context.goals, edit.value))
    return replace(context, goals=tuple(goal for goal in context.goals if goal not in known))


def apply_decision(context: UserContext, edit: ContextEdit) -> UserContext:
    """The context after a change that the person decided on."""
    field = edit.field if edit.field in VALUES else "goals"
    return replace(apply_edit(context, edit), decided=tuple(sorted({*context.decided, field})))


def is_empty(context: UserContext) -> bool:
    """Whether a context says nothing."""
    return not context.goals and all(getattr(context, field) is None for field in VALUES)


def context_text(context: UserContext) -> str:
    """Return the context as a prompt shows it, on a single line."""
    parts = [f"{_label(field)}: {getattr(context, field)}" for field in VALUES if getattr(context, field) is not None]
    return ". ".join([*parts, *(["Goals: " + "; ".join(context.goals)] if context.goals else [])]) + "."


def _label(field: str) -> str:
    return field.replace("_", " ").capitalize()


def context_payload(context: UserContext) -> dict[str, Any]:
    """The context as its memory holds it."""
    values: dict[str, Any] = {field: getattr(context, field) for field in VALUES}
    return values | {"goals": list(context.goals), "decided": list(context.decided)}


def read_context(memory: Memory | None) -> UserContext:
    """Return the context that a memory holds; an empty context for None."""
    if memory is None:
        return UserContext()
    held = memory.payload or {}
    values: dict[str, Any] = {field: held.get(field) for field in VALUES}
    values |= {name: tuple(held.get(name, ())) for name in ("goals", "decided")}
    return UserContext(**values, version=memory.version, updated_at=memory.updated_at)
