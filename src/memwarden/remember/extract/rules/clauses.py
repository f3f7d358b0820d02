"""Splits a sentence into clauses, each with its lead ("last week,") apart from its subject."""

from __future__ import annotations

import re
from typing import Final

from memwarden.remember.extract.rules import english as en

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
