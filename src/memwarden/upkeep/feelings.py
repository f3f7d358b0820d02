"""Finds feelings that somebody names of themselves, in six languages. Pure functions over word lists."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

# A text of which only so much is read.
MAX_READ: Final = 4_000
_CLAUSE: Final = re.compile(r"[。！？!?\n，、；]")


class NamedFeeling(NamedTuple):
    """A feeling that a text names. feeling: its name for all languages, such as ``worry``. word: as it was said."""

    feeling: str
    word: str
    language: str


@dataclass(frozen=True, slots=True)
class FeelingWords:
    """How a language names feelings.

    Attributes:
        patterns: by feeling. denied: what makes it none, within a match or so many characters before it.
        others: a clause with it speaks of somebody else. names, sentence: for what is written of it.
    """

    patterns: Mapping[str, re.Pattern[str]]
    denied: re.Pattern[str] | None
    before: int
    others: re.Pattern[str] | None
    names: Mapping[str, str]
    sentence: str

    def find(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield feelings that a text names, with the words."""
        for feeling, pattern in self.patterns.items():
            for found in pattern.finditer(text):
                if not self._is_denied(text, found) and not self._is_of_another(text, found.start()):
                    yield feeling, next(group for group in found.groups() if group).lower()

    def _is_denied(self, text: str, found: re.Match[str]) -> bool:
        near = text[max(0, found.start() - self.before) : found.end()]
        return self.denied is not None and self.denied.search(near) is not None

    def _is_of_another(self, text: str, at: int) -> bool:
        if self.others is None:
            return False
        clause = _CLAUSE.split(text[:at])[-1]
        return self.others.search(clause) is not None


@cache
def load_feelings() -> Mapping[str, FeelingWords]:
    """Return how each language names feelings."""
    read = tomllib.loads(files(__package__).joinpath("feelings.toml").read_text("utf-8"))
    return {language: _make(lists) for language, lists in read.items()}


def find_feelings_in(text: str) -> set[NamedFeeling]:
    """Return the feelings that somebody names of themselves in a text."""
    read = text[:MAX_READ]
    return {
        NamedFeeling(feeling, word, language)
        for language, words in load_feelings().items()
        for feeling, word in words.find(read)
    }


def _make(lists: Mapping[str, Any]) -> FeelingWords:
    feelings: Mapping[str, Mapping[str, str]] = lists["feelings"]
    end = lists.get("end", r"\b")
    patterns = {
        name: re.compile(
            f"{lists['lead']}({item['words']}){end}" + (f"|({item['phrases']})" if "phrases" in item else ""),
            re.IGNORECASE,
        )
        for name, item in feelings.items()
    }
    return FeelingWords(
        patterns,
        re.compile(lists["denied"], re.IGNORECASE) if "denied" in lists else None,
        lists.get("before", 0),
        re.compile(lists["others"]) if "others" in lists else None,
        {name: item["name"] for name, item in feelings.items()},
        lists["sentence"],
    )
