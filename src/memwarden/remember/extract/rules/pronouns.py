"""Cuts words off that point outside of a clause, or rejects the clause for them."""

from __future__ import annotations

import re
from typing import Final

# Words that point to something outside of the statement: without the talk nobody knows what.
_POINTS: Final = re.compile(
    r"\b(?:he|she|it|they|him|her|hers|them|his|its|their|theirs|himself|herself|itself|themselves|it's|he's|she's|"
    r"they're|they've|"
    r"this|these|those|there(?! (?:is|are|was|were)\b)|here|you|your|yours|yourself|someone else|u|ya|ur|"
    r"(?<=a )new one|(?:another|the (?:\w+ )?|an? (?:\w+ )?|this|that|my|first|last|next|old|other|big|"
    r"new)\s?ones?(?= |$)(?! (?:of|day|week|month|year|hour)\b)|"
    r"mine|ours|ourselves|us)\b|"
    r"\b(?:on|with|for|have|has|had|got|get|made|make|bought|saw|wrote|need|want|like|love|took) ones?(?= (?:with|"
    r"of|for|in|that|to|and)\b|$|,)|"
    r"\b(?:a few|some|many|two|three|four|one|several|any|no) more(?=$| (?:in|on|of|to|for|last|this|next|"
    r"yesterday|today)\b|,)|\bfavou?rite ones?\b|\banother(?=$| (?:in|on|for|to|at)\b|,)|"
    r"\b(?!found|learned|realized|heard|decided|said|hope|know|knew|think|thought|believe|feel|felt|discovered|"
    r"noticed|mean|dream|love|showed|proved|so|such|out)(?:"
    r"\w{3,}ed|took|made|saw|wrote|drew|bought|built|did|sent|gave|got|love|like|read|wore|won|use|keep|kept|chose|"
    r"took up|for|to|with|on|in|at) that (?=\w)|"
    r"\bthat(?=$| (?:and|but|for|with|in|on|at|to|all|too|way|day|time|one|kind|feeling|much|was|is|will|would|can|"
    r"makes?|means|really|way|too)\b)|"
    r"\b(?:of|about|with|for|like|do|did|in|on|at|after|before|by|to|from|and|during|than|since|despite|without) "
    r"that\b|"
    r"\b(?:do|did|does|done|doing) so\b|\bfor one\b|\bthe same\b|\b(?:both|all|some|most|many|each|none|few|either|"
    r"neither)(?= of (?:it|them|us|you)\b|$)|\bthe other\b",
    re.IGNORECASE,
)
_MYSELF: Final = re.compile(r"\b(?:all )?by myself\b", re.IGNORECASE)
# Places where a statement can end before a word that points outside.
_CUT: Final = re.compile(
    r",?\s+(?:but|so that|so|because|which|and I|and it|and we|and they|and he|and she|and that|and this|and you|"
    r"since|as(?= (?:it|they|he|she|I|we|this|that)\b)|"
    r"although|even though|though|while|where|who|whereas|even if|whenever|and there|and their|especially|"
    r"including|like|in order to|"
    r"and now|and then|when(?= (?:it|they|he|she|this|that|you)\b)|with (?=(?:her|him|them|it)\b)|to (?:help|make|"
    r"see|keep|get|give|show|let|"
    r"share|use|support|remind) (?:it|them|him|her|you|us|people)\b)\b|\s*,\s+",
    re.IGNORECASE,
)
# What stands after these limits the statement: cutting it off would change what is said.
_CONDITION: Final = re.compile(
    r"\b(?:if|unless|until|except|without|only when|not|never|instead|rather|or)\b", re.IGNORECASE
)
# A statement that was cut must not end in a preposition or a conjunction.
_DANGLING: Final = re.compile(
    r"(?:[\s,;:–—-]|\b(?:and|but|or|so|because|which|that|to|of|for|with|in|on|at|from|by|as|than|a|an|the|my|our|"
    r"is|are|was|while|when|"
    r"who|where|especially|like|about|into|if|then|though|also|too|as well|though|either|anymore|lol|haha|right|"
    r"you know|actually|"
    r"again|yet|either|including))+$",
    re.IGNORECASE,
)
_CONCESSION: Final = re.compile(
    r",? (?:even with|even after|despite|regardless of|no matter) .*$|, (?:not|which|exactly|right|thank goodness|"
    r"ideally|please|as usual|as always)\b.*$",
    re.IGNORECASE,
)
# What is left of a cut statement has to be a statement.
_MIN_WORDS: Final = 4


def has_outside_pointer(text: str) -> str | None:
    """The first word of a text that points outside of it ("it", "there", "those"), or None."""
    hit = _POINTS.search(text)
    return hit[0] if hit else None


def drop_pointers(clause: str) -> str | None:
    """A clause cut back to where nothing points outside of it; None if too little would be left.

    It is cut where a clause of its own begins (but, so, because, which, a comma), never at a bare "and", and a
    condition ("if", "unless") is never cut off.
    """
    clause = _CONCESSION.sub("", _MYSELF.sub("alone", clause))
    while hit := _POINTS.search(clause):
        cuts = [
            cut
            for cut in _CUT.finditer(clause, 0, hit.end())
            if cut.start() < hit.start() or cut.start() == hit.start()
        ]
        cuts = [cut for cut in cuts if cut.start() <= hit.start()]
        if not cuts:
            return None
        cut = cuts[-1]
        if _CONDITION.search(clause[cut.start() : hit.end()]) or re.match(r"\s*(?:if|unless)", clause[cut.end() :]):
            return None
        clause = clause[: cut.start()]
    clause = drop_loose_end(clause)
    return clause if len(clause.split()) >= _MIN_WORDS else None


def drop_loose_end(text: str) -> str:
    """A text without the conjunctions, prepositions and fillers that it ends with."""
    return _DANGLING.sub("", text)
