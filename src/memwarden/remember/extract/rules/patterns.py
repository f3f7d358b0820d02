"""The frames: forms of a clause that state something lasting about its speaker. The first that fits names it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, get_args

from memwarden.remember.extract import rules as en
from memwarden.remember.extract.records import StatementFrame

# Best first: the order in which frames are tried, and in which a turn's statements are kept.
ORDER: Final[tuple[StatementFrame, ...]] = get_args(StatementFrame)

_ADV: Final = rf"(?:(?:{en.ADVERBS}) )*"
_SELF: Final = r"^(?:I|[Ww]e|[Mm]y [\w-]+(?: [A-Z]\w+)? and I|I and my [\w-]+)"
_NUMBER: Final = r"(?:\d+|two|three|four|five|six|seven|eight|nine|ten|a couple of|several|twin)"
_KIN: Final = rf"(?:{en.PEOPLE}|{en.PETS})"
# Not "my own dog" or "my dog's toy": the statement would be about something else.
_OWN_KIN: Final = rf"[Mm]y (?:(?!own\b)[\w-]+ ){{0,2}}?(?P<kin>{_KIN})\b(?!')(?!-)"
# A clause needs a finite verb: "my sister in Oslo" states nothing.
_FINITE: Final = (
    r"(?:is|are|was|were|has|have|had|will|would (?:love|enjoy|like|prefer)|can|could|does|did|do not|does not|did "
    r"not|just|also|recently|always|usually|often|never|"
    r"still|really|loves?|likes?|hates?|enjoys?|prefers?|works?|lives?|plays?|studies|study|runs?|owns?|teaches|"
    r"teach|moved|"
    r"got|gave|came|went|passed|died|started|bought|made|took|taught|told|visited|joined|won|lost|found|became|"
    r"turned|turns|needs?|wants?|gets?|goes|go|comes?|calls?|takes?|makes?|speaks?|thinks?|says|said|suffers?|"
    r"\w+ed|\w{3,}s)\b"
)

_PATTERNS: Final[tuple[tuple[StatementFrame, str], ...]] = (
    ("health",
        rf"{_SELF} {_ADV}(?:am|was|have been|have|do not have|had|got|developed|suffer from|struggle with|live with|"
        rf"deal with|am on|take|"
               rf"was diagnosed with|have been diagnosed with|got diagnosed with|am recovering from|recovered from) "
               rf"(?:\w+ ){{0,3}}?(?:{en.CONDITION})\b"),
    ("health",
        rf"{_SELF} {_ADV}(?:broke|sprained|injured|tore|hurt|fractured|twisted|pulled|strained|had (?:an? "
        rf")?(?:operation|surgery) on) my "
               rf"(?:\w+ )?(?:{en.BODY})\b"),
    ("health",
        rf"^[Mm]y (?:\w+ )?(?:{en.BODY}) (?:\w+ ){{0,4}}?(?:bothering me|nagging me|killing me|hurts?|hurting|"
        rf"aches?|aching|pain|painful|problems?|injur\w+|surgery|stiff|sore|tight|swollen|fractured|broken|weak|"
        rf"twinges?|acts up|flares? up)\b"),
    ("health", rf"{_SELF} {_ADV}(?:am|have been|became|went|turned) (?:not |no longer )?(?:an? )?(?:{en.DIET})\b"),
    ("health",
        rf"{_SELF} {_ADV}(?:cannot|do not|never|avoid) (?:eat|drink|eating|drinking|tolerate|have (?:dairy|gluten|"
        rf"meat|sugar|alcohol|caffeine|nuts|eggs|milk|seafood|shellfish)) ?\w*"),
    ("relationship", rf"^{_OWN_KIN}(?: [A-Z]\w+)?(?: and (?:my )?(?:[\w-]+ )?{_KIN})?,? {_FINITE}"),
    ("relationship",
        rf"{_SELF} {_ADV}(?:have|got|adopted|rescued|own) (?:an? |{_NUMBER} )?(?:(?!great\b|good\b|amazing\b|"
        rf"best\b|my\b|the\b)[\w-]+ ){{0,2}}?{_KIN}\b(?!')"),
    ("relationship",
        rf"{_SELF} {_ADV}(?:am|was|have been|got|are|were) (?:(?:happily|recently|just) )?(?:married|engaged|"
        rf"divorced|single|dating|"
                     r"separated|widowed|seeing someone|"
                     r"expecting(?! (?:\w+ )?(?:news|results?|answers?|calls?|deliver\w+|visitors?|rain|snow)\b))\b"),
    ("relationship", rf"{_SELF} {_ADV}(?:am|was|became) (?:an? |the )(?:\w+ ){{0,2}}?(?:{en.PEOPLE})\b(?! of)"),
    ("preference",
        rf"{_SELF} {_ADV}(?:do not |cannot )?(?:love|like|enjoy|prefer|hate|dislike|adore|detest|cannot stand|"
        rf"stand|"
                   r"loathe|crave)\b(?! (?:it|that|this|the (?:idea|way|sound|look|fact)|how|your?|what|to (?:hear|"
                   r"see)|him|her|them|these|those|when|being able)\b) \w+"),
    ("preference",
        rf"{_SELF} {_ADV}(?:want to avoid|try to avoid|avoid|would prefer|would rather|do not (?:drink|smoke|drive|"
        rf"cook))\b (?!it\b|that\b|this\b|you\b)\w+"),
    ("preference",
        rf"{_SELF} {_ADV}(?:am|have been) (?:such )?(?:an? )?(?:[\w-]+ ){{0,2}}?(?:fan of|(?<=am )into|(?<=been "
        rf")into|(?<=mostly )into|(?<=really )into|obsessed with|passionate about|fond of|addicted to|"
                   r"crazy about|interested in|willing to)\b"),
    ("preference",
        r"^(?:[Mm]y|[Oo]ur) (?:all-time |absolute |personal |biggest )?(?:favou?rites?|fav|fave|go-to|guilty "
        r"pleasure|dislikes?|passions?|hobb(?:y|ies))\b.{0,60}? (?:is|are|was|were|include|includes)\b"),
    ("identity", rf"{_SELF} {_ADV}do not (?:live|work|study)\b (?:in|at|for|as) \w+"),
    ("identity",
        rf"{_SELF} {_ADV}(?:live|work|study|own|run|teach|grew up|was born|were born|majored|graduated|come from|"
                 rf"came from|speak|serve|served|used to (?:live|work|own|run|be|play|study)|am (?:currently "
                 rf")?(?:living|working(?! on)|studying|based|employed)|"
                 rf"have (?:lived|worked(?! on)|been living|been working(?! on)|been studying|been teaching)\b|"
                 rf"manage|lead|coach)\b"),
    ("identity",
        rf"{_SELF} {_ADV}(?:am|have been) {_ADV}(?:an? (?!bit\b|little\b|lot\b|firm\b|huge\b|big\b|total\b|great\b|"
        rf"good\b|few\b|mess\b|mix\b|wreck\b|step\b|loss\b|failure\b|believer\b|point\b)"
                 rf"[\w-]+|from [A-Z]\w+|\d+ years|in (?:my|the) \w+ (?:year|semester|grade)|retired|self-employed|"
                 rf"unemployed|"
                 r"originally from|(?:in|near) [A-Z]\w+|in (?:college|grad school|high school|university)|based in)"),
    ("identity",
        rf"^(?:[Mm]y|[Oo]ur) (?!(?:last|next|first|final|current|main concern|biggest) )(?:[\w-]+ "
        rf"){{0,2}}?(?:{en.NOUNS_OF_WORK})(?: in \w+| at \w+| for (?!me\b)[\w ]{{2,30}}?)? (?:is|are|was|would be|"
        rf"will be|has|involves|starts|begins|ends)\b"),
    ("decision",
        rf"{_SELF} {_ADV}(?:have )?{_ADV}(?:decided|selected|chose|chosen|picked|booked|signed up|joined|bought|"
        rf"purchased|went with|settled on|"
                 r"enrolled|registered|quit|adopted|accepted|hired|ordered|reserved|committed to|switched to|"
                 r"subscribed|applied|opted)\b"),
    ("decision",
        rf"{_SELF} (?:will|are going to|am going to) {_ADV}(?:go with|stick (?:with|to)|aim for|choose|book|adopt|"
        rf"buy|switch to)\b"),
    ("plan",
        rf"{_SELF} {_ADV}(?:am|are|have been) {_ADV}(?:planning|going to|hoping to|thinking (?:of|about)|working "
        rf"on|aiming|about to|starting|training|"
             r"saving|looking (?:to|for|into)|preparing|learning|flying|travell?ing|heading|moving|getting married|"
             r"taking|writing|building|launching|opening|"
             r"studying|applying|organi[sz]ing|hosting|volunteering|teaching|renovating|developing|creating|"
             r"researching|designing|filming|attending|joining|leaving|going|visiting|meeting|"
             r"picking up|trying to|considering|expecting|running|competing|performing|expanding|spending|studying)\b"),
    ("plan",
        rf"{_SELF} {_ADV}(?:plan|hope|intend|aim|am scheduled|am set|want|am due|have|am supposed|am hoping) (?:on|"
        rf"to)\b"),
    ("plan", rf"{_SELF} (?:will )?{_ADV}need (?!the\b)(?:to )?\w+"),
    ("decision", r"^I want to (?:go with|stick with|stick to|choose|book|schedule|add|swap|replace)\b"),
    ("plan", rf"{_SELF} will (?:be )?{_ADV}(?:\w+ing|go|travel|fly|visit|move|start|attend|join|take|meet|host|run)\b"),
    ("habit",
        rf"{_SELF} {_ADV}(?:usually|always|never|often|typically|generally|normally|rarely|regularly|tend to|try "
        rf"to) {_ADV}\w+"),
    ("habit",
        rf"{_SELF} {_ADV}(?!am\b|will\b|can\b|could\b|would\b|should\b|have\b|was\b|had\b|did\b)\w+\b.*\b(?:every "
        rf"(?:single )?(?:day|morning|night|evening|week|weekend|month|year|summer|winter|"
              r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|other \w+|few \w+)|each (?:day|morning|week|night|month|"
              r"year)|(?:once|twice|\w+ times) (?:a|per|every) (?:day|week|month|year)|"
              r"on (?:mon|tues|wednes|thurs|fri|satur|sun)days|on weekends|on weekdays|daily|weekly|in the "
              r"mornings?|before bed)\b"),
    ("possession",
        rf"{_SELF} {_ADV}(?:have|have got|own|received|lost|got|inherited)\b (?!(?:{en.ADVERBS}|not) |got \b|"
        rf"gone\b|done\b|a (?:lot|feeling|question|chance|good time|great time|blast|point|plan|bit|"
                   r"few|while|hard time|tough time|really|hunch|thing|ton|bunch|look)\b|to\b|been\b|never\b|"
                   r"always\b|done\b|had\b|no\b|it\b|that\b|this\b|the (?:feeling|chance|same)\b|some\b|more\b|"
                   r"time\b|fun\b|\w+(?:ed|wn|ne|pt|nt|ght|ken|ten|ven|sen)\b)"
                   r"(?:an?|two|three|four|five|six|\d+|my|our|several|some|the|lots of|many|\w+)\b"),
    ("event", rf"{_SELF} (?:have )?{_ADV}(?P<past>\w+)\b"),
)  # fmt: skip
_COMPILED: Final = tuple((frame, re.compile(pattern)) for frame, pattern in _PATTERNS)
# A boss or a team is known from work, which is no relationship.
_TEAM: Final = re.compile(r"^[Mm]y (?:[\w-]+ ){0,2}?(?:team|crew|boss|manager|clients?|dance crew)\b")


# How somebody is and whom they have is worth knowing in the plainest words.
OF_THE_PERSON: Final = frozenset(("relationship", "health"))


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """A clause with its frame. ``of_self``: its subject is the speaker, not somebody or something of theirs."""

    frame: StatementFrame
    of_self: bool


def match_frame(clause: str) -> PatternMatch | None:
    """The frame of a clause that begins with its subject, contractions written out; None if it has none."""
    for frame, pattern in _COMPILED:
        hit = pattern.match(clause)
        if hit is None:
            continue
        if frame == "event" and not is_past(hit["past"]):
            continue
        if frame == "relationship" and _TEAM.match(clause):
            continue
        return PatternMatch(frame, clause[:3].lower() != "my " or " and I " in clause[:60])
    return None


def is_past(word: str) -> bool:
    """Whether a verb form is a past form that tells of something that happened."""
    word = word.lower()
    if word in en.NO_EVENT or word in en.NOT_PAST:
        return False
    return word in en.PAST_IRREGULAR - {
        "had",
        "was",
        "were",
        "said",
        "told",
        "knew",
        "thought",
        "understood",
        "got",
        "did",
        "needed",
    } or (word.endswith("ed") and len(word) > 4)


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


# "Not really, my brother": whoever is spoken to stands alone between commas. "Oscar, my brother" is somebody.
_CALLED: Final = re.compile(r"(?:brother|sister|friend|son|daughter|love|dear)s?")
_CALLED_BEFORE: Final = re.compile(r"(?:^|[.!?–—]|^[A-Z]\w*,|\b[a-z][\w']*,)\s*$")
_CALLED_AFTER: Final = re.compile(r"\s*(?:[.!?–—]|$|,(?!\s*(?:who|which|and|whose)\b))")


def _is_called(kin: str, sentence: str, hit: re.Match[str]) -> bool:
    """Whether "my brother" is how somebody is spoken to."""
    if not _CALLED.fullmatch(kin):
        return False
    before, after = sentence[: hit.start()], sentence[hit.end() :]
    return _CALLED_BEFORE.search(before) is not None and _CALLED_AFTER.match(after) is not None


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
        if name is None and _is_called(kin, sentence, hit):
            continue
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
