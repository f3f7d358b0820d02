"""Turns the first person into the third: "I love my dog" said by Mel is "Mel loves Mel's dog"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from memwarden.remember.extract import rules as en

_SELF: Final = re.compile(rf"\bI\b(?P<between> (?:(?:{en.ADVERBS}|\w+ly) )*)(?P<verb>[\w']+)?")
_WITH_KIN: Final = re.compile(r"[Mm]y (?P<kin>[\w-]+(?: [A-Z]\w+)?) and I\b")
_AND_KIN: Final = re.compile(r"\bI and my (?P<kin>[\w-]+)")
# "we ... with my wife": the group is named, so "we" can be resolved.
_GROUP: Final = re.compile(
    rf",? (?:along )?with (?P<group>my (?:[\w-]+ )?(?:{en.FAMILY})(?: and (?:my )?(?:{en.FAMILY}))?)\b"
)
_OUR_OWN: Final = re.compile(
    rf"\b[Oo]ur (?P<what>(?:[\w-]+ )?(?:{en.FAMILY}|home|house|apartment|wedding|anniversary|honeymoon|"
    rf"neighbou?rhood|town|hometown|"
    r"puppy|kitten|pets?|garden|backyard|church|company|business|car|budget|departure city|departure|flights?|"
    r"hotel|dates?|anniversary))\b"
)
# A user's "our Lisbon trip": not everybody's, and with a name not the talk's.
_OUR_NAMED: Final = re.compile(r"\b[Oo]ur(?= [A-Z][\w-]+ )")
# After these a verb keeps its base form.
_AFTER_TO: Final = re.compile(
    r"\b(?:to|will|would|can|could|should|might|may|must|not|help|let)\b(?! (?:the|a|an|my|[A-Z])\b)"
)
_AND_VERB: Final = re.compile(rf"\b(?:and|or|but|then) (?P<adverbs>(?:(?:{en.ADVERBS}) )*)(?P<verb>[a-z]+)\b")


@dataclass(frozen=True, slots=True)
class ThirdPersonText:
    """A statement in the third person. ``sure``: False where its grammar or its subject is a guess."""

    text: str
    sure: bool


def make_possessive(name: str) -> str:
    """``Mel's``"""
    return f"{name}'s"


def to_third_person(clause: str, name: str, *, two_person: bool) -> ThirdPersonText | str:
    """A clause about its speaker in the third person, or why it cannot be written so."""
    own = make_possessive(name)
    sure = True
    plural = False
    if hit := _WITH_KIN.search(clause) or _AND_KIN.search(clause):
        clause = clause[: hit.start()] + f"{name} and {own} {hit['kin']}" + clause[hit.end() :]
        plural = True
    if not two_person and not plural and re.match(r"[Ww]e\b", clause) and not _GROUP.search(clause):
        clause = _as_one(clause)
    if re.search(r"\b[Ww]e\b", clause):
        given = _we(clause, name, two_person=two_person, named=plural)
        if given is None:
            return "we: nobody says who"
        clause, known = given
        sure &= known
        plural = True
    clause = re.sub(r"^([Mm]y|[Oo]ur)( .*?) would be\b", r"\1\2 is", clause)
    clause = _OUR_OWN.sub(lambda hit: f"{own} {hit['what']}", clause)
    if not two_person:
        clause = _OUR_NAMED.sub(own, clause)
    if re.search(r"\b[Oo]ur\b", clause):
        return "our: nobody says whose"
    verbs = _agree_verb(clause, name)
    if isinstance(verbs, str):
        return verbs
    clause, sure_verbs, present = verbs
    if present and not plural:
        joined = _conjugate_joined_verbs(clause)
        clause, sure_joined = joined
        sure &= sure_joined
    clause = re.sub(r"\b[Mm]y own\b", f"{own} own", clause)
    clause = re.sub(r"\b[Mm]y\b", own, clause)
    clause = re.sub(r"\bme\b", name, clause)
    if re.search(r"\b(?:mine|myself)\b|\bI\b(?!\.)", clause):
        return "speaks of oneself in a form that has no third person here"
    return ThirdPersonText(clause, sure and sure_verbs)


def _as_one(clause: str) -> str:
    """Turn a user's "we" into the user alone: an assistant cannot know who is with them."""
    clause = re.sub(r"\b[Ww]e are\b", "I am", clause)
    return re.sub(r"\b[Ww]e were\b", "I was", re.sub(r"\b[Ww]e(?! (?:are|were)\b)\b", "I", clause))


def _we(clause: str, name: str, *, two_person: bool, named: bool) -> tuple[str, bool] | None:
    """ "We" with who they are, and whether that is known; None if a reader could not tell."""
    if named:
        return None
    if (group := _GROUP.search(clause)) and len(re.findall(r"\b[Ww]e\b", clause)) == 1:
        who = group["group"].replace("my ", f"{make_possessive(name)} ")
        clause = clause[: group.start()] + clause[group.end() :]
        return re.sub(r"\b[Ww]e\b", f"{name} and {who}", clause), True
    if not two_person or len(re.findall(r"\b[Ww]e\b", clause)) > 1:
        return None
    return re.sub(r"\b[Ww]e\b", f"{name} and others", clause), False


def _agree_verb(clause: str, name: str) -> tuple[str, bool, bool] | str:
    """ "I" as a name, with the form of the verb after it; also whether all is sure and the first verb is present."""
    present = False
    sure = True
    unknown: list[str] = []

    def write(hit: re.Match[str]) -> str:
        nonlocal present, sure
        verb = hit["verb"] or ""
        form = third_person_verb(verb)
        if form is None:
            unknown.append(verb)
            return hit[0]
        if verb in en.SAME_PAST and verb != "quit":  # who quits something, has quit it
            sure = False
        if form != verb and hit.start() < 40:
            present = True
        between = hit["between"] or " "
        return f"{name}{between}{form}"

    text = _SELF.sub(write, clause)
    return f"no form known of {unknown[0]!r}" if unknown else (text, sure, present)


def third_person_verb(verb: str) -> str | None:
    """The form of a verb after "she", for its form after "I"; None for a word that is not known to be a verb."""
    if verb in ("am", "have", "do"):
        return {"am": "is", "have": "has", "do": "does"}[verb]
    if verb in en.MODALS or verb in en.PAST_IRREGULAR - en.SAME_PAST or verb == "got":
        return verb
    if verb.endswith("ed") and verb not in en.NOT_PAST and len(verb) > 3:
        return verb
    if verb in en.SAME_PAST:
        return verb  # "I put" told of the past more often than not
    return _add_s(verb) if verb in en.BASE_VERBS else None


def _add_s(verb: str) -> str:
    if verb == "be":
        return "is"
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def _conjugate_joined_verbs(clause: str) -> tuple[str, bool]:
    """Verbs that "and" joins to a verb in the present: "lives in York and teach" needs "teaches".

    Unsure: "and work".
    """
    sure = True
    out = []
    at = 0
    for hit in _AND_VERB.finditer(clause):
        verb = hit["verb"]
        if verb not in en.BASE_VERBS or _AFTER_TO.search(clause, 0, hit.start()):
            continue
        if verb in en.AMBIGUOUS_BASES:
            sure = False
            continue
        out.append(clause[at : hit.start("verb")] + (third_person_verb(verb) or verb))
        at = hit.end("verb")
    return "".join(out) + clause[at:], sure


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
