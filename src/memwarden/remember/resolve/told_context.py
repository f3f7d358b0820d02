"""Finds what a person's own words say of how they want to be called and spoken to.

High precision only: a sentence has to say it from its beginning to its end, in the first person and for now. What is
found is proposed (:mod:`memwarden.remember.resolve.proposals`), and the person decides.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from memwarden.remember.resolve.user_context import TONE, ContextEdit
from memwarden.text.sentences import split_spans

_MAX_SENTENCE: Final = 160
_JOINED: Final = re.compile(r"[,;] +(?:and |und |y |et |e |en |i )?| (?:and|und|y|et|e|en|i|и) |[，、,]")


def find_told_context(text: str) -> list[ContextEdit]:
    """Return what a person's turn says for the fields of their user context; the last word on each field."""
    if not _wordings().hint.search(text):
        return []
    told: dict[str, ContextEdit] = {}
    for sentence in split_spans(text):
        if len(sentence.text) <= _MAX_SENTENCE:
            told |= {edit.field: edit for edit in _edits_of(sentence.text.replace("\u2019", "'"))}
    return list(told.values())


def _edits_of(sentence: str) -> Iterator[ContextEdit]:
    """The edits of a sentence; of its parts those before the first part that says something else."""
    if whole := _edit_of(sentence):
        yield whole
        return
    for part in _JOINED.split(sentence):
        edit = _edit_of(part)
        if edit is None:
            return
        yield edit


def _edit_of(part: str) -> ContextEdit | None:
    for tone, pattern in _wordings().tones:
        if pattern.search(part):
            return ContextEdit(TONE, tone)
    for field, pattern in _wordings().fields:
        if match := pattern.search(part):
            value = " ".join(match["v"].split()).strip(" .")
            return ContextEdit(field, value.casefold() if field == TONE else value) if value else None
    return None


class _Wordings(NamedTuple):
    """Patterns of whole sentences. hint: a word of it has to stand in a text before anything else is tried."""

    hint: re.Pattern[str]
    fields: tuple[tuple[str, re.Pattern[str]], ...]
    tones: tuple[tuple[str, re.Pattern[str]], ...]


@cache
def _wordings() -> _Wordings:
    raw = tomllib.loads(Path(__file__).with_name("told_context.toml").read_text(encoding="utf-8"))
    lead, end, closed_end = f"(?i){raw['lead']}", raw["end"], raw["closed_end"]
    fields = [
        (item["field"], re.compile(f"{begin}(?:{wording.replace('{v}', raw['values'][item['value']])}){over}"))
        for kind, begin, over in (("sentences", lead, end), ("closed", "^", closed_end))
        for item in raw[kind]
        for wording in item["wordings"]
    ]
    tones = [(tone, re.compile(f"{lead}(?:{said})(?:{end}|{closed_end})")) for tone, said in raw["tones"].items()]
    return _Wordings(re.compile(raw["hint"]), tuple(fields), tuple(tones))
