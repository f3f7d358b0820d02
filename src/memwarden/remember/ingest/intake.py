"""Redacts secrets in texts, and screens texts from outside for orders to an assistant.

Decisions only. Every way into the store goes through here: turns, stated texts, corrections, and items
of tasks and projects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, TypeVar

from memwarden.records import Kind, Memory, MemoryState, Trust
from memwarden.remember.ingest.messages import Draft, Message

T = TypeVar("T", Message, Draft, Memory)

_TOOL_ROLES = ("tool", "function")
# Nobody in the conversation said what has such a source, so nobody vouches for it.
_EXTERNAL_SOURCES = ("http://", "https://", "file:", "import/", "tool/", "web/", "document/")
TRUST_RANK: Mapping[str, int] = {Trust.EXTERNAL: 0, Trust.ASSISTANT: 1, Trust.PERSON: 2}


@dataclass(frozen=True, slots=True)
class Screening:
    """The result of screening a text. state: of the new memory. kinds: of what is suspicious."""

    state: MemoryState = MemoryState.ACTIVE
    kinds: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """The reason in words, for the caller."""
        return f"it looks like orders for an assistant ({', '.join(self.kinds)}): held back, never shown to a model"


NOT_SUSPICIOUS = Screening()


def redact_secrets(what: T) -> tuple[T, tuple[str, ...]]:
    """Return the text or record with a mark for every secret, and the kinds of the secrets."""
    fields = ["text"] if isinstance(what, Message) else ["text", "summary", "context", "source", "tags"]
    fields += ["payload"] if isinstance(what, Memory) else []
    changed, kinds = redact_value({name: getattr(what, name) for name in fields}, named=False)
    return (replace(what, **changed) if kinds else what), kinds


def redact_value(value: Any, *, named: bool = True) -> tuple[Any, tuple[str, ...]]:
    """Return a JSON value with a mark for every secret, and the kinds of the secrets.

    Names in objects are texts, too; of names that would be the same then, the later ones get a number, so that no value
    is lost.

    named: whether a text in an object is read with its name: what stands under "password" is a secret.
    """
    from memwarden.security.secrets import redact

    found: list[str] = []

    def clean(value: Any, before: str = "") -> Any:
        if isinstance(value, str):
            redacted = redact(before + value)
            if before and not redacted.text.startswith(before):
                return clean(value)
            found.extend(redacted.found)
            return redacted.text.removeprefix(before)
        if isinstance(value, Mapping):
            names = _redact_names(value, found)
            return {names[key]: clean(item, f"{names[key]}: ") for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(clean(item) for item in value)
        return value

    if named or not isinstance(value, Mapping):
        return clean(value), tuple(dict.fromkeys(found))
    return {name: clean(item) for name, item in value.items()}, tuple(dict.fromkeys(found))


def _redact_names(value: Mapping[Any, Any], found: list[str]) -> dict[Any, Any]:
    """Return an object's names without secrets, by their old names; kinds of secrets go to ``found``."""
    from memwarden.security.secrets import redact

    texts = [key for key in value if isinstance(key, str)]
    if not redact("\n\n".join(texts)).found:  # a single scan of all: most names hold nothing, and each scan costs
        return {key: key for key in value}
    redacted = {key: redact(key) for key in texts}
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


def trust_of(role: str | None, kind: str | None = None, source: str | None = None) -> Trust:
    """Return the trust of words by their role, kind and source."""
    if role in _TOOL_ROLES or kind == Kind.TOOL_OUTPUT or (source or "").lower().startswith(_EXTERNAL_SOURCES):
        return Trust.EXTERNAL
    return Trust.ASSISTANT if role == "assistant" else Trust.PERSON


def screen(trust: str, *texts: str | None) -> Screening:
    """Decide the state of a new memory by all of its texts that a prompt may show.

    What comes from outside and looks like orders is quarantined.
    """
    if trust != Trust.EXTERNAL:
        return NOT_SUSPICIOUS
    from memwarden.security.injection import find_suspicion

    kinds = tuple(sorted({kind for text in texts if text for kind in find_suspicion(text).kinds}))
    return Screening(MemoryState.QUARANTINED, kinds) if kinds else NOT_SUSPICIOUS


def describe_secrets(kinds: tuple[str, ...]) -> str:
    """Return the words for secrets that were taken out."""
    return f"secrets taken out: {', '.join(kinds)}" if kinds else ""
