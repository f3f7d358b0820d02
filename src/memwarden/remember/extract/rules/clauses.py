"""Splits a turn into plain sentences, and these into clauses, each with its lead ("last week,")."""

from __future__ import annotations

import re
from typing import Final

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


def is_somebodys_words(text: str) -> bool:
    """Whether a turn can be looked at for facts: short enough, and no code."""
    return len(text) <= MAX_SENTENCE_CHARACTERS and _CODE.search(text) is None


def plain_text(text: str) -> str:
    """A text without markdown, links, emoji and asides in brackets; lines stay lines."""
    text = text.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')
    text = _ADDRESS.sub(" ", _LINK.sub(r"\1", text))
    text = _MARKS.sub("", text)
    return _ASIDE.sub("", _SMILEY.sub(" ", _PICTURES.sub(" ", text)))


def drop_openers(text: str) -> str:
    """A sentence without up to four words of the kind "oh", "yeah", "okay", "Hey Mel!"."""
    text = text.strip(" \t-–—,;:")
    for _ in range(_OPENERS_STRIPPED):
        shorter = text
        shorter = _OPENER.sub("", shorter, count=1) if _OPENER.match(shorter) else shorter
        shorter = shorter.lstrip(" \t-–—,;:!.")
        if shorter == text or not shorter:
            break
        text = shorter
    return text
