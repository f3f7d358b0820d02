"""Sentences in which somebody says of themselves what lasts: health, home, work, likes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from functools import cache, lru_cache
from typing import Final, NamedTuple

from memwarden.statements.explicit import ReadClause, ReadText, moves_thing, names_dwelling, read_text, stems_of_names
from memwarden.statements.in_force import (
    IN_FORCE,
    find_last_day,
    find_start,
    is_inside_quotes,
    is_pasted,
    names_code,
    names_value,
)
from memwarden.statements.renewed import (
    GoneSigns,
    is_new_dose,
    is_other_dose,
    is_post_changed,
    is_thing_gone,
    load_common,
    load_doses,
    load_unnamed,
)
from memwarden.statements.wording import find_mentions
from memwarden.text.dates.recognizer import spans_in
from memwarden.text.language import language_of, latin_languages, normalize_text, read_evidence
from memwarden.text.lexicon import (
    LASTING_SIGNS,
    LASTING_TOPICS,
    LanguageLexicon,
    either_of,
    languages,
    load_lexicon,
    pattern_of,
)
from memwarden.text.question_words import asks_question, statement_before_question
from memwarden.text.sentences import split_spans
from memwarden.text.tokenizer import stop_words, terms
from memwarden.text.update_words import UpdateWords, compile_phrases, load_update_words, make_word_pattern

# Width of a sentence in Latin letters. A shorter sentence needs the sentence before it.
MIN_WIDTH: Final = 6
# Characters of a text whose language is looked at again if it says nothing in the likeliest: "Sono vegana."
MAX_FEW: Final = 60
# Other languages in which such a text is read, the likeliest.
MAX_LANGUAGES: Final = 2
# Lead in nats of a language that is sure: "im vegan" leads by 7.5 as German.
MIN_KNOWN: Final = 8.0
# Words between a denial and what it denies: "don't really think I live here".
MAX_DENIED: Final = 4
# Characters read of a turn.
MAX_CHARACTERS: Final = 2_000
# Languages whose sentences need no word for the speaker.
_DROPS_SUBJECT: Final = ("es", "it", "pt", "pl", "ja", "zh")
# Words before a relative that may be "with", an article and "my".
MAX_COMPANY_WORDS: Final = 3
# Words behind a phrase of a home of which the last may be a spot indoors: "to the other table".
MAX_TO_SPOT: Final = 3
# Days that an event takes at most.
MAX_DAYS: Final = 62
# Days. An event that the speaker announces may name its month.
MAX_DAYS_ANNOUNCED: Final = 31
# Days after the first day of an announced job in which words of a beginning are about the same job.
MAX_DAYS_BEGUN: Final = 14
# Days between an appointment and its new day, if nothing else shows which appointment moved.
MAX_DAYS_MOVED: Final = 10
_DAYS_OF_YEAR: Final = 365
# Content words of a sentence that says something by itself.
MIN_CONTENT: Final = 1

# Words that a sentence and news about the same share.
_MIN_SHARED: Final = 2

# A pattern that fits nothing.
_NOTHING: Final = re.compile(r"(?!)")
_WORD: Final = re.compile(r"\w+")
# Days of a clause are only left out.
_ANY_DAY: Final = datetime(2000, 1, 1, tzinfo=UTC)
_COMMA: Final = re.compile(r"[、,，;；]")
# Punctuation before an aside, and within it the end of a clause.
_ENDS_BEFORE: Final = re.compile(r"\w\s?[,、，;(–—-]\s*$")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_ASIDE_END: Final = re.compile(r"[,、，;]")
# Words of others.
_QUOTED: Final = re.compile(r"[「『„“«\"]")
# Quoted words between marks that are a pair. German closes with the mark that begins a quotation in English.
_QUOTATION: Final = re.compile(
    r"「[^」]*」|『[^』]*』|„[^“”\"]*[“”\"]|“[^”]*”|«[^»]*»|»[^«]*«|\"[^\"]*\"",
)
# Topics of which only the newest sentence counts.
SINGLE: Final = ("home", "work")
# Topics whose phrases may name relatives of the speaker.
_OWN: Final = ("home", "work", "family", "people", "pets", *IN_FORCE)
# Relations whose home, pets and work are not the speaker's.
_STRANGERS: Final = frozenset(("relation:neighbour", "relation:colleague", "relation:friend", "relation:landlord"))
# Relations that a person may be allergic to, or like.
_ANIMALS: Final = frozenset(("relation:dog", "relation:cat", "relation:pet"))
# Relations that are no relatives.
_NO_RELATIVES: Final = frozenset((
    "neighbour", "colleague", "boss", "friend", "landlord", "teacher", "flatmate", "spouse", "dog", "cat", "pet",
))  # fmt: skip
# Of these, those who may be a person's only one or one of several.
_OTHERS: Final = ("neighbour", "colleague", "boss", "friend", "landlord", "teacher", "flatmate")
# Topics of which the newest sentence about one thing counts.
_RENEWED: Final = ("people", "things", "habits")
# Topics of which several values are true at a time. Only a denial takes a value back.
_MANY: Final = ("health", "likes", "identity")
# Topics whose phrases say nothing alone.
_WITH_CONTENT: Final = ("identity", "likes")
# Relations of which one holds at a time, and that end with a parting.
_PARTNERS: Final = frozenset(("relation:wife", "relation:husband", "relation:partner", "relation:spouse"))
_WEEKDAYS: Final = re.compile(either_of(["weekdays", "weekdays_short"]), re.IGNORECASE)
_BEGINNINGS: Final = {"home": "moved", "work": "hired"}
# Signs by which a speaker says that a home or a job is new, although not in a sentence that names it.
_BEGINS: Final = {"home": "moves", "work": "starts"}
# Signs that the speaker left a home or working life, if their clause says nothing else.
_LEAVES: Final = {"home": "relocates", "work": "retires"}
# Signs of sentences that may end something.
_ENDS: Final = ("ended", "lost", "again", "parted", "meals", "regular", "retests", "quits", "breaks")
_CHANGES: Final = frozenset(("over", "changed", "corrected", "scaled", "moved", "hired"))
_NEWS: Final = _CHANGES | {"now", "negation"}


class LastingWords(NamedTuple):
    """A sentence of a turn.

    Attributes:
        topic: "" if it says nothing that lasts.
        order: of its topic, the weightiest first.
        content: stems of its words without the phrase that shows the topic.
        core: of these, those of the clause that holds the phrase.
        phrase: stems of the phrase.
        slot: of these, those that name the thing that has one value; empty if it may have several.
        own: clauses that name no relative.
        denied: contents of the clauses that say of something that it ended or changed.
        denied_own: of these, those of own clauses.
        gone: clauses that say of a thing that it was sold, lost or stolen.
        parts: whether it says that a couple parted.
        begins: topics of which it says that something new begins: a home or a job.
        diets: whether it names a diet.
        returns: whether it says that the speaker has again what a diet leaves out.
        denies: whether the clause that holds the phrase denies something.
        stems: of all its words.
        last_day: that it names, if it was ahead.
        named: topics whose words it has, although it may not be certain.
        allergic: whether it says that the speaker is allergic to something.
        retests: whether it names a new examination of allergies.
        ends_unnamed: whether it says that something ended, and not what: "I stopped yesterday".
        starts_on: day ahead from which on a value holds: "labour is 48 from 1 September".
        announces_job: whether it is a day to come on which a job begins: "I start at Monzo on 4 May".
    """

    text: str
    topic: str
    order: int
    content: frozenset[str]
    core: frozenset[str]
    read: ReadText
    phrase: frozenset[str] = frozenset()
    slot: frozenset[str] = frozenset()
    own: tuple[ReadClause, ...] = ()
    denied: tuple[frozenset[str], ...] = ()
    denied_own: tuple[frozenset[str], ...] = ()
    gone: tuple[ReadClause, ...] = ()
    parts: bool = False
    begins: frozenset[str] = frozenset()
    diets: bool = False
    returns: bool = False
    denies: bool = False
    stems: frozenset[str] = frozenset()
    last_day: date | None = None
    named: frozenset[str] = frozenset()
    allergic: bool = False
    retests: bool = False
    ends_unnamed: bool = False
    starts_on: date | None = None
    announces_job: bool = False


@cache
def load_topics(language: str) -> Mapping[str, re.Pattern[str]]:
    """Return the patterns of a language by topic, the weightiest first. Empty for a language without a list."""
    if language not in languages():
        return {}
    lexicon = load_lexicon(language)
    table, lists = lexicon.lasting, _make_lists(lexicon)
    return {
        topic: compile_phrases(_with_spellings(table[topic], table.get("written_out", "")), language, lists)
        for topic in LASTING_TOPICS
        if topic in table
    }


def _with_spellings(listed: str, written_out: str) -> str:
    """Phrases, their long forms, and their spelling without apostrophes: "im", "ive". "We're" would be "were".

    written_out: contractions with their long forms, "i'm = i am | ...". People write them out to stress a denial, so
    phrases with any words between ("i'm _ allergic to") are left out.
    """
    phrases = listed.split("|")
    pairs = [tuple(map(str.strip, pair.split("="))) for pair in written_out.split("|") if pair.strip()]
    whole = [phrase for phrase in phrases if "_" not in phrase]
    long = (phrase.replace(short, full) for short, full in pairs for phrase in whole if f" {short} " in f" {phrase}")
    bare = (phrase.replace("'", "") for phrase in phrases if "'" in phrase and "we're" not in phrase)
    return " | ".join((listed, *long, *bare))


@cache
def load_signs(language: str) -> Mapping[str, re.Pattern[str]]:
    """Patterns of a language by key of :data:`LASTING_SIGNS`. A pattern without words fits nothing."""
    if language not in languages():
        return dict.fromkeys(LASTING_SIGNS, _NOTHING)
    lexicon = load_lexicon(language)
    table, lists = lexicon.lasting, _make_lists(lexicon)
    return {
        sign: compile_phrases(table[sign], language, lists) if sign in table and sign != "written_out" else _NOTHING
        for sign in LASTING_SIGNS
    }


@cache
def _load_values(language: str) -> frozenset[str]:
    """Stems of the jobs and numbers of a language, which phrases may hold as values."""
    words = load_update_words(language)
    listed = (*load_lexicon(language).words.get("jobs", ()), *(words.numbers if words is not None else ()))
    return frozenset(stem for word in listed for stem in terms(word, language))


@cache
def _load_vehicles(language: str) -> frozenset[str]:
    listed = load_lexicon(language).words.get("vehicles", ())
    return frozenset(stem for word in listed for stem in terms(word, language))


def _make_lists(lexicon: LanguageLexicon) -> dict[str, str]:
    """Expressions of the lists that phrases name."""
    lists = {
        "kin": [word for key, words in lexicon.kin.items() if key not in _NO_RELATIVES for word in words],
        "job": lexicon.words.get("jobs", ()),
        "other": [word for key in _OTHERS for word in lexicon.kin.get(key, ())],
        "animal": lexicon.words.get("animals", ()),
        "vehicle": lexicon.words.get("vehicles", ()),
        "allergen": lexicon.words.get("allergens", ()),
        "weekday": lexicon.words.get("weekdays") or lexicon.words.get("weekdays_short", ()),
        "month": lexicon.words.get("months", ()),
        "post": [phrase.strip() for phrase in lexicon.updates.get("post", "").split("|") if phrase.strip()],
    }
    # "We have two rabbits": up to two letters of a plural.
    endings = {"animal": r"\w{0,2}"} if lexicon.spaced else {}
    counts = "|".join((r"\d+(?:[.,]\d+)?", *map(re.escape, lexicon.updates.get("numbers", "").split())))
    units = "|".join(map(re.escape, lexicon.words.get("doses", ())))
    numbers = {
        "year": r"(?:19|20)\d\d",
        "number": r"\d{1,2}",
        "code": r"\d{3,8}",
        # A group, so that a name counts as content and not as part of a phrase.
        "name": r"([^\W\d_][\w-]+)",
        "dose": rf"(?:{counts}) ?(?:{units})",
        "age": rf"(?:{counts})(?!\s+\w)",
    }
    listed = {
        name: f"(?:{'|'.join(map(make_word_pattern, map(normalize_text, words)))}){endings.get(name, '')}"
        for name, words in lists.items()
    }
    own = _any_of(lexicon.lasting.get("own", ""))
    phrases = {
        "illness": _any_of(lexicon.lasting.get("kin_health", "")),
        **{
            name: rf"{own}\s+(?:[^\W\d_]+\s+)?{listed[words]}(?:,?\s+{numbers['name']},?)?"
            for name, words in (("relative", "kin"), ("ownpet", "animal"))
        },
    }
    return phrases | numbers | listed


def _any_of(listed: str) -> str:
    """Expression of the phrases of a list. One that fits nothing for an empty list."""
    phrases = [normalize_text(phrase.strip()) for phrase in listed.split("|") if phrase.strip()]
    parts = (r"\s+".join(map(make_word_pattern, phrase.split())) for phrase in phrases)
    return f"(?:{'|'.join(parts)})" if phrases else _NOTHING.pattern


class _WordLists(NamedTuple):
    """Patterns of a language that sentences are read with. takes_back: those of sentences that may end something."""

    language: str
    words: UpdateWords
    topics: Mapping[str, re.Pattern[str]]
    signs: Mapping[str, re.Pattern[str]]
    takes_back: tuple[re.Pattern[str], ...]


@cache
def _load_lists(language: str) -> _WordLists | None:
    words, signs = load_update_words(language), load_signs(language)
    if words is None:
        return None
    takes_back = (
        words.changes,
        # A relative's home is taken back by another home: "Orla lives in Leeds".
        *(words.patterns[role] for role in ("now", "negation", "home")),
        *(signs[sign] for sign in (*_ENDS, *_BEGINS.values(), *_LEAVES.values())),
    )
    return _WordLists(language, words, load_topics(language), signs, takes_back)


@lru_cache(maxsize=4_000)
def find_lasting(text: str, at: datetime) -> tuple[LastingWords, ...]:
    """Return the sentences of a turn that say what lasts, with their topic, and those that announce a change.

    Of a sentence that states something and then asks, only the statement.

    at: when the turn was said.
    """
    language = language_of(text)
    found = _read_in(language, text, at)
    if found or len(text) > MAX_FEW:
        return found
    for other in _other_languages(text, language):
        others = _read_in(other, text, at)
        if any(words.topic for words in others):
            return others
    return found


def _other_languages(text: str, language: str) -> list[str]:
    """The languages with lists, beside its likeliest, that a short text may be in. None where it is known."""
    evidence = read_evidence(text)
    if evidence.script or evidence.known(MIN_KNOWN) == language:
        return []
    scores = dict(zip(latin_languages(), evidence.scores, strict=True))
    listed = (code for code in scores if code != language and code in languages() and load_lexicon(code).lasting)
    return sorted(listed, key=lambda code: -scores[code])[:MAX_LANGUAGES]


def _read_in(language: str, text: str, at: datetime) -> tuple[LastingWords, ...]:
    """Read a turn in a language. Without lists nothing is read."""
    lists = _load_lists(language)
    if lists is None:
        return ()
    drafts = lists.signs["drafts"].search(normalize_text(text[:MAX_CHARACTERS])) is not None
    pasted = is_pasted(text)
    found: list[LastingWords] = []
    for span in split_spans(text[:MAX_CHARACTERS], small_starts=True):
        own_words = not (pasted or is_inside_quotes(text, span.start))
        stated = statement_before_question(span.text) if asks_question(span.text) else ""
        stated = _without_aside(stated or span.text, lists.signs["asides"])
        sentence = _read_sentence(stated, at, lists, drafts=drafts, own_words=own_words)
        if sentence is not None:
            found.append(sentence)
    return tuple(found)


def _without_aside(text: str, asides: re.Pattern[str]) -> str:
    """A statement without a condition about later questions: "I'm allergic to nuts, in case I ask about food"."""
    plain = normalize_text(text)
    hit = asides.search(plain) if len(plain) == len(text) else None
    if hit is None or not _ENDS_BEFORE.search(plain[: hit.start()]) or _ASIDE_END.search(plain, hit.end()):
        return text
    return text[: hit.start()].rstrip(" ,、，;(–—-")


def _read_sentence(text: str, at: datetime, lists: _WordLists, *, drafts: bool, own_words: bool) -> LastingWords | None:
    """Read a sentence, None if it says nothing that lasts and announces no change.

    drafts: whether the speaker asks for a text. own_words: whether they are no pasted text and no letter.
    """
    language, topics, signs = lists.language, lists.topics, lists.signs
    plain = normalize_text(text)
    last_day = find_last_day(text, at)
    if last_day is None and _announces_job(text, plain, lists):
        last_day = find_last_day(text, at, most=MAX_DAYS_ANNOUNCED, numbered=False)
    matches = [*_find_topics(plain, topics, signs), *(["upcoming"] if last_day else [])]
    if "home" in matches and _moves_indoors(text, topics["home"], signs["spots"]):
        matches.remove("home")
        if not matches:
            return None
    if not matches and not any(pattern.search(plain) for pattern in lists.takes_back):
        return None
    read = read_text(text, language)
    # A doctor's word about an allergy is worth quoting, a cousin's about a code is not.
    sure = own_words and not signs["hearsay"].search(plain)
    possible = () if drafts or signs["unreal"].search(plain) else (m for m in matches if sure or m not in IN_FORCE)
    topic = next((match for match in possible if _holds(text, match, read, at, lists)), "")
    match = topic or next(iter(matches), "")
    phrases = _phrases_of(match, plain, topics, signs)
    content, core, phrase, slot = read.content, read.content, frozenset[str](), frozenset[str]()
    if topic:
        content, core, phrase, slot = _content_of(read, topic, phrases)
    own = tuple(clause for clause in read.clauses if not read.relations or not _names_relative(clause, language))
    denied, denied_own = (tuple(_denied_in(clauses, signs["ended"], language)) for clauses in (read.clauses, own))
    return LastingWords(
        text=text,
        topic=topic,
        order=LASTING_TOPICS.index(topic) if topic else len(LASTING_TOPICS),
        content=content,
        core=core,
        read=read,
        phrase=phrase,
        slot=slot,
        own=own,
        denied=denied,
        denied_own=denied_own,
        gone=tuple(each for each in read.clauses if "over" in each.roles or signs["lost"].search(each.text)),
        parts=signs["parted"].search(plain) is not None,
        begins=frozenset(topic for topic, sign in _BEGINS.items() if signs[sign].search(plain)),
        diets=signs["diets"].search(plain) is not None,
        returns=any(
            signs["meals"].search(clause.text)
            and "negation" not in clause.roles
            and not _doubts(read_text(clause.text, language))
            for clause in read.clauses
        ),
        denies=any("negation" in clause.roles for clause in read.clauses if match and phrases.search(clause.text)),
        stems=frozenset(terms(plain, language)),
        last_day=last_day,
        named=frozenset(matches),
        allergic=topic == "health" and signs["allergies"].search(plain) is not None,
        retests=signs["retests"].search(plain) is not None,
        ends_unnamed=_ends_unnamed(read, signs["ended"]),
        starts_on=find_start(text, at, signs["from_day"], signs["day_on"], read) if topic == "upcoming" else None,
        announces_job=topic == "upcoming" and _announces_job(text, plain, lists),
    )


def _announces_job(text: str, plain: str, lists: _WordLists) -> bool:
    """Whether a sentence tells the start of a job: by a word for work, or at somebody with a name.

    "I start at the gym", "entro en quirófano" and "ich fange bei der Physio an" name no employer.
    """
    if lists.signs["announces"].search(plain):
        return True
    for hit in lists.signs["announces_at"].finditer(plain):
        read, code = read_text(text, lists.language), lists.language
        grammar = frozenset[str]() if load_lexicon(code).capital_nouns else stop_words(code)
        behind = (word for word in _LETTERS.findall(plain[hit.end() :]) if word not in read.day_tokens)
        first = next((word for word in behind if word not in grammar), "")
        if first in read.capitals:
            return True
    return False


def _moves_indoors(text: str, phrases: re.Pattern[str], spots: re.Pattern[str]) -> bool:
    """Whether a phrase of a home ends with a piece of furniture or a room: "I moved to the couch".

    A spot with a capital is a name, such as Covent Garden. Before more words it may be a kind of home.
    """
    plain = normalize_text(text)
    for phrase in phrases.finditer(plain):
        words = plain[phrase.end() :].split()[:MAX_TO_SPOT]
        spot = spots.search(" ".join(words))
        if spot is None:
            continue
        behind = plain[phrase.end() :].split(spot[0], 1)[-1].strip()
        if spot[0] in text and not behind[:1].isalnum():
            return True
    return False


def _ends_unnamed(read: ReadText, ended: re.Pattern[str]) -> bool:
    """Whether the speaker says that something ended, and not what."""
    own = read.person == "self" or (read.person == "" and read.language in _DROPS_SUBJECT)
    return own and any(
        ended.search(clause.text) and _names_nothing(clause.content, read.language) for clause in read.clauses
    )


def _holds(text: str, topic: str, read: ReadText, at: datetime, lists: _WordLists) -> bool:
    """Whether a sentence with words of a topic says that something of it lasts, and not that it ended."""
    phrases = _phrases_of(topic, normalize_text(text), lists.topics, lists.signs)
    rest = phrases.sub(" ", _without_others(read.plain, read, phrases))
    ended = lists.words.patterns["over"].search(rest) or lists.signs["ended"].search(rest)
    return not ended and _is_certain(text, topic, read, at, lists.signs, phrases)


def _without_others(plain: str, read: ReadText, phrases: re.Pattern[str]) -> str:
    """A sentence without the clauses about somebody else: "I sail at weekends, she's retired"."""
    for clause in read.clauses:
        if not phrases.search(clause.text) and read_text(clause.text, read.language).person == "third":
            plain = plain.replace(clause.text, " ")
    return plain


def _find_topics(plain: str, topics: Mapping[str, re.Pattern[str]], signs: Mapping[str, re.Pattern[str]]) -> list[str]:
    """The topics that a sentence has words of, the weightiest first. Of lasting topics only the first."""
    hits = [topic for topic, pattern in topics.items() if pattern.search(plain)]
    lasting = [
        topic
        for topic in hits
        if topic not in IN_FORCE and not (topic in SINGLE and _begins_with_another(plain, topics[topic], signs))
    ][:1]
    if "health" in topics and signs["retests"].search(plain) and signs["results"].search(plain):
        lasting = ["health"]
    if not lasting and "family" in topics and signs["kin_health"].search(plain):
        lasting = ["family"]
    if not lasting and "habits" in topics and signs["verbs"].search(plain) and signs["regular"].search(plain):
        lasting = ["habits"]
    return lasting + [topic for topic in hits if topic in IN_FORCE]


def _begins_with_another(plain: str, phrases: re.Pattern[str], signs: Mapping[str, re.Pattern[str]]) -> bool:
    """Whether the clause of a phrase has another person as its subject, in a language without spaces.

    "母は仙台に住んでいます", and not "母と仙台に住んでいます".
    """
    hit = phrases.search(plain)
    if hit is None:
        return False
    # A comma after the subject ends no clause: "母は、仙台に住んでいます".
    subjects = list(signs["of_others"].finditer(plain, 0, hit.end()))
    between = plain[subjects[-1].end() : hit.end()].lstrip("、,，") if subjects else ""
    company = signs["company"].search(plain, 0, hit.end())
    return bool(subjects) and not company and not _COMMA.search(between)


def _phrases_of(
    topic: str, plain: str, topics: Mapping[str, re.Pattern[str]], signs: Mapping[str, re.Pattern[str]]
) -> re.Pattern[str]:
    """The phrases that show a topic in a sentence."""
    if topic == "upcoming":
        return _NOTHING
    if topic == "health" and signs["retests"].search(plain) and signs["results"].search(plain):
        return signs["retests"]
    if topic in topics and topics[topic].search(plain):
        return topics[topic]
    return signs["kin_health"] if topic == "family" else signs["verbs"]


def _content_of(read: ReadText, topic: str, phrases: re.Pattern[str]) -> tuple[frozenset[str], ...]:
    """Stems of a sentence without a phrase, those of the clause that holds it, those of the phrase, and the slot."""
    for clause in read.clauses:
        if (hit := phrases.search(clause.text)) is not None:
            between = " ".join(filter(None, hit.groups()))
            whole = frozenset(terms(hit[0], read.language))
            phrase = whole - set(terms(between, read.language))
            slot = _slot_of(read, topic, hit[0], whole, clause.roles)
            return read.content - phrase, clause.content - phrase, phrase, slot
    return read.content, read.content, frozenset(), frozenset()


def _slot_of(read: ReadText, topic: str, hit: str, stems: frozenset[str], roles: frozenset[str]) -> frozenset[str]:
    """Stems of a phrase that name the thing that has one value."""
    if topic == "people" and read.words is not None:
        posts = (post[0] for post in read.words.patterns["post"].finditer(hit))
        return frozenset(stem for post in posts for stem in terms(post, read.language))
    if topic not in ("family", "things"):
        return frozenset()
    # "I own a kayak" names no thing but in its value, and leaves a car.
    if topic == "things" and stems <= read.heads and not _load_vehicles(read.language) & stems:
        return frozenset()
    # "My sister Eva is allergic to nuts": of health several values are true at a time.
    if topic == "family" and load_signs(read.language)["kin_health"].search(hit):
        return frozenset()
    # "My daughter is called Ida": there may be another daughter. "My daughter lives in Kiel" has one place at a time.
    if stems & read.heads and stems & read.singles and not roles & {"home", "work"}:
        return frozenset()
    return (stems - _load_values(read.language)) or stems


def _names_relative(clause: ReadClause, language: str) -> bool:
    return bool(read_text(clause.text, language).relations)


def _denied_in(clauses: Iterable[ReadClause], ended: re.Pattern[str], language: str) -> Iterator[frozenset[str]]:
    """Contents of the clauses that say of something that it ended or changed."""
    for clause in clauses:
        hits = [hit[0] for hit in ended.finditer(clause.text)]
        if hits or clause.roles & _CHANGES:
            yield clause.content - {stem for hit in hits if " " not in hit for stem in terms(hit, language)}


def _is_certain(
    text: str,
    topic: str,
    read: ReadText,
    at: datetime,
    signs: Mapping[str, re.Pattern[str]],
    phrases: re.Pattern[str],
) -> bool:
    """Whether a sentence says something that lasts: no question, doubt, joke, day or fragment, not of others."""
    if not topic or read.asks or _width(text) < MIN_WIDTH:
        return False
    # "My new number is 345 118 2290" has a value and no content beside words of change.
    if topic != "codes" and len(read.content | read.weekdays) < MIN_CONTENT:
        return False
    if topic in IN_FORCE:
        return _is_in_force(text, topic, read, at, signs, phrases)
    if topic in SINGLE and _is_of_named(read, phrases, signs):
        return False
    if phrases is signs["kin_health"] and not _is_after_name(read, phrases, signs["diets"]):
        return False
    if _is_denied(read, topic, phrases) or _is_of_another(read, phrases):
        return False
    if topic in _WITH_CONTENT and not _content_of(read, topic, phrases)[0]:
        return False
    if _doubts(read, signs["regular"]) or read.has("corrected") or _is_joke(text) or _QUOTED.search(text):
        return False
    if topic == "health" and phrases is signs["retests"]:
        ahead = find_last_day(text, at, numbered=False) is not None
        return read.person == "self" and not (read.relations or ahead) and _tells_result(read, signs)
    # A home lasts, whatever the day of the move, and "from today on" names no event.
    if topic != "home" and _names_day(signs["from_today"].sub(" ", read.plain), at, but_weekdays=topic == "habits"):
        return False
    # "I live in Graz with my wife", but "my wife can't eat nuts".
    told_by_others = signs["hearsay"].search(read.plain) is not None
    relations = read.relations if told_by_others else _relations_of(read, phrases)
    if topic in _MANY and relations <= _ANIMALS and _person_of(read, phrases) == "self":
        return True
    return not read.relations or topic == "people" or (topic in _OWN and not read.relations & _STRANGERS)


def _tells_result(read: ReadText, signs: Mapping[str, re.Pattern[str]]) -> bool:
    """Whether words follow the result of an examination: "it's only hazelnuts", not "the results of my test"."""
    ends = [hit.end() for hit in signs["results"].finditer(read.plain)]
    rest = signs["retests"].sub(" ", read.plain[max(ends) :]) if ends else ""
    return any(not read.is_grammar(term) for term in terms(rest, read.language))


def _is_in_force(
    text: str,
    topic: str,
    read: ReadText,
    at: datetime,
    signs: Mapping[str, re.Pattern[str]],
    phrases: re.Pattern[str],
) -> bool:
    """Whether a sentence gives a dose, an agreement, a code, a new value or a day to come of the speaker."""
    # "When I ask for code: a diff only, no words unless I ask" gives an exception.
    if topic == "rules" and signs["instructs"].match(read.plain):
        return not _is_joke(text)
    # "The wedding will be on 19 June" gives a day.
    scheduled = read.words.patterns.get("scheduled") if topic == "upcoming" and read.words else None
    if _doubts(read, scheduled or phrases) or (topic != "codes" and (_is_joke(text) or _QUOTED.search(text))):
        return False
    holder = _clause_of(read, phrases)
    hit = phrases.search(holder.text) if holder else None
    owned = hit is not None and signs["own"].match(hit[0]) is not None
    person = read_text(holder.text if holder else read.plain, read.language).person
    if (person == "third" and not owned) or read.relations & _STRANGERS:
        return False
    # "The code is not 2580 but 2850" denies one code and gives another.
    denied = holder is not None and "negation" in holder.roles and not (topic == "codes" and read.has("corrected"))
    if topic in ("medicines", "codes") and (denied or signs["past"].search(read.plain)):
        return False
    if topic == "codes":
        # A name in quotation marks is no code, and laughter after a code takes nothing back.
        bare = _QUOTATION.sub(" ", text)
        return names_code(bare) and bool(phrases.search(normalize_text(bare))) and not _belongs_to_name(read)
    if topic == "medicines":
        day = _names_day(phrases.sub(" ", read.plain), at, but_weekdays=True)
        return not (day or read.relations or read.person == "third" or signs["others"].search(read.plain))
    return topic != "current" or (not _is_denied(read, topic, phrases) and _is_own_news(text, read, at, phrases, signs))


def _is_own_news(
    text: str, read: ReadText, at: datetime, phrases: re.Pattern[str], signs: Mapping[str, re.Pattern[str]]
) -> bool:
    """Whether a sentence gives a new value of the speaker, and no moment."""
    if signs["lengths"].search(read.plain):
        return False
    if read.relations or (read.first_name and read.person != "self"):
        return False
    # "After Easter my shifts are on Mondays now" gives a first day of what recurs.
    recurs = signs["regular"].search(read.plain) is not None and read.has("changed")
    if not recurs and _names_day(phrases.sub(" ", read.plain), at, but_weekdays=True):
        return False
    # "Since March" begins a state of the speaker, and "now" often a moment.
    drops = read.language in _DROPS_SUBJECT
    own = drops or (read.person == "self" and len(read.content) > 1 and not read.has("negation"))
    since = own and any(spans_in(hit[0], at) for hit in phrases.finditer(read.plain))
    return since or names_value(text, read) or (read.glued and _WEEKDAYS.search(text) is not None)


def _belongs_to_name(read: ReadText) -> bool:
    """Whether a sentence names the owner of a thing: "Tom's code", "James' code", "el código de Tom"."""
    joins = read.words.patterns["of"].finditer(read.plain) if read.words is not None else ()
    after = tuple(read.plain[join.end() :].lstrip() for join in joins)
    return any(f"{name}'" in read.plain or any(rest.startswith(name) for rest in after) for name in read.names)


def _is_of_another(read: ReadText, phrases: re.Pattern[str]) -> bool:
    """Whether somebody else says or does it. "She has a cat, and I'm allergic to cats" is the speaker's."""
    return read.person == "third" and _person_of(read, phrases) != "self"


def _is_of_named(read: ReadText, phrases: re.Pattern[str], signs: Mapping[str, re.Pattern[str]]) -> bool:
    """Whether another person is before a phrase in a language that needs no word for the speaker.

    "Mi hermana se mudó por trabajo en una escuela", and with a noun in place of the verb "Lucía tiene nuevo trabajo".
    "Con mi hermana vivo en Cádiz" is of the speaker.
    """
    hit = phrases.search(read.plain)
    if hit is None or read.language not in _DROPS_SUBJECT or read.glued:
        return False
    before = read.plain[: hit.start()]
    mentions = sorted(find_mentions(before, ()))
    if mentions and mentions[-1].sort == "relation":
        leading = " ".join(before[: mentions[-1].start].split()[-MAX_COMPANY_WORDS:])
        return signs["company"].search(leading) is None
    is_noun = any(noun.end() == len(before.rstrip()) for noun in signs["nouns"].finditer(before))
    return is_noun and all(mention.sort != "self" for mention in mentions)


def _is_after_name(read: ReadText, phrases: re.Pattern[str], diets: re.Pattern[str]) -> bool:
    """Whether the words right before a phrase are a name: "Emil is allergic to nuts", and not "the boss is".

    A diet may be of a meal: "Kuchen ist vegan".
    """
    hit = phrases.search(read.plain)
    if hit is None or read.person or diets.search(read.plain):
        return False
    names = read.names | ({read.first_name} - {""})
    return any(read.plain[: hit.start()].rstrip().endswith(name) for name in names)


def _is_denied(read: ReadText, topic: str, phrases: re.Pattern[str]) -> bool:
    """Whether a phrase is denied before it: "I don't think I live there", or of a home also in or after it."""
    if topic == "likes":
        return False
    clause = _clause_of(read, phrases)
    hit = phrases.search(clause.text) if clause is not None else None
    if clause is None or hit is None or read.words is None:
        return False
    before, after = clause.text[: hit.start()], clause.text[hit.end() :]
    # A script without spaces denies in the word or in the signs after it.
    denied = "" if read.glued else " ".join(before.split()[-MAX_DENIED:])
    if topic in ("home", "current"):
        denied = f"{denied} {hit[0]} {after[:MAX_DENIED] if read.glued else ' '.join(after.split()[:1])}"
    return read.words.patterns["negation"].search(denied) is not None


def _relations_of(read: ReadText, phrases: re.Pattern[str]) -> frozenset[str]:
    """Relations in the clause that holds a phrase: "Mum's from Leeds, I grew up in Hull" has none there."""
    clause = _clause_of(read, phrases)
    return read.relations if clause is None else read_text(clause.text, read.language).relations


def _person_of(read: ReadText, phrases: re.Pattern[str]) -> str:
    """Who does it in the clause that holds a phrase: "self", "third" or ""."""
    clause = _clause_of(read, phrases)
    return read_text(clause.text, read.language).person if clause is not None else ""


def _clause_of(read: ReadText, phrases: re.Pattern[str]) -> ReadClause | None:
    """The first clause that holds a phrase."""
    return next((clause for clause in read.clauses if phrases.search(clause.text)), None)


def _doubts(read: ReadText, regular: re.Pattern[str] | None = None) -> bool:
    """Whether a sentence is a wish, a plan, a condition, hearsay or about the past. "I also have a cat" is not.

    regular: how often something happens, which is no doubt: "once a week".
    """
    if read.words is None or not read.has("doubt"):
        return False
    plain = regular.sub(" ", read.plain) if regular else read.plain
    another = read.words.patterns.get("another")
    return read.words.patterns["doubt"].search(another.sub(" ", plain) if another else plain) is not None


def _is_joke(text: str) -> bool:
    return pattern_of("laughter").search(text) is not None


def _names_day(text: str, at: datetime, *, but_weekdays: bool) -> bool:
    """Whether a sentence names a day or a few weeks, and so tells of an event. "For ten years" does not.

    but_weekdays: whether a weekday, which a habit has, does not count.
    """
    days = [span for span in spans_in(text, at) if (span.last - span.first).days <= MAX_DAYS]
    return any(not (but_weekdays and _WEEKDAYS.search(span.text)) for span in days)


def read_on(words: LastingWords, today: date) -> LastingWords:
    """A sentence as it reads on a day. A job or a value that began on an announced day holds since then."""
    if words.announces_job and words.last_day is not None and words.last_day < today:
        return words._replace(topic="work", order=LASTING_TOPICS.index("work"))
    if words.starts_on is not None and words.starts_on <= today:
        return words._replace(topic="current", order=LASTING_TOPICS.index("current"))
    return words


def confirms_beginning(words: LastingWords, later: LastingWords, said_on: date) -> bool:
    """Whether a later sentence only repeats that an announced job begins: "first day at the new place"."""
    if not words.announces_job or words.last_day is None or later.topic == "work" or "work" not in later.begins:
        return False
    over = later.denied or any(map(later.read.has, ("over", "left", "negation")))
    return 0 <= (said_on - words.last_day).days <= MAX_DAYS_BEGUN and not over


def is_replaced_by(words: LastingWords, later: LastingWords) -> bool:
    """Whether a later sentence of the same speaker may take back what lasts, however unsure that is."""
    if is_other_dose(words.read, later.read, _times_of_doses(words.read.language)):
        return False
    if later.topic == words.topic and (words.topic in SINGLE or _is_new_value(words, later)):
        return True
    if later.read.asks:
        return False
    if _is_renewed_unnamed(words, later) or _is_renewed(words, later):
        return True
    if words.topic in IN_FORCE:
        return _is_out_of_force(words, later)
    if words.allergic and later.retests and (later.read.person == "self" or not later.read.first_name):
        return True
    if words.topic == "family" and later.retests and not words.read.names.isdisjoint(later.read.names):
        return True
    if words.diets and later.returns and words.topic in _MANY and not later.diets:
        return later.read.person != "third" and not later.read.relations
    if words.topic == "habits" and _moves_habit(words, later):
        return True
    if words.topic in later.begins and later.read.person != "third" and not later.read.relations:
        return True
    if _is_left(words, later) or (words.topic == "family" and _is_broken(words, later)):
        return True
    if words.topic in _BEGINNINGS and later.read.person != "third" and not later.read.relations:
        # "We live here now" says that a home began, though not where.
        began, now = _BEGINNINGS[words.topic], {words.topic, "now"}
        if any(
            (began in clause.roles and not moves_thing(clause, later.read, words.content))
            or (now <= clause.roles and "doubt" not in clause.roles)
            for clause in later.read.clauses
        ):
            return True
    if words.topic == "family" and _tells_new_home(words.read, later.read):
        return True
    if later.parts and words.topic == "family" and (later.read.relations | words.read.relations) <= _PARTNERS:
        return True
    # "My sister no longer has asthma" says nothing of the speaker's.
    denied = later.denied_own if words.topic in _MANY else later.denied
    # "My asthma is gone" names nothing but the phrase.
    if any(content & words.phrase and content <= words.read.content for content in denied):
        return True
    about = _about(words)
    if words.topic in SINGLE:
        denied = _denied_of_place(words, later, about)
    elif words.topic not in _MANY:
        denied = tuple(content for content in denied if _is_about_same(words, content))
    # "The milk is gone" ends no allergy to milk.
    if words.topic in _MANY and about != words.read.content and later.read.person != "self":
        denied = ()
    return any(about & content for content in denied) or _is_denied_by(words, later, about)


def _is_about_same(words: LastingWords, content: frozenset[str]) -> bool:
    """Whether a clause is about what a sentence says, and not only of a person or a place that both name.

    "Tom is no longer in the choir" and "there's no parking in Whitby" take nothing back.
    """
    said, names = words.read.content, stems_of_names(words.read)
    if words.topic in SINGLE:
        names |= words.content
    elif not (words.read.has("home") or load_signs(words.read.language)["kin_health"].search(words.read.plain)):
        return True  # "Callum lost his job" is about "Callum is a plumber"
    return not content - said or bool(content & said - names)


def _denied_of_place(words: LastingWords, later: LastingWords, about: frozenset[str]) -> tuple[frozenset[str], ...]:
    """Contents of the clauses that may end a home or a job: "I sold my car in Leeds" ends another thing there."""
    own = (
        clause
        for clause in later.read.clauses
        if clause.roles & {"home", "work", "moved", "hired"}
        or not clause.content - about - words.phrase
        or names_dwelling(clause, words.content & clause.content, later.read)
    )
    return tuple(_denied_in(own, load_signs(words.read.language)["ended"], words.read.language))


def _is_left(words: LastingWords, later: LastingWords) -> bool:
    """Whether the speaker says to have moved, retired or left the employer that a sentence names.

    "I left my bag at Barclays" and "I moved the sofa" say something else.
    """
    if words.topic not in _LEAVES or later.read.person == "third" or later.read.relations:
        return False
    language = words.read.language
    signs = load_signs(language)
    for clause in later.read.clauses:
        if clause.roles & {"doubt", "negation"}:
            continue
        rest = _rest_of(clause.text, signs[_LEAVES[words.topic]], language)
        if rest is not None and not rest:
            return True
        named = names_quit(clause.text, language) if words.topic == "work" else None
        if named and named <= words.content:
            return True
    return False


def _is_broken(words: LastingWords, later: LastingWords) -> bool:
    """Whether a sentence ends with the news that a couple with a named partner is over: "Luc and I are over"."""
    if not words.read.relations or not words.read.relations <= _PARTNERS:
        return False
    return tells_break(later.read) and not words.content.isdisjoint(later.read.content)


def tells_break(read: ReadText) -> bool:
    """Whether a sentence ends with words for the end of a couple."""
    breaks = list(load_signs(read.language)["breaks"].finditer(read.plain))
    return bool(breaks) and not read.has("doubt") and not any(map(str.isalnum, read.plain[breaks[-1].end() :]))


def names_quit(clause: str, language: str) -> frozenset[str]:
    """Words of a clause, as stems, for what its speaker left. Empty if it left nothing."""
    return _rest_of(clause, load_signs(language)["quits"], language) or frozenset()


def _rest_of(clause: str, sign: re.Pattern[str], language: str) -> frozenset[str] | None:
    """Words of a clause, as stems, besides a sign and days. None without the sign."""
    hit = sign.search(clause)
    if hit is None:
        return None
    words: set[str] = set()
    for part in (clause[: hit.start()], *filter(None, hit.groups()), clause[hit.end() :]):
        words.update(_words_besides_days(part, language))
    return frozenset(words)


def _words_besides_days(text: str, language: str) -> Iterator[str]:
    """Yield the words of a text, as stems, without the days that it names and the function words before them."""
    grammar = stop_words(language)
    for span in spans_in(text, _ANY_DAY):
        before, _, text = text.partition(span.text)
        kept = before.split()
        while kept and kept[-1] in grammar:
            kept.pop()
        text = " ".join((*kept, text))
    for word in _WORD.findall(text):
        # A function word has no stem: "at".
        yield from terms(word, language) or (word,)


def _tells_new_home(earlier: ReadText, later: ReadText) -> bool:
    """Whether both tell where the same relative lives, by relation or name: "my cousin Ida lives in Ulm"."""
    homes = [read.has("home") or read.has("moved") for read in (earlier, later)]
    if not all(homes) or not earlier.relations or _doubts(later):
        return False
    names, others = earlier.relatives, later.relatives
    if names and others:
        return not names.isdisjoint(others)
    by_name = any(name in later.tokens for name in names)
    return by_name if not later.relations else by_name or earlier.relations == later.relations


def _times_of_doses(language: str) -> dict[str, re.Pattern[str]]:
    """Patterns of the times of the day at which a medicine is taken."""
    signs = load_signs(language)
    return {name: signs[name] for name in ("mornings", "noons", "nights")}


def _is_out_of_force(words: LastingWords, later: LastingWords) -> bool:
    """Whether a later sentence about the same may change what is in force.

    Words that show a topic are no sign of the same: "the gate code", "the alarm code".
    """
    if words.last_day is not None and (_moves_near(words.last_day, later) or _versions(words) & _versions(later)):
        return True
    shared = (words.read.content & later.read.content) - load_common(words.read.language)
    if words.topic == later.topic or words.topic in later.named or {words.topic, later.topic} == {"codes", "home"}:
        return bool(shared - words.phrase - later.phrase) or (
            words.topic == "codes" and bool(words.phrase & later.phrase) and not (words.core and later.core)
        )
    if words.topic == "codes":
        shared -= _stems_of_codes(words)
    about = words.read.content - load_common(words.read.language)
    # "Now" and "not" tell news about an agreement or a day only with more than one shared word.
    return any(
        _is_about(about, clause.content)
        if words.topic != "codes" and clause.roles.isdisjoint(_CHANGES)
        else shared & clause.content
        for clause in later.read.clauses
        if clause.roles & _NEWS
    )


def _stems_of_codes(words: LastingWords) -> frozenset[str]:
    """Stems of the words with digits, which are values: "patraix-2026"."""
    coded = (word for word in words.read.tokens if any(map(str.isdigit, word)))
    return frozenset(stem for word in coded for stem in terms(word, words.read.language))


def _is_renewed(words: LastingWords, later: LastingWords) -> bool:
    """Whether later news gives another dose or holder of a post, or says that a thing is gone."""
    if words.topic in ("health", "medicines", "habits"):
        return is_new_dose(words.read, later.read)
    if words.topic in ("people", "current"):
        return is_post_changed(words.slot or words.read.content, later.read)
    return words.topic == "things" and is_thing_gone(words.read, later.gone, _signs_of_gone(words, later))


def _signs_of_gone(words: LastingWords, later: LastingWords) -> GoneSigns:
    signs = load_signs(words.read.language)
    over = () if later.read.words is None else (later.read.words.patterns["over"],)
    return GoneSigns((signs["lost"], *over), signs["stolen"], signs["places"])


def _is_renewed_unnamed(words: LastingWords, later: LastingWords) -> bool:
    """Whether later news gives a code or a dose and does not say of what: "It's 9922 now", "the doctor halved it"."""
    language = words.read.language
    doses = load_doses(language)
    if words.topic == "medicines" and later.ends_unnamed:
        return True
    if later.read.dates:
        return False
    if words.topic == "codes":
        news = (clause for clause in later.read.clauses if clause.roles & (_CHANGES | {"now"}))
        return any(names_code(clause.text) and _names_nothing(clause.content, language) for clause in news)
    if words.topic != "medicines" and not (words.topic == "health" and words.read.units & doses):
        return False
    # Without a dose only a doctor's news is about a dose.
    by_doctor = [clause.content for clause in later.read.clauses if "post" in clause.roles] if later.denied else []
    renewed = later.denied if later.read.units & doses else ()
    return any(_names_nothing(content, language) for content in (*renewed, *by_doctor))


def _names_nothing(content: frozenset[str], language: str) -> bool:
    return not content - load_unnamed(language)


def is_context_over(words: LastingWords, turn: str, later: Iterable[LastingWords]) -> bool:
    """Whether news is about what the turn of a dose names: "I take Ramipril. 5 mg at night."

    later: the sentences of the speaker since then.
    """
    if words.topic != "medicines":
        return False
    language = words.read.language
    about = read_text(turn, language).content - load_unnamed(language)
    return any(about & content for other in later for content in other.denied)


def _moves_near(day: date, later: LastingWords) -> bool:
    """Whether a sentence says that something moved to a day near another, in any year: "they moved us to the 8th"."""
    apart = (abs(day.toordinal() - last) % _DAYS_OF_YEAR for _, last in later.read.dates)
    near = any(min(days, _DAYS_OF_YEAR - days) <= MAX_DAYS_MOVED for days in apart)
    return near and any(map(later.read.has, _CHANGES))


def _versions(words: LastingWords) -> frozenset[str]:
    """Numbers with a point, as in "release 3.4"."""
    return frozenset(number for number in words.read.numbers if "." in number)


def _moves_habit(words: LastingWords, later: LastingWords) -> bool:
    """Whether a habit ended or has another day: "climbing is on Wednesdays, I stopped the Tuesdays"."""
    if later.read.person == "third" or words.content.isdisjoint(later.read.content):
        return False
    return any(map(later.read.has, _CHANGES)) or bool(later.read.weekdays - words.read.weekdays)


def _about(words: LastingWords) -> frozenset[str]:
    """Stems of what a sentence is about. "I'm vegan" holds a phrase alone, which is then what it is about."""
    if words.topic in SINGLE:
        return words.content or words.read.content
    if words.topic == "habits":  # what is done is part of the phrase: "I bake on Sundays"
        return words.core | (words.phrase & words.read.content)
    return words.core or words.content or words.read.content


def _is_new_value(words: LastingWords, later: LastingWords) -> bool:
    """Whether a later sentence repeats an earlier, or tells another value of a thing that has one."""
    if words.read.tokens == later.read.tokens or (words.slot and words.slot == later.slot):
        return True
    return words.topic in _RENEWED and not words.content.isdisjoint(later.content)


def _is_denied_by(words: LastingWords, later: LastingWords, about: frozenset[str]) -> bool:
    """Whether a later sentence denies what an earlier says, or says what that denies."""
    read = later.read
    if words.topic not in _MANY:
        core = words.core or about
        return any(
            ("negation" in clause.roles) != words.denies
            and core & clause.content
            and (words.denies or _is_about_same(words, clause.content))
            for clause in read.clauses
        )
    if read.person == "third":
        return False
    if words.denies:
        # "I can eat nuts again", and not "I bought nuts".
        same = later.topic == words.topic or not words.phrase.isdisjoint(later.stems)
        affirmed = (
            clause for clause in later.own if "negation" not in clause.roles and (same or "uses" in clause.roles)
        )
        return not _doubts(read) and any(about <= clause.content for clause in affirmed)
    # "I'm not allergic to nuts", and not "there are no nuts in it".
    same = about == words.read.content or not words.phrase.isdisjoint(later.stems)
    about = about | words.content
    denied = any("negation" in clause.roles and about & clause.content for clause in later.own)
    return same and denied and not _doubts(read)  # "I wish I wasn't allergic to nuts"


def describes(text: str, words: LastingWords) -> bool:
    """Whether a sentence describes the thing or pet of the sentence before it: "A blue Yaris.", "He's called Rex."

    It has an article of something new, a pronoun, a word for the thing or no function word, and names no other of its
    kind.
    """
    read, language = read_text(text, words.read.language), words.read.language
    stems = frozenset(terms(read.plain, language))
    if stems & _load_kept(language) - words.stems:
        return False
    new = None if read.words is None else read.words.patterns["indefinite"].match(read.plain)
    pronoun = read.others or pattern_of("objects", language).search(read.plain)
    listed = read.tokens and not stop_words(language).intersection(read.tokens)
    return bool(new or pronoun or listed or stems & _load_kept(language))


@cache
def _load_kept(language: str) -> frozenset[str]:
    """Stems of the animals and vehicles that people keep."""
    lists = load_lexicon(language).words
    listed = (*lists.get("animals", ()), *lists.get("vehicles", ()))
    return frozenset(stem for word in listed for stem in terms(word, language))


def needs_context(words: LastingWords) -> bool:
    """Whether a sentence is quoted with those around it: what is in force and habits of an unnamed subject.

    A code that is named needs no other words: "the alarm code is 2951".
    """
    if words.topic == "codes":
        return words.read.glued or not words.core
    if words.topic in IN_FORCE or words.announces_job:
        return True
    if words.topic == "work" and "work" in words.begins:
        return True
    drops = words.read.language in _DROPS_SUBJECT
    return not words.read.person and (words.topic == "habits" or (words.topic == "work" and not drops))


def opens_alone(text: str, words: LastingWords) -> bool:
    """Whether a sentence before a quoted one may begin the quotation: not "Binned it.", which ends another story."""
    read = read_text(text, words.read.language)
    return bool(read.names or read.numbers) or pattern_of("objects", words.read.language).search(read.plain) is None


def begins_with_phrase(words: LastingWords) -> bool:
    """Whether an agreement begins with the words that show it, and needs nothing before them: "New rule: ..."."""
    if words.topic != "rules":
        return False
    return load_topics(words.read.language)["rules"].match(words.read.plain) is not None


def corrects(text: str, language: str) -> bool:
    """Whether a sentence begins with words that correct the sentence before it: "No wait, York."."""
    clauses = read_text(text, language).clauses
    return any("corrected" in clause.roles for clause in clauses[:2])


def is_clear(quoted: str, topic: str, language: str) -> bool:
    """Whether a quotation of a topic says by itself whom it is about, and is no reply to another text.

    "She" is clear only with a name or a relation. Only habits and what is in force are quoted with other sentences.
    """
    if topic not in IN_FORCE and topic != "habits":
        return True
    read = read_text(quoted, language)
    if load_signs(language)["replies"].match(read.plain) or _means_unnamed(read):
        return False
    # "4 days, Wednesdays off, a pension" says not whose days.
    return topic != "habits" or read.glued or bool(read.person or read.relations or read.names)


def _means_unnamed(read: ReadText) -> bool:
    """Whether a pronoun means somebody whom no name and no relation shows."""
    return read.others and not read.names and not read.relations


def adds_no_claim(text: str, language: str, later: Iterable[LastingWords]) -> bool:
    """Whether a sentence may be quoted around another: no topic, and no later news about it.

    later: the sentences of the speaker since then.
    """
    lists = _load_lists(language)
    if lists is None or _find_topics(normalize_text(text), lists.topics, lists.signs):
        return False
    read = read_text(text, language)
    if _means_unnamed(read):
        return False
    about = read.content - load_common(language)
    return not any(
        (read.weekdays and words.read.weekdays and words.read.has("changed") and about & words.read.content)
        or (words.parts and read.relations & _PARTNERS)
        or any(clause.roles & _NEWS and _is_about(about, clause.content) for clause in words.read.clauses)
        for words in later
    )


def _is_about(about: frozenset[str], content: frozenset[str]) -> bool:
    """Whether a clause shares two words with a sentence, or all that the sentence has."""
    shared = about & content
    return len(shared) >= min(_MIN_SHARED, len(about)) > 0


def ends_alone(words: LastingWords, later: LastingWords) -> bool:
    """Whether a later sentence about a home or a job leaves no other beside it: "I work at Monzo now".

    "I work at Monzo" may name a second job, and "I also work at Monzo now" does.
    """
    read = later.read
    return not read.has("another") and (later.topic != words.topic or read.has("now") or read.has("hired"))


def tells_change(text: str) -> bool:
    """Whether a text says that something became so."""
    read = read_text(text, language_of(text))
    return any(map(read.has, ("changed", "moved", "hired", "scaled")))


def _width(text: str) -> int:
    return sum(2 if ord(sign) > 0x2E80 else 1 for sign in text)
