"""Finds what a sentence takes for granted: whoever says "my husband" has a husband."""

from __future__ import annotations

import re
from typing import Final

from memwarden.remember.extract.records import StatementFrame

# Not everybody has these; that somebody has a mother says nothing.
_WORTH_SAYING: Final = (
    "wife|husband|partner|girlfriend|boyfriend|fianc[ée]e?|sisters?|brothers?|sons?|daughters?|kids|children|baby|"
    "twins|"
    "grandsons?|granddaughters?|grandchildren|grandkids|nieces?|nephews?|roommate|flatmate|housemate|"
    "dogs?|cats?|puppy|puppies|kittens?|turtles?|rabbits?|hamster|horse|parrot|guinea pigs?"
)
# People whom only a name makes worth a statement.
_BY_NAME: Final = (
    f"{_WORTH_SAYING}|mom|mum|mother|dad|father|uncle|aunt|grandma|grandpa|cousin|friend|colleague|boss|coach|"
    f"mentor|therapist|teacher|neighbou?r|coworker"
)
_HOW: Final = "older|younger|little|big|twin|oldest|youngest|eldest|middle|baby|teenage|elder|half|step"
_OWN: Final = re.compile(
    rf"\b(?:[Mm]y|[Oo]ur) (?P<how>(?:{_HOW}) )?(?P<kin>{_BY_NAME})\b(?!')(?:,? (?P<name>[A-Z][a-z]{{2,}})\b(?! [A-Z]))?"
    r"(?=$|[.,!?;:)]|\s[-–—]|\s(?:is|are|was|were|has|have|had|will|would|can|could|does|did|do|and|or|but|to|in|"
    r"at|with|for|on|of|off|out|up|by|about|"
    r"from|as|so|because|when|while|who|that|what|how|if|then|than|too|also|just|always|never|really|still|even|"
    r"into|over|after|before|"
    r"this|last|next|today|yesterday|tomorrow|again|here|there|back|home|around|some|the|a|i|we|he|she|they|loves?|"
    r"likes?|says?|thinks?|got|gets?|"
    r"wants?|needs?|\w{2,}ed)\b)",
)
_AS_PLURAL: Final = re.compile(
    r"(?:kids|children|twins|sons|daughters|sisters|brothers|dogs|cats|puppies|kittens|turtles|rabbits|guinea pigs|"
    r"nieces|nephews|grandsons|granddaughters|grandchildren|grandkids)$"
)
_COUNTED: Final = re.compile(
    r"\b[Ww]ith (?:my )?(?P<number>two|three|four|five|a|an|one) (?P<kin>kids?|children|child|sons?|daughters?|"
    r"teenagers?|teens|toddlers?|dogs?|cats?)\b"
    r"(?P<where> (?:still )?(?:in|at) (?:high school|college|elementary school|middle school|university|home))?"
)
_AILING: Final = re.compile(
    r"\bmy (?P<what>(?:chronic |lower |bad |recurring |nagging |old )?(?:back|knee|neck|shoulder|hip|ankle|wrist|"
    r"foot|joint|leg|elbow) (?:pain|injury|problems?|issues?|surgery)|"
    r"(?:panic attacks|insomnia|asthma|diabetes|migraines?|arthritis|sciatica|adhd|allergy|"
    r"allergies|high blood pressure|"
    r"(?:peanut|nut|pollen|dairy|gluten|shellfish|cat|dog) allergy))\b",
    re.IGNORECASE,
)
_TRIP: Final = re.compile(
    r"\b(?:my|our|the|this|a|an) (?P<what>(?:[A-Z][\w-]+ ){1,4}(?:[a-z-]+ )?(?:trip|vacation|holiday|wedding|"
    r"cruise|honeymoon|marathon|hike|expedition))\b"
    r"(?! (?:report|photos?|plans? you|was|were|went))"
)
_BUSY_WITH: Final = re.compile(
    r"\bmy (?P<what>(?:[\w-]+ ){0,3}?(?:exam|exams|certification|marathon|interview)) (?:prep|preparation|study|"
    r"studies|training)\b"
    r"|\b(?:studying|preparing|training) for (?:my|the) (?P<for>(?:[\w-]+ ){0,3}?(?:exam|certification|marathon))\b"
)
_WRITING: Final = re.compile(r"\bmy (?P<what>essay|novel|memoir|thesis|dissertation|screenplay)\b(?!')")
_RUNNING: Final = re.compile(
    r"\bmy (?P<what>side hustle|startup|small business|bakery|podcast|blog|online (?:store|shop)|dance studio|farm|"
    r"restaurant)\b(?!')"
)
# A trip that lies ahead is a plan.
_IN_VIEW: Final = re.compile(
    r"\b(?:plan|plans|planning|prepar\w+|ready|book|booking|pack|packing|itinerary|budget|next|reschedule|"
    r"organi[sz]\w+|logistics|flights?|hotels?|visas?|"
    r"transport\w*|meals?|lunch|gear|finali[sz]\w+)\b",
    re.IGNORECASE,
)
# A trip that is over is an event, and no plan.
_BEHIND: Final = re.compile(
    r"\b(?:went|was|were|had|got back|back from|came back|came home|after|last|ago|loved|enjoyed|memories|"
    r"cancel\w*|instead|not)\b",
    re.IGNORECASE,
)
# "if my wife ...", "I wish my son ...": supposed, not said.
_SUPPOSED: Final = re.compile(r"\b(?:if|had|wish|imagine|pretend|like|would be|every|no)\b[^.]{0,20}$", re.IGNORECASE)
# Words with a capital letter at the beginning of a sentence are no names.
_NO_NAME: Final = frozenset(
    "The This That And But She Her His They When Will Can Did Does Was Has Had For From Just Not You Our Hi Yes".split()
)


def find_presuppositions(sentence: str, subject: str, *, ours: bool = True) -> list[tuple[StatementFrame, str]]:
    """Statements that a sentence takes for granted: whom its speaker has, what ails them, which trip they prepare.

    ``subject``: how the speaker is named ("the user"). ``ours``: whether "our kids" are the speaker's; between two
    people they may be everybody's. A son of whom nothing else is said is a statement; a mother is none.
    """
    found: list[tuple[StatementFrame, str]] = []
    for hit in _OWN.finditer(sentence):
        if _SUPPOSED.search(sentence, 0, hit.start()) or (not ours and hit[0][:1] in "oO"):
            continue
        name = hit["name"] if hit["name"] and hit["name"] not in _NO_NAME else None
        kin, how = hit["kin"], hit["how"] or ""
        if re.match(r"\s+(?:and I )?(?:.{0,30}\b)?(?:wedding|divorc|engaged|married)", sentence[hit.end() :]):
            continue
        if name is None and not re.fullmatch(_WORTH_SAYING, kin):
            continue
        named = f" called {name}" if name and not _AS_PLURAL.search(kin) else ""
        article = "" if _AS_PLURAL.search(kin) else _with_article(how or kin)
        if how.strip() in ("oldest", "youngest", "eldest", "middle", "baby") and not named:
            article, how = ("", how) if article == "" else ("a ", "")
        found.append(("relationship", f"{subject} has {article}{how}{kin}{named}."))
    for hit in _AILING.finditer(sentence):
        what = hit["what"].lower().replace("adhd", "ADHD")
        article = (
            ""
            if re.search(r"(?:pain|issues|problems|surgery|s|anxiety|depression|insomnia|ADHD|asthma)$", what)
            else _with_article(what)
        )
        found.append(("health", f"{subject} {'had' if what.endswith('surgery') else 'has'} {article}{what}."))
    if _IN_VIEW.search(sentence) and not _BEHIND.search(sentence):
        trips = [hit["what"] for hit in _TRIP.finditer(sentence)]
        found += [("plan", f"{subject} is planning {_with_article(what)}{what}.") for what in trips]
    for hit in _BUSY_WITH.finditer(sentence):
        found.append(("plan", f"{subject} is preparing for the {hit['what'] or hit['for']}."))
    found += [
        ("plan", f"{subject} is writing {_with_article(hit['what'])}{hit['what']}.")
        for hit in _WRITING.finditer(sentence)
    ]
    found += [
        ("identity", f"{subject} has {_with_article(hit['what'])}{hit['what']}.") for hit in _RUNNING.finditer(sentence)
    ]
    for hit in _COUNTED.finditer(sentence):
        where = (hit["where"] or "").replace(" still", "")
        found.append(("relationship", f"{subject} has {hit['number']} {hit['kin']}{where}."))
    return [(frame, text[:1].upper() + text[1:]) for frame, text in dict.fromkeys(found)]


def _with_article(words: str) -> str:
    first = words.split()[0]
    spelled = first.isupper() and len(first) > 1
    return "an " if (first[0] in "AEFHILMNORSX" if spelled else first[0].lower() in "aeio") else "a "


def find_undertaking(text: str) -> str | None:
    """Return the only trip that a message speaks of ("RV trip"), which its decisions are about; None for none or
    several."""
    named = {hit["what"] for hit in _TRIP.finditer(text)}
    return named.pop() if len(named) == 1 else None
