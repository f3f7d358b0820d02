"""A turn as plain sentences: without markup, pictures, asides and the small words that open a sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from memwarden.text.sentences import split_sentences

# Longer turns are pasted text more often than somebody's own words.
MAX_SENTENCE_CHARACTERS = 1_500
# "Oh, well, so, anyway": four cover what people say, and bound the loop.
_OPENERS_STRIPPED = 4

_CODE: Final = re.compile(
    r"```|^\s*(?:import \w|from \w+ import |def \w+\(|class \w+[:(]|#include|<\?php|SELECT .+ FROM|\$ \w)"
    r"|[{};]\s*\n\s*[}\w]|</\w+>|=>|\w+\(\w*\)\s*[;{]",
    re.MULTILINE,
)
_LINK: Final = re.compile(r"\[([^\]\n]{0,300})\]\([^)\s]{0,2000}\)")
_ADDRESS: Final = re.compile(r"https?://\S+")
_MARKS: Final = re.compile(r"[*_`~]{1,3}(?=\S)|(?<=\S)[*_`~]{1,3}|^[^\S\n]*#{1,6}\s+|^[^\S\n]*>+[^\S\n]*", re.MULTILINE)
_PICTURES: Final = re.compile(
    "[\U0001f000-\U0001faff\u2190-\u21ff\u2300-\u23ff\u2460-\u27bf\u2b00-\u2bff\ufe0f\u200d\u20e3]+"
)
_SMILEY: Final = re.compile(r"(?<!\w)[:;=]-?[)(DPpO/|](?!\w)|<3")
_LISTED: Final = re.compile(r"^\s*(?:[-•–]|\(?\d{1,2}[.)]|[a-z][.)])\s+")
_ASIDE: Final = re.compile(r"\s{0,9}\([^()\n]{0,120}\)")
_OPENER: Final = re.compile(
    r"(?:(?:oh|ah|aw+|yeah|yep|yes|yup|ya|no|nope|nah|okay|ok|alright|all right|right|well|so|and|but|also|plus|anyway|"
    r"anyways|hey|hi|hello|wow|woah|whoa|haha+|lol|ha|hmm+|um|uh|ugh|sure|sure thing|for sure|definitely|absolutely|"
    r"exactly|actually|honestly|frankly|basically|seriously|totally|of course|you know|i mean|"
    r"i have to say|to be honest|in fact|by the way|btw|fun fact|guess what|good news|great news|speaking of which|"
    r"thanks(?: so much| a lot| a bunch)?|thank you(?: so much| very much)?|thx|no problem|no worries|"
    r"oh my god|omg|my goodness|goodness|gosh|man|dude|first|first off|firstly|second|secondly|third|finally|then|"
    r"now|look|listen|see|understood|great|good|perfect|awesome|cool|nice|amazing|fantastic|excellent|indeed|"
    r"unfortunately|luckily|fortunately|thankfully|personally|overall|besides|furthermore|additionally|moreover|"
    r"on another note|on a (?:brighter|different|related|positive) note|as for me|for me|like i said|let me tell you|"
    r"guess so|me too|same here|same|it's true|true)"
    r"(?:[\s,]+(?:there|again|guys|everyone))?)\s*(?:[,.!:…–—-]+\s*|\s+(?=(?:i|i'm|i've|we|my|yes|yeah|so|well|"
    r"okay|actually|"
    r"honestly|the)\b))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class StatementSentence:
    """A sentence without its openers. ``before``: the sentence before it. ``listed``: it was a point of a list."""

    text: str
    before: str
    asks: bool
    listed: bool


def is_somebodys_words(text: str) -> bool:
    """Whether a turn can be looked at for facts: short enough, and no code."""
    return len(text) <= MAX_SENTENCE_CHARACTERS and _CODE.search(text) is None


def plain_text(text: str) -> str:
    """A text without markdown, links, emoji and asides in brackets; lines stay lines."""
    text = text.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')
    text = _ADDRESS.sub(" ", _LINK.sub(r"\1", text))
    text = _MARKS.sub("", text)
    return _ASIDE.sub("", _SMILEY.sub(" ", _PICTURES.sub(" ", text)))


def split_turn(text: str, partners: tuple[str, ...] = ()) -> list[StatementSentence]:
    """The sentences of a turn, in order. ``partners``: names with which somebody may be spoken to."""
    found: list[StatementSentence] = []
    called = _make_sentence(partners)
    for line in plain_text(text).split("\n"):
        listed = _LISTED.match(line) is not None
        for raw in split_sentences(_LISTED.sub("", line)):
            asks = "?" in raw[-3:]
            bare = drop_openers(raw, called)
            if bare:
                found.append(StatementSentence(bare, found[-1].text if found else "", asks, listed))
    return found


def drop_openers(text: str, called: re.Pattern[str] | None = None) -> str:
    """A sentence without up to four words of the kind "oh", "yeah", "okay", "Hey Mel!"."""
    text = text.strip(" \t-–—,;:")
    for _ in range(_OPENERS_STRIPPED):
        shorter = text
        if called is not None:
            shorter = called.sub("", shorter)
        shorter = _OPENER.sub("", shorter, count=1) if _OPENER.match(shorter) else shorter
        shorter = shorter.lstrip(" \t-–—,;:!.")
        if shorter == text or not shorter:
            break
        text = shorter
    return text


def _make_sentence(partners: tuple[str, ...]) -> re.Pattern[str] | None:
    """Finds a partner who is spoken to, by first name or its beginning, before or after the sentence itself."""
    forms = {form for name in partners for first in name.split()[:1] for form in (name.strip(), first, first[:4])}
    if not forms:
        return None
    either = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    return re.compile(rf"^(?:{either})\w{{0,2}}\s*[,!.:–—-]+\s*|,\s*(?:{either})\w{{0,2}}(?=\s*[.!?]*$)", re.IGNORECASE)
