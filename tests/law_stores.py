"""Generated stores: true-to-life notes about several people, in six languages.

A vocabulary has subjects, attributes and values. A note states one value of one attribute of one subject, so that every
other note is about something else.
"""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from memwarden import Warden

DATA = Path(__file__).parent / "laws" / "data"
LANGUAGES = ("en", "de", "es", "fr", "ja", "zh")
# Languages whose words have letters that can be mistyped.
SPELLED = ("en", "de", "es", "fr")
START = datetime(2025, 1, 6, 9, tzinfo=UTC)
# Tests of answers use the default models, whatever the environment of the other tests says. On a busy machine the
# vectors of a store take longer than the second that a question waits for them.
DEFAULTS: Mapping[str, Any] = {"embedder": "auto", "vector_seconds": 60}


# A store in each of four languages in the quick run, many more in the soak.
QUICK = ("en", "de", "es", "ja")
each_store = pytest.mark.parametrize(
    ("language", "seed"),
    [
        *((language, 1) for language in QUICK),
        *(
            pytest.param(language, seed, marks=pytest.mark.soak)
            for language in LANGUAGES
            for seed in range(8)
            if seed != 1 or language not in QUICK
        ),
    ],
)


@dataclass(frozen=True)
class Note:
    """A statement with the question that it answers. change: the words of a later change, empty if there are none."""

    text: str
    question: str
    subject: str
    attribute: int
    change: str = ""


@dataclass(frozen=True)
class Vocabulary:
    """What can be said in a language."""

    language: str
    join: str
    subjects: tuple[str, ...]
    small_talk: tuple[str, ...]
    attributes: tuple[Mapping[str, Any], ...]

    def notes(self, seed: int, size: int) -> list[Note]:
        """Return notes about different things, in an order that the seed decides. size: at most 100."""
        chance = random.Random(f"{self.language} {seed}")
        values = [chance.sample(attribute["values"], len(self.subjects)) for attribute in self.attributes]
        pairs = [(subject, number) for subject in range(len(self.subjects)) for number in range(len(self.attributes))]
        return [self._note(subject, number, values[number]) for subject, number in chance.sample(pairs, size)]

    def both(self, first: str, second: str) -> str:
        """Return two questions as one message."""
        second = second.lstrip("¿")
        return self.join.format(a=first, b=second[:1].lower() + second[1:])

    def _note(self, subject: int, number: int, values: Sequence[str]) -> Note:
        name, attribute = self.subjects[subject], self.attributes[number]

        def fill(template: str, value: str) -> str:
            return template.format(subject=name, Subject=name[:1].upper() + name[1:], value=value)

        value, later = values[subject], values[subject - 1]
        change = fill(attribute["change"], later) if "change" in attribute else ""
        return Note(fill(attribute["statement"], value), fill(attribute["question"], value), name, number, change)


@cache
def vocabulary(language: str) -> Vocabulary:
    """Return the vocabulary of a language."""
    read = tomllib.loads((DATA / f"{language}.toml").read_text(encoding="utf-8"))
    return Vocabulary(
        language, read["join"], tuple(read["subjects"]), tuple(read["small_talk"]), tuple(read["attributes"])
    )


def read_lines(name: str) -> list[dict[str, str]]:
    """Return the records of a file of JSON lines."""
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines() if line]


def as_messages(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return texts as messages of one person, a day apart."""
    return [
        {"role": "user", "content": text, "created_at": (START + timedelta(days=day)).isoformat()}
        for day, text in enumerate(texts)
    ]


@contextmanager
def told(texts: Sequence[str], url: str = "memory://", config: Mapping[str, Any] = DEFAULTS) -> Iterator[Any]:
    """Yield the scope of a person who said the texts in an earlier conversation."""
    with Warden.open(url, config=config) as warden:
        yield say(warden, "default", texts)


def say(warden: Warden, tenant: str, texts: Sequence[str]) -> Any:
    """Say texts in an earlier conversation of a tenant's person, and return the scope of that person."""
    warden.scope(tenant=tenant, user="ana", thread="earlier").observe(as_messages(texts))
    return warden.scope(tenant=tenant, user="ana", thread="now")


def texts_of(result: Any) -> list[str]:
    """Return the texts of the memories of an answer, in its order."""
    return [item.memory.text for item in result.items]


@contextmanager
def opened_stores(url: str = "memory://") -> Iterator[Callable[[Sequence[str]], Any]]:
    """Yield what opens a store of texts, once for the same texts: a tenant each in one store."""
    scopes: dict[tuple[str, ...], Any] = {}
    with Warden.open(url, config=DEFAULTS) as warden:

        def remember(texts: Sequence[str]) -> Any:
            key = tuple(texts)
            if key not in scopes:
                scopes[key] = say(warden, f"tenant{len(scopes)}", key)
            return scopes[key]

        yield remember
