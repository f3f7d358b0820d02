"""Turns the first person into the third: "I love my dog" said by Mel is "Mel loves Mel's dog"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from memwarden.remember.extract.rules import english as en

_ADVERB: Final = rf"(?:(?:{en.ADVERBS}|\w+ly|do not|have not|am not|not) )*?"
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
# "Will I": the verb stands before its subject, and is no third person.
_PREPOSED: Final = frozenset("will would can could should might may must did shall".split())


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
