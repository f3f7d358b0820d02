"""Parts of a text over the size limit: memories that name their whole and their number in tags."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from memwarden.records.memory import Memory

# Maximum parts of a text. A longer text is rejected.
MAX_PARTS: Final = 64
PART_OF: Final = "part_of:"
_PART: Final = "part:"


class TextPart(NamedTuple):
    """The place of a part in its whole.

    Attributes:
        whole: id that all parts share: of the first part when the text was stored.
        number: from 1 on. parts: how many the whole has.
    """

    whole: str
    number: int
    parts: int

    @property
    def tags(self) -> tuple[str, str]:
        """The tags of the memory that holds the part."""
        return f"{PART_OF}{self.whole}", f"{_PART}{self.number}/{self.parts}"


def read_part(tags: Iterable[str]) -> TextPart | None:
    """Return which part of a whole a memory with these tags is. None for a whole text."""
    whole, place = "", ""
    for tag in tags:
        if tag.startswith(PART_OF):
            whole = tag.removeprefix(PART_OF)
        elif tag.startswith(_PART):
            place = tag.removeprefix(_PART)
    number, _, count = place.partition("/")
    if not whole or not (number.isdecimal() and count.isdecimal()):
        return None
    return TextPart(whole, int(number), int(count))


def leave_part_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return tags without those that name a part."""
    return tuple(tag for tag in tags if not tag.startswith((PART_OF, _PART)))


def join_parts(memories: Iterable[Memory]) -> list[Memory]:
    """Return memories with the given parts of a text joined to one memory, in the place of the part that came first.

    It has the id of the part with the lowest number.
    """
    wholes: dict[str, list[tuple[TextPart, Memory]]] = {}
    for memory in memories:
        part = read_part(memory.tags) or TextPart(memory.id, 1, 1)
        wholes.setdefault(part.whole if part.parts > 1 else memory.id, []).append((part, memory))
    return [_join(parts) for parts in wholes.values()]


def _join(parts: list[tuple[TextPart, Memory]]) -> Memory:
    ordered = [memory for _, memory in sorted(parts, key=lambda item: item[0].number)]
    if len(ordered) == 1:
        return ordered[0]
    text = "".join(memory.text for memory in ordered)
    return replace(ordered[0], text=text, tags=leave_part_tags(ordered[0].tags))
