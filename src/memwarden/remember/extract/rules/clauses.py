"""Splits a turn into plain sentences, and these into clauses, each with its lead ("last week,")."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from memwarden.remember.extract import rules as en
from memwarden.text.sentences import split_sentences

_CONTRACTED: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), plain)
    for pattern, plain in (
        (
            r"^let'?s (?:definitely |just |all |please )*(?=go with|stick (?:with|to)|choose|book|schedule|add|"
            r"swap|replace)",
            "I want to ",
        ),
        (r"\bi'?m\b(?!\.)", "I am"),
        (r"\bi'?ve\b", "I have"),
        (r"\bi'll\b", "I will"),
        (r"\bi'd\b(?= (?:been|gone|had|never|always|already|just|\w{3,}ed)\b)(?! (?:like|need))", "I had"),
        (r"\bi'd\b", "I would"),
        (r"\bwe're\b", "we are"),
        (r"\bwe've\b", "we have"),
        (r"\bwe'll\b", "we will"),
        (r"\bwe'd\b", "we would"),
        (r"\bcan't\b", "cannot"),
        (r"\bwon't\b", "will not"),
        (r"\bain't\b", "is not"),
        (r"\b(do|does|did|is|are|was|were|has|have|had|would|could|should|need)n't\b", r"\1 not"),
        (r"\bgonna\b", "going to"),
        (r"\bwanna\b", "want to"),
        (r"\bgotta\b", "have to"),
        (r"\bgot to\b", "got to"),
        (r"\b'cause\b|\bcuz\b|\bcos\b|\bbc\b", "because"),
        (r"\b(\w{2,})in'(?=\s)", r"\1ing"),
        (r"\bi\b(?![.'])", "I"),
        (r"\b([Tt]here|[Ww]ho)'s\b", r"\1 is"),
        (r"\bany more(?=$|[,.!;])", "anymore"),
        (r"\b(i|we) no longer (?=(?:have|live|work|study|own|eat|drink|smoke)\b)", r"\1 do not "),
    )
)
_OWN: Final = r"(?:I|[Mm]y|[Ww]e|[Oo]ur)\b"
# "my sister works" begins a clause of its own; "my sister" alone does not.
_OF_KIN: Final = (
    rf"[Mm]y (?:[\w-]+ )?(?:{en.PEOPLE}|{en.PETS}) (?:is|are|was|were|has|have|had|will|does|did|loves?|likes?|"
    rf"works?|lives?|hates?|enjoys?|needs?|wants?|just|also|\w+ed)\b"
)
_SPLIT: Final = re.compile(
    rf",?\s+(?:because|since|while|as|and)\s+(?={_OF_KIN})|,\s+(?={_OF_KIN})|\s*;\s*|\s+[-–—]+\s+|\s*[–—]\s*|"
    rf":\s+(?={_OWN})|\s*,?\s+but\s+|\s*,\s+so\s+|\s+so\s+(?={_OWN}|now\b|it\b)|,?\s+(?:and|yet|plus)\s+(?={_OWN}|"
    rf"it\b|that\b|this\b|"
    rf"now\b)|,\s+(?={_OWN}\s)|\s*\.\.\.+\s*|\s*…\s*"
)
# "Last week, I moved": the lead is no statement, but says when.
_LEAD: Final = re.compile(
    r"^((?:(?:on|in|at|since|during|after|before|for|back|around|over|until|from|by|every|each|last|this|next|"
    r"yesterday|today|"
    r"tonight|tomorrow|lately|recently|earlier|a (?:few|couple|while|year|month|week)|two|three|four|five|six|\d+|once|"
    r"twice|when I was|growing up|as a|as an|the other)\b[^,]{0,60}?),?\s+)?(?=(?:I|[Mm]y|[Ww]e|[Oo]ur)\b)",
    re.IGNORECASE,
)
_ENDS: Final = " \t,;:-–—.!?"
_ALONE: Final = frozenset("yesterday today tonight tomorrow lately recently earlier once twice".split())


# "as we discussed": refers to the talk and is lost with it.
_AS_SAID: Final = re.compile(
    r",? (?:(?:just|exactly|precisely|much) )?(?:like|as) (?:(?:we|you|I)(?: have| had|'ve)?(?: already| just| "
    r"originally)? (?:\w+ed|said|planned|talked about|went over)"
    r"(?: about)?(?: before| earlier| last time| last week)?|(?:discussed|planned|agreed|requested|suggested|"
    r"mentioned))(?=$|[,.!])",
    re.IGNORECASE,
)


# "it turns out I am allergic": what follows is what is said.
_FOUND_OUT: Final = re.compile(
    r"^(?:as )?(?:it )?turn(?:s|ed) out,?(?: that)? (?=(?:I|I'm|I've|[Mm]y|[Ww]e|[Oo]ur)\b)", re.IGNORECASE
)
_AFTER_ALL: Final = re.compile(r",? (?:after all|in the end)(?=$|[,.!;])", re.IGNORECASE)


def write_out_contractions(text: str) -> str:
    """A sentence with its contractions written out, and without "as we discussed", "it turns out", "after all"."""
    text = _AFTER_ALL.sub("", _FOUND_OUT.sub("", _AS_SAID.sub("", text)))
    for pattern, full in _CONTRACTED:
        text = pattern.sub(full, text)
    return text


def split_clauses(sentence: str) -> list[str]:
    """The clauses of a sentence (contractions written out), without punctuation at either end.

    A comma before "I" only ends a clause when what stands before it is no lead: "Last week, I moved" has a lead.
    """
    parts: list[str] = []
    rest = sentence
    while rest:
        cut = next(
            (hit for hit in _SPLIT.finditer(rest) if hit.start() > 0 and not _is_lead(rest[: hit.start()], hit[0])),
            None,
        )
        if cut is None:
            parts.append(rest)
            break
        parts.append(rest[: cut.start()])
        rest = rest[cut.end() :]
    return [part for part in (part.strip(_ENDS) for part in parts) if part]


def split_lead(clause: str) -> tuple[str, str]:
    """The time or place that a clause begins with ("" for none) and what follows, from its subject on."""
    hit = _LEAD.match(clause)
    if hit is None or not hit[1]:
        return "", clause
    lead = hit[1].strip(" ,")
    if len(lead.split()) < 2 and lead.lower() not in _ALONE:
        return "", clause
    return lead, clause[hit.end() :]


_SUBORDINATE: Final = re.compile(
    r"^(?:if|when|while|although|though|because|since|as|once|after|before|unless|until|whenever)\b", re.IGNORECASE
)


def _is_lead(before: str, cut: str) -> bool:
    """Whether a comma only ends the opening of a sentence, so that what follows belongs to it."""
    if cut.strip() != ",":
        return False
    begin = before.strip()
    lead = _LEAD.match(f"{begin}, I ")
    return _SUBORDINATE.match(begin) is not None or (lead is not None and bool(lead[1]))


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
