"""Fact or candidate: a fact is stored and may be injected, a candidate waits until it is seen twice or judged."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Final

from memwarden.recall.words import terms
from memwarden.remember.extraction import english as en
from memwarden.remember.extraction.concrete import has_anchor, has_bare_noun, is_mood, names_in, telling_words
from memwarden.remember.extraction.dating import Dated
from memwarden.remember.extraction.frames import OF_THE_PERSON
from memwarden.remember.extraction.records import Frame

_LASTING: Final = OF_THE_PERSON | {"identity", "preference"}
_ANCHORED: Final = frozenset(("plan", "decision", "habit", "event"))
_SESSION: Final = re.compile(
    rf"\b(?:going to|will|want to|plan to|planning to|plan on|hope to|intend to|aim to|need to|about to|ready to|"
    rf"try to|tend to|have to) (?:\w+ly )?(?:{en.SESSION_VERBS})\b",
    re.IGNORECASE,
)
_UNSURE: Final = re.compile(
    r"\b(?:maybe|perhaps|probably|might|may(?! \d{4})|could|would(?! (?:prefer|rather|love|enjoy|like|be)\b)|"
    r"should|possibly|hopefully|not sure|or something|or so|some kind|somehow|about to|almost|seems?|"
    r"whether|either)\b",
    re.IGNORECASE,
)
_ASKED_LIFE: Final = re.compile(
    r"\b(?:anyone|everyone|everybody|nobody|people|things?|stuff|lots|ways?|kind)\b", re.IGNORECASE
)
_TASKS: Final = frozenset(("plan", "event", "possession"))
_LIFE: Final = re.compile(
    r"\b(?:book(?:ed|ing)|bought|moved|moving|graduat\w+|passed|failed|hired|met|married|visit(?:ed|ing)|went|"
    r"attend(?:ed|ing)|won|lost|sold|paid|broke|"
    r"cancell?ed|postponed|rescheduled|signed|submitted|interview(?:ed|ing)|appl(?:ied|ying)|adopt(?:ed|ing)|quit|"
    r"secured|ordered|received|"
    r"published|launch(?:ed|ing)|died|flying|fly|travell?ing|training for|saving|learning|preparing for|studying "
    r"for|hosting|expecting|planning (?:an?|my|to|for)|"
    r"for (?:\d+|two|three|four|five|six) (?:people|adults|persons|kids|children|guests|days|nights|weeks)|need "
    r"(?:to )?(?:lose|gain|get out of|take care of|pass)|open(?:ed|ing)|driv(?:en|ing)|drove|"
    r"wants? to (?:go with|include|swap|choose|book)|spending \d+|\d+ hours a)\b",
    re.IGNORECASE,
)
"""Of an assistant's user: what happens in their life, beside the steps of what is done in the talk."""
_OF_A_DRAFT: Final = re.compile(
    r"[\"']\w|\blikes? the\b|\binterested in the\b|\bprefer(?:s)? (?:to|the|option)\b|\bwould (?:prefer|rather) ",
    re.IGNORECASE,
)
_PICTURE: Final = re.compile(
    r"\b(?:pics?|snapped|selfies?|screenshots?|(?:took|sent|shared|posted|found|got|has|have) (?:\w+ "
    r"){0,3}(?:photos?|pictures?|snapshots?))\b",
    re.IGNORECASE,
)
_TOGETHER: Final = re.compile(r"\btogether\b")
_FEWEST: Final = 4
_MOST: Final = 34


def tier_of(
    frame: Frame,
    text: str,
    dated: Dated,
    said: date,
    *,
    sure: bool,
    idf: Callable[[str], float],
    name: str,
    two_person: bool,
) -> tuple[bool, str]:
    """Whether a statement is a fact, and why or why not.

    Args:
        text: the statement as it would be stored. said: the day on which it was said.
        sure: whether its grammar and its subject are certain.
    """
    about = text.replace(name, "").replace("The user", "").replace("the user", "")
    if not sure:
        return False, "its wording is a guess"
    if dated.left is not None:
        return False, f"depends on when it was said: {dated.left!r}"
    if not _FEWEST <= len(text.split()) <= _MOST:
        return False, "too short or too long"
    if _UNSURE.search(about):
        return False, "not certain"
    if has_bare_noun(about) and not (frame in _ANCHORED and has_anchor(about, dated=bool(dated.days))):
        return False, "says 'the' of a thing that it does not name"
    if frame == "plan" and any(last < said for _, last in dated.days):
        return False, "a plan for a day that has passed"
    if frame == "event" and any(first > said for first, _ in dated.days):
        return False, "an event on a day to come"
    if is_mood(about):
        return False, "tells a mood"
    if frame == "event" and not (dated.days or names_in(about)):
        return False, "an event without a day or a name"
    if _PICTURE.search(about):
        return False, "about a picture"
    if _TOGETHER.search(about) and " and " not in about[:60] and " with " not in about:
        return False, "says together, and not with whom"
    anchored = has_anchor(about, dated=bool(dated.days))
    if frame in _ANCHORED and not anchored:
        return False, "names nobody, no day and no number"
    if not two_person and frame in _TASKS and not (_LIFE.search(about) or (dated.days and frame != "event")):
        return False, "a step of a task"
    if not two_person and frame == "preference" and _OF_A_DRAFT.search(about):
        return False, "about what the assistant proposed"
    if frame == "possession" and not (dated.days or names_in(about)):
        return False, "possessions are judged by a model"
    if re.search(r"\bwith (?:on|in|between|around|by) ", about):
        return False, "its wording is a guess"
    if frame in _LASTING and not (
        anchored or telling_words(about, idf) or (frame in OF_THE_PERSON and len(set(terms(about))) > 1)
    ):
        return False, "only everyday words"
    if _ASKED_LIFE.search(about) and not anchored:
        return False, "only everyday words"
    return True, f"{frame}, self-contained"


def is_of_the_talk(text: str) -> bool:
    """Whether a plan is about what is done in the talk itself ("going to open a new document")."""
    return _SESSION.search(text) is not None
