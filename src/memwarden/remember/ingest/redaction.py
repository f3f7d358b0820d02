"""Redaction of secrets in records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, TypeVar

from memwarden.records import Memory
from memwarden.remember.ingest.messages import Draft, Message

T = TypeVar("T", Message, Draft, Memory)
# The tag of what tells a code of a home.
PRIVATE = "private"


def redact_secrets(what: T, *, strict: bool = False) -> tuple[T, tuple[str, ...]]:
    """Return the text or record with a mark for every secret, and the kinds of the secrets.

    strict: codes of a home are secrets, too.
    """
    fields = ["text"] if isinstance(what, Message) else ["text", "summary", "context", "source", "tags"]
    fields.append("payload" if isinstance(what, Memory) else "metadata")
    changed, kinds = redact_value({name: getattr(what, name) for name in fields}, named=False, strict=strict)
    return (replace(what, **changed) if kinds else what), kinds


def redact_value(value: Any, *, named: bool = True, strict: bool = False) -> tuple[Any, tuple[str, ...]]:
    """Return a JSON value with a mark for every secret, and the kinds of the secrets.

    Names in objects are texts, too; of names that would be the same then, the later ones get a number, so that no value
    is lost.

    named: whether a text in an object is read with its name: what stands under "password" is a secret.
    strict: codes of a home are secrets, too.
    """
    from memwarden.security.secrets import redact

    found: list[str] = []

    def clean(value: Any, before: str = "") -> Any:
        if isinstance(value, str):
            redacted = redact(before + value, strict=strict)
            if before and not redacted.text.startswith(before):
                return clean(value)
            found.extend(redacted.found)
            return redacted.text.removeprefix(before)
        if isinstance(value, Mapping):
            names = _redact_names(value, found, strict)
            return {names[key]: clean(item, f"{names[key]}: ") for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(clean(item) for item in value)
        return value

    if named or not isinstance(value, Mapping):
        return clean(value), tuple(dict.fromkeys(found))
    return {name: clean(item) for name, item in value.items()}, tuple(dict.fromkeys(found))


def _redact_names(value: Mapping[Any, Any], found: list[str], strict: bool) -> dict[Any, Any]:
    """Return an object's names without secrets, by their old names; kinds of secrets go to ``found``."""
    from memwarden.security.secrets import redact

    texts = [key for key in value if isinstance(key, str)]
    # A single scan of all: most names hold nothing, and each scan costs.
    if not redact("\n\n".join(texts), strict=strict).found:
        return {key: key for key in value}
    redacted = {key: redact(key, strict=strict) for key in texts}
    changed = {key: item for key, item in redacted.items() if item.found}
    names: dict[Any, Any] = {key: key for key in value if key not in changed}
    taken = set(names)
    for key, item in changed.items():
        found.extend(item.found)
        name = next(each for each in _number_name(item.text) if each not in taken)
        names[key] = name
        taken.add(name)
    return names


def _number_name(text: str) -> Iterator[str]:
    yield text
    yield from (f"{text} ({number})" for number in count(2))


def mark_private(tags: tuple[str, ...], *texts: str | None) -> tuple[str, ...]:
    """Return the tags, with ``private`` when a text tells a code of a home: it is kept, since a person asks for it."""
    from memwarden.security.secrets import holds_home_code

    private = PRIVATE not in tags and any(holds_home_code(text) for text in texts if text)
    return (*tags, PRIVATE) if private else tags


def describe_secrets(kinds: tuple[str, ...]) -> str:
    """Return the words for secrets that were taken out."""
    return f"secrets taken out: {', '.join(kinds)}" if kinds else ""
