"""Extracts facts, candidates and index cards from exchanges by rules, without a model.

Everything here is pure: turns in, items out, no store, no clock, no model. Facts are written for English only; in any
other language a conversation is kept word for word, with cards. ``docs/why/extraction.md`` has the figures.
The word lists of English stand here, read from ``english.toml``: parts of regular expressions ("a|b"), and sets.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

_LISTS: Final = tomllib.loads(Path(__file__).with_name("english.toml").read_text(encoding="utf-8"))


def _alternatives(name: str) -> str:
    return str(_LISTS["alternatives"][name]).replace("\n", "")


def _words(name: str) -> frozenset[str]:
    return frozenset(_LISTS["words"][name].split())


PEOPLE: Final = _alternatives("people")
PETS: Final = _alternatives("pets")
FAMILY: Final = _alternatives("family")
BODY: Final = _alternatives("body")
CONDITION: Final = _alternatives("condition")
DIET: Final = _alternatives("diet")
NOUNS_OF_WORK: Final = _alternatives("nouns_of_work")
VAGUE_NOUNS: Final = _alternatives("vague_nouns")
KNOWN_THINGS: Final = _words("known_things")
NO_EVENT: Final = _words("no_event")
# A statement that has little beside words of a mood says how somebody felt, which is not worth a fact.
SOFT: Final = _alternatives("soft")
# What somebody is "going to" do in the talk itself, with the assistant, is no plan.
SESSION_VERBS: Final = _alternatives("session_verbs")
ADVERBS: Final = _alternatives("adverbs")
BASE_VERBS: Final = _words("base_verbs")
# Nouns or adjectives as well, or of the same form in the past: alone they are no sign of a verb in the present.
AMBIGUOUS_BASES: Final = _words("ambiguous_bases")
PAST_IRREGULAR: Final = _words("past_irregular")
SAME_PAST: Final = _words("same_past")
NOT_PAST: Final = _words("not_past")
MODALS: Final = _words("modals")
PRONOUNS: Final = _alternatives("pronouns")
