"""Measures the first hour of a memory: stores of a few lines, plain questions, and things that nobody said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from memwarden import Warden
from memwarden.errors import InvalidInput
from memwarden_bench.replay import Tick

WRITES = ("observe", "remember")
READS = ("context", "query")


class FewLines(msgspec.Struct, frozen=True):
    """A store of a few lines. ask: questions with a word that the answer contains. never: what nobody said."""

    said: tuple[str, ...]
    ask: tuple[tuple[str, str], ...]
    never: tuple[str, ...] = ()


FirstHour = Mapping[str, tuple[FewLines, ...]]
"""Stores by the name of their part."""


@dataclass(frozen=True, slots=True)
class FirstHourFigures:
    """How many questions are answered, and how many get something although nobody said it.

    Attributes:
        write, read: the verbs that were used. missed: the questions that were not answered.
    """

    part: str
    write: str
    read: str
    answered: int
    asked: int
    something: int
    never: int
    missed: Sequence[str]


def is_first_hour(content: Any) -> bool:
    """Tell small stores from histories."""
    return (
        isinstance(content, Mapping) and "threads" not in content and '"said"' in msgspec.json.encode(content).decode()
    )


def read_first_hour(content: Any, where: str) -> FirstHour:
    """Read parts of a store or of several. Raises InvalidInput that says what is wrong and where."""
    try:
        parts = msgspec.convert(content, dict[str, FewLines | tuple[FewLines, ...]])
    except msgspec.ValidationError as error:
        raise InvalidInput(
            f"{where!r} holds no small stores: {error}; see docs/howto/measure-everyday-memory.md"
        ) from None
    return {name: (part,) if isinstance(part, FewLines) else part for name, part in parts.items()}


def count_questions(parts: FirstHour) -> int:
    """Return how many questions are asked, in every way."""
    asked = sum(len(store.ask) + len(store.never) for stores in parts.values() for store in stores)
    return asked * len(WRITES)


def measure_first_hour(parts: FirstHour, tick: Tick = lambda what: None) -> list[FirstHourFigures]:
    """Fill the stores by each verb and ask their questions, with default settings."""
    found = []
    for name, stores in parts.items():
        for write in WRITES:
            counts: Counter[tuple[str, str]] = Counter()
            missed: dict[str, list[str]] = {read: [] for read in READS}
            for store in stores:
                _ask_store(store, write, counts, missed, tick)
            asked, never = (sum(len(getattr(store, what)) for store in stores) for what in ("ask", "never"))
            found += [
                FirstHourFigures(
                    name, write, read, counts[read, "answered"], asked, counts[read, "something"], never, missed[read]
                )
                for read in READS
            ]
    return found


def _ask_store(
    store: FewLines, write: str, counts: Counter[tuple[str, str]], missed: Mapping[str, list[str]], tick: Tick
) -> None:
    with Warden.open("memory://") as warden:
        me = warden.scope(user="somebody", thread="said")
        for text in store.said:
            if write == "observe":
                me.observe([{"role": "user", "content": text}])
            else:
                me.remember(text)
        asking = warden.scope(user="somebody", thread="asked")
        for question, word in store.ask:
            for read, texts in _read(asking, question).items():
                answered = word.lower() in " ".join(texts).lower()
                counts[read, "answered"] += answered
                missed[read].extend([] if answered else [question])
            tick("small stores: question")
        for question in store.never:
            for read, texts in _read(asking, question).items():
                counts[read, "something"] += bool(texts)
            tick("small stores: question")


def _read(asking: Any, question: str) -> dict[str, list[str]]:
    return {
        "context": [item.text for item in asking.context([{"role": "user", "content": question}]).items],
        "query": [item.memory.text for item in asking.query(question).items],
    }
