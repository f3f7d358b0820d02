"""Measures how much of a prompt a provider's prefix cache can reuse."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memwarden.conversation.formats import Request
from memwarden.tokens import TokenCounter, estimate

# A provider reads the early parts of a request before the late parts.
_EARLY = ("tools", "system", "instructions")
_LATE = ("messages", "input")


@dataclass(frozen=True, slots=True)
class PrefixShare:
    """The reusable beginning of a prompt. Sizes in tokens.

    Attributes:
        identical: size of the beginning that equals the previous prompt's.
        prompt: size of this prompt. last: size of the previous prompt; 0 for the first.
    """

    identical: int
    prompt: int
    last: int

    @property
    def of_this(self) -> float:
        """The share of this prompt that equals the previous prompt, 0..1."""
        return self.identical / self.prompt if self.prompt else 0.0

    @property
    def of_last(self) -> float:
        """The share of the previous prompt that this prompt begins with, 0..1; 1 when all of it can be reused."""
        return self.identical / self.last if self.last else 0.0


class PrefixMeter:
    """Compares each prompt of a conversation with the previous prompt, in any form.

    >>> meter = PrefixMeter()
    >>> meter.add(turn.request).of_last

    Attributes:
        total: the sums over all prompts but the first.
    """

    def __init__(self, count: TokenCounter = estimate) -> None:
        self._count = count
        self._last = ""
        self.total = PrefixShare(0, 0, 0)

    def add(self, request: Request) -> PrefixShare:
        """Add the next prompt and return how it begins."""
        text, last = prompt_text(request), self._last
        identical = text[: _common_length(last, text)]
        share = PrefixShare(self._count(identical), self._count(text), self._count(last))
        if last:
            total = self.total
            self.total = PrefixShare(
                total.identical + share.identical, total.prompt + share.prompt, total.last + share.last
            )
        self._last = text
        return share


def prompt_text(request: Request) -> str:
    """Return a request as the text that a model reads, in reading order."""
    if not isinstance(request, Mapping):
        return "".join(map(_line, request))
    early = [_line({name: request[name]}) for name in _EARLY if request.get(name)]
    late = [request[name] for name in _LATE if request.get(name)]
    lists = [[{"role": "user", "content": item}] if isinstance(item, str) else item for item in late]
    return "".join(early) + "".join(_line(message) for item in lists for message in item)


def _line(part: Any) -> str:
    """Return a part as a line of JSON, the role first, as models read it."""
    fields = sorted(part.items(), key=lambda item: (item[0] != "role", item[0])) if isinstance(part, Mapping) else part
    return json.dumps(fields, ensure_ascii=False, default=_plain) + "\n"


def _common_length(text: str, other: str) -> int:
    """Return how many characters the beginnings of two texts share."""
    # A binary search compares slices in C: prompts have hundreds of thousands of characters.
    low, high = 0, min(len(text), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _plain(thing: Any) -> Any:
    """Return an SDK object as JSON."""
    dump = getattr(thing, "model_dump", None)
    return dump(mode="json", exclude_unset=True) if callable(dump) else str(thing)
