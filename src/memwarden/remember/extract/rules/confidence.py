"""Grades statements by how concrete they are: a fact is stored, a candidate waits for review."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Final

from memwarden.remember.extract import rules as en
from memwarden.remember.extract.records import StatementFrame
from memwarden.remember.extract.rules.dating import DatedText
from memwarden.remember.extract.rules.patterns import OF_THE_PERSON
from memwarden.text.lexicon import load_lexicon
from memwarden.text.tokenizer import terms

# An idf above this tells texts apart: fewer than 1 in 90 texts have such a word.
TELLING: Final = 4.5

# A capital letter inside of a sentence; its beginning proves nothing.
_NAME: Final = re.compile(r"(?<![.!?] )(?<!^)\b(?!I\b)[A-Z][\w'&-]*\w")
_NUMBER: Final = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|"
    r"thousand|half|twice|dozen)\b",
    re.IGNORECASE,
)
_RELATION: Final = re.compile(rf"\b(?:{en.PEOPLE}|{en.PETS})\b", re.IGNORECASE)
_ENGLISH: Final = load_lexicon("en").words
_MONTH: Final = f"(?:{'|'.join(name.title() for name in (*_ENGLISH['months'], *_ENGLISH['weekdays']))})"
# Capitals that name no thing: months, "Step", "Option".
_NOT_A_NAME: Final = re.compile(rf"{_MONTH}|I|OK|Okay|Day|Step|Option|Phase|Week|Chapter|Section|Part|AI|Assistant")
# "the project", "this plan": only the talk knows which.
_VAGUE: Final = re.compile(
    rf"\b(?:the|this|that|these|those|our|another|each|any|such|which) (?:\w+ )?(?:{en.VAGUE_NOUNS})\b(?! (?:of|"
    rf"for|in|at|about|on|called|to|with|from|named) (?!me\b|us\b|now\b|it\b|this\b|that\b|the end\b))|"
    r"\b(?:Options?|Routines?|Days?|Steps?|Phases?|Chapters?|Sections?|Weeks?|Modules?|Part|Article|Level|Tier|"
    r"Scene) (?:\d+|"
    r"one|two|three|"
    r"[A-D]\b)|"
    r"\bthe \d{1,2}(?:st|nd|rd|th)\b|\b(?:something|somewhere|everything|anything|whatever|stuff|things? like that|"
    r"and all|and so on|etc)\b|"
    r"\bsince (?:we|our|last)\b|\b(?:like|as) (?:this|that|these|those)\b|\bsuch an?\b|"
    r"\bso (?:much|many|close)\b|\bthe (?:former|latter|above|following)\b|"
    r"\b(?:do|did|doing|done|make|made|try|tried) (?:so|some|this|that)\b$|\bone of (?:those|these|them)\b|\bthat "
    r"(?:one|way|day|time|night)\b",
    re.IGNORECASE,
)
# "the boiler": a thing at hand, unless everybody knows it or words behind it tell which.
_BARE: Final = re.compile(
    r"\b(?:[Tt]he|[Tt]hat|[Tt]hose|[Tt]hese|[Tt]his) ([a-z][\w'-]*)(?: ([a-z][\w'-]*))?(?: ([a-z][\w'-]*))?"
)
_POST: Final = frozenset(
    "of for in at that who which called named where when near on with from about between to".split()
)


def names_in(text: str) -> list[str]:
    """Capitalised words inside a statement that are no months, week-days or headings."""
    return [name for name in _NAME.findall(text) if not _NOT_A_NAME.fullmatch(name)]


def has_anchor(text: str, *, dated: bool) -> bool:
    """Whether a statement has a name, a number, a day or a person in it."""
    return dated or bool(names_in(text)) or _NUMBER.search(text) is not None or _RELATION.search(text) is not None


def telling_words(text: str, idf: Callable[[str], float]) -> int:
    """How many different words of a statement are rare enough to tell it from others."""
    return sum(1 for term in set(terms(text)) if idf(term) > TELLING)


def is_concrete(text: str, idf: Callable[[str], float], *, dated: bool) -> bool:
    """Whether there is something in a statement by which it can be found and checked later."""
    return has_anchor(text, dated=dated) or telling_words(text, idf) >= 2


def is_vague(text: str) -> bool:
    """Whether a statement leans on what only the talk around it says ("the plan", "Option 2", "something")."""
    return _VAGUE.search(text) is not None


def has_bare_noun(text: str) -> bool:
    """Whether "the" stands before a thing that the statement does not name ("the recital")."""
    for hit in _BARE.finditer(text):
        words = [word for word in hit.groups() if word]
        if any(word in en.KNOWN_THINGS for word in words[:2]) or any(word in _POST for word in words[1:]):
            continue
        return True
    return False


_SOFT: Final = re.compile(rf"\b(?:{en.SOFT})\b", re.IGNORECASE)


def is_mood(text: str) -> bool:
    """Whether a statement tells how something felt."""
    return _SOFT.search(text) is not None


# Frames that stay true without a date.
_LASTING: Final = OF_THE_PERSON | {"identity", "preference"}
# Frames in which a name, a number or a day makes up for a thing that is not named.
_ANCHORED: Final = frozenset(("plan", "decision", "habit", "event"))
# A plan for the talk itself ("I will try that now") is over when it is read.
_SESSION: Final = re.compile(
    rf"\b(?:going to|will|want to|plan to|planning to|plan on|hope to|intend to|aim to|need to|about to|ready to|"
    rf"try to|tend to|have to) (?:\w+ly )?(?:{en.SESSION_VERBS})\b",
    re.IGNORECASE,
)
# Who is not sure states no fact. "May 2026" is a month, "would prefer" a preference.
_UNSURE: Final = re.compile(
    r"\b(?:maybe|perhaps|probably|might|may(?! \d{4})|could|would(?! (?:prefer|rather|love|enjoy|like|be)\b)|"
    r"should|possibly|hopefully|not sure|or something|or so|some kind|somehow|about to|almost|seems?|"
    r"whether|either)\b",
    re.IGNORECASE,
)
# True of everybody: it tells nothing of this person.
_EVERYDAY: Final = re.compile(
    r"\b(?:anyone|everyone|everybody|nobody|people|things?|stuff|lots|ways?|kind)\b", re.IGNORECASE
)
_TASKS: Final = frozenset(("plan", "event", "possession"))
# What happens in the life of an assistant's user, beside the steps of what is done in the talk.
_LIFE: Final = re.compile(
    r"\b(?:book(?:ed|ing)|bought|moved|moving|graduat\w+|passed|failed|hired|met|married|visit(?:ed|ing)|went|"
    r"attend(?:ed|ing)|won|lost|sold|paid|broke|"
    r"cancell?ed|postponed|rescheduled|signed|submitted|interview(?:ed|ing)|appl(?:ied|ying)|adopt(?:ed|ing)|quit|"
    r"secured|ordered|received|"
    r"published|launch(?:ed|ing)|died|flying|fly|travell?ing|training for|saving|learning|preparing for|studying "
    r"for|hosting|expecting|planning (?:an?|my|to|for)|"
    r"for (?:\d+|two|three|four|five|six) (?:people|adults|persons|kids|children|guests|days|nights|weeks)|need "
    r"(?:to )?(?:lose|gain|get out of|take care of|pass)|open(?:ed|ing)|driv(?:en|ing)|drove|"
    r"wants? to (?:go with|include|swap|choose|book)|"
    r"(?:started|got|took) (?:an? )?(?:new )?(?:job|position|role) (?:at|with|as)|spending \d+|\d+ hours a)\b",
    re.IGNORECASE,
)
# A choice among what an assistant offered, or words of a text that they write together.
_OF_A_DRAFT: Final = re.compile(
    r"[\"']\w|\blikes? the\b|\binterested in\b|\bprefer(?:s)? (?:to|the|option)\b|\bwould (?:prefer|rather) ",
    re.IGNORECASE,
)
# "with on": a clause that was cut in the wrong place.
_TORN: Final = re.compile(r"\bwith (?:on|in|between|around|by) ")
_ABOUT_SOMETHING: Final = frozenset(("decision", "event", "plan"))
# A decision without its matter ("chose option B") says nothing later.
_SAYS_OF_WHAT: Final = re.compile(
    r"\b(?:for(?! the whole| \d| 's| (?:two|three|four|five|six) )|to [A-Z]\w+|in [A-Z]\w+|at [A-Z]\w+|from "
    r"[A-Z]\w+|trip|wedding|vacation|holiday|cruise|job|school|"
    r"college|university|exam|class|"
    r"course|moving|moved|graduated|learning|training|married|hired|adopted|quit|joined|signed up|apartment|flight|"
    r"flying|visa)\b"
)
_OF_AN_UNDERTAKING: Final = re.compile(r"\b(?:budget|departure|deadline|flight|hotel|schedule|goal|name is)\b")
# A state of these days: it would be wrong next week.
_PASSING: Final = re.compile(
    r"\b(?:still|recovering|better|worse|weak|weaker|turning|again|back|(?:has|have) an? (?:early|late|\w+ "
    r"(?:practice|game|match|appointment)))\b"
)
# A beginner at what, both of whom, allergic to what: only who heard the sentence before it knows.
_LACKS: Final = re.compile(
    r"\b(?:is|was) an? (?:(?:\w+ )?(?:beginner|newbie|novice|expert|pro)|\d\S*)\b(?! (?:at|in|of|with))|"
    r"\bboth (?!of\b)(?!\w+ and\b)\w+|\b(?:is|are|was) (?:\w+ )?allergic\b(?!,? (?:both |only )?(?:to|against)\b)|"
    r"\bis (?:still )?an? (?:(?:big|huge|real|total|true) )?(?:fan|dreamer|believer|mess)\b(?! (?:of|in|fiction)\b)",
)
# A remark on a picture that was shown: nobody can see it later.
_PICTURE: Final = re.compile(
    r"\b(?:pics?|snapped|selfies?|screenshots?|(?:took|sent|shared|posted|found|got|has|have) (?:\w+ "
    r"){0,3}(?:photos?|pictures?|snapshots?))\b",
    re.IGNORECASE,
)
_TOGETHER: Final = re.compile(r"\btogether\b")
# Shorter statements lack a subject or an object, longer ones are several run together.
_MIN_WORDS: Final = 4
_MAX_WORDS: Final = 34


def grade_statement(
    frame: StatementFrame,
    text: str,
    dated: DatedText,
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
        name: how it names its speaker.
    """
    about = text.replace(name, "").replace(name[:1].upper() + name[1:], "")
    anchored = has_anchor(about, dated=bool(dated.days))
    doubt = _doubt_of_wording(frame, text, about, dated, sure=sure, anchored=anchored)
    doubt = doubt or _doubt_of_days(frame, dated, said)
    doubt = doubt or _doubt_of_worth(frame, about, dated, idf, anchored=anchored)
    if doubt is None and not two_person:
        doubt = _doubt_of_a_task(frame, about, dated)
    return (True, f"{frame}, self-contained") if doubt is None else (False, doubt)


def _doubt_of_wording(
    frame: StatementFrame, text: str, about: str, dated: DatedText, *, sure: bool, anchored: bool
) -> str | None:
    if not sure or _TORN.search(about):
        return "its wording is a guess"
    if dated.left is not None:
        return f"depends on when it was said: {dated.left!r}"
    if not _MIN_WORDS <= len(text.split()) <= _MAX_WORDS:
        return "too short or too long"
    if _UNSURE.search(about):
        return "not certain"
    if has_bare_noun(about) and not (frame in _ANCHORED and anchored):
        return "says 'the' of a thing that it does not name"
    if frame == "preference" and " the " in about and not names_in(about):
        return "praise of something at hand"
    if _LACKS.search(about):
        return "does not say at or to what, or both of whom"
    if _TOGETHER.search(about) and " and " not in about[:60] and " with " not in about:
        return "says together, and not with whom"
    return None


def _doubt_of_days(frame: StatementFrame, dated: DatedText, said: date) -> str | None:
    if frame == "plan" and any(last < said for _, last in dated.days):
        return "a plan for a day that has passed"
    if frame == "event" and any(first > said for first, _ in dated.days):
        return "an event on a day to come"
    return None


def _doubt_of_worth(
    frame: StatementFrame, about: str, dated: DatedText, idf: Callable[[str], float], *, anchored: bool
) -> str | None:
    placed = bool(dated.days or names_in(about))
    if is_mood(about):
        return "tells a mood"
    if frame == "event" and not placed:
        return "an event without a day or a name"
    if _PICTURE.search(about):
        return "about a picture"
    if frame in _ANCHORED and not anchored:
        return "names nobody, no day and no number"
    if frame == "possession" and not placed:
        return "possessions are judged by a model"
    plain = frame in OF_THE_PERSON and len(set(terms(about))) > 1
    if frame in _LASTING and not (anchored or plain or telling_words(about, idf)):
        return "only everyday words"
    if _EVERYDAY.search(about) and not anchored:
        return "only everyday words"
    return None


def _doubt_of_a_task(frame: StatementFrame, about: str, dated: DatedText) -> str | None:
    """What makes a user's statement to an assistant a step of what they do together, or a part of what was said."""
    if frame in _TASKS and not (_LIFE.search(about) or (dated.days and frame != "event")):
        return "a step of a task"
    if frame == "preference" and _OF_A_DRAFT.search(about):
        return "about what the assistant proposed"
    if frame in _ABOUT_SOMETHING and not _SAYS_OF_WHAT.search(about):
        return "does not say for what"
    if frame == "identity" and _OF_AN_UNDERTAKING.search(about) and not _SAYS_OF_WHAT.search(about):
        return "does not say for what"
    if frame == "relationship" and _PASSING.search(about):
        return "a state that passes, and not of what"
    return None


def is_about_the_talk(text: str) -> bool:
    """Whether a plan is about what is done in the talk itself ("going to open a new document")."""
    return _SESSION.search(text) is not None


# What is soon over is true of the day on which it was said.
_PASSES: Final = re.compile(
    r"\bin (?:the )?hospital\b(?! in\b| for\b)|\bhospitali[sz]ed\b|"
    r"\b(?:is|am|are|feels?) (?:\w+ )?(?:ill|sick|unwell|poorly|exhausted|feverish|dizzy)\b(?! of\b)|"
    r"\b(?:have|has|got|caught) (?:an? |the )?(?:\w+ )?(?:cold|flu|fever|cough|headache|stomach bug|hangover)\b|"
    r"\b(?:hurts?|aches?|hurting|aching|is (?:\w+ )?(?:sore|swollen|stiff|broken|sprained))\b",
    re.IGNORECASE,
)
_LASTS: Final = re.compile(
    r"\b(?:works?|working|job|nurse|doctor|born|always|often|usually|sometimes|every|whenever|when|after|chronic\w*|"
    r"since|was|were|had|used to)\b",
    re.IGNORECASE,
)


def is_passing(text: str) -> bool:
    """Whether a statement tells a state of the day, as an illness, and not since when or how often."""
    return _PASSES.search(text) is not None and _LASTS.search(text) is None
