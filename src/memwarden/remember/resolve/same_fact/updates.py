"""Explicit updates: a statement that says itself that another is over, changed or wrong.

Nothing is concluded. A statement ends another only if it says so in words of the lexicon, about the same thing and the
same person, without any doubt: no wish, no plan, no past state. Everything else stays open.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final, NamedTuple

from memwarden.statements.explicit import NAMED_FIRST, ReadClause, ReadText, moves_thing, names_dwelling, stems_of_names
from memwarden.statements.homes import Home
from memwarden.statements.lasting import load_signs, names_quit
from memwarden.statements.reader import CommonWords, load_weights
from memwarden.statements.wording import find_mentions, subject_words
from memwarden.text.language import normalize_text
from memwarden.text.lexicon import all_words, load_lexicon
from memwarden.text.tokenizer import terms
from memwarden.text.update_words import UpdateWords

# Content words of the older statement beside the shared ones. One that says more is not ended as a whole.
MAX_UNSHARED: Final = 2
MAX_UNSHARED_SIGNS: Final = 4
# Clauses of an older statement. One that says more is not over because a part of it is.
MAX_OLD_CLAUSES: Final = 4
# Clauses of a statement whose change and what changed may be in different clauses: "the dentist rang, it's Monday".
MAX_BRIEF_CLAUSES: Final = 2
# Words of a value, or signs in a script without spaces. What is longer is a story.
MAX_VALUE_WORDS: Final = 4
MAX_VALUE_SIGNS: Final = 8
# Words behind a number that may be its unit.
MAX_UNIT_WORDS: Final = 2
# Content words of a clause that say something of their own.
MIN_OWN_CONTENT: Final = 2
# Words behind an article that belong to it: an adjective and a noun.
MAX_ARTICLE_WORDS: Final = 2
# Words in which a statement and its denial differ: "eats", "does not eat".
MAX_DENYING_WORDS: Final = 4
# Letters of a name that are compared at least, and those of an ending that are not.
MIN_STEM: Final = 3
MAX_ENDING: Final = 2
# Letters in which two words for a post agree, for example of a man and of a woman.
MIN_POST_STEM: Final = 3
# Words between a post and the name of who holds it: "is called", "is Dr".
MAX_LINK_WORDS: Final = 3
# Words that join a name to a post in front of it: "is my".
MIN_LINK_WORDS: Final = 2
# Signs of a name in a script without spaces.
MIN_GLUED_NAME: Final = 2
# Languages that begin a sentence with any of its parts, before the verb.
_VERB_SECOND: Final = ("de", "nl", "sv", "da")
# Roles whose words do not say which of several things is meant.
_NO_MODIFIERS: Final = ("over", "changed", "scaled", "corrected", "now", "moved", "hired", "single", "of")
# Days of a month.
MAX_DAY: Final = 31
# Relations to animals, which are things that somebody has.
_ANIMALS: Final = ("dog", "cat", "pet")
# Relations of which a person may have several, so that the word alone does not say who is meant.
_MANY_RELATIONS: Final = frozenset(
    f"relation:{name}"
    for name in (
        "neighbour", "colleague", "friend", "flatmate", "cousin", "sister", "brother", "son", "daughter", "child",
        "aunt", "uncle", "niece", "nephew", "sister-in-law", "brother-in-law", "grandmother", "grandfather",
        "grandparents", "teacher", "sibling",
    )
)  # fmt: skip
# Relations that are a post.
_POST_RELATIONS: Final = frozenset({"relation:boss"})
_WORD: Final = re.compile(r"\w[\w'’-]*")
_WORDS: Final = re.compile(r"[^\W\d_]+")
_POSSESSED: Final = re.compile(r"['’]|\s+(?:&|\+)")
_COLON: Final = re.compile(r"\s*[:=—–]\s")
# What ends the words before a clause. A full stop behind a short word is one of a title: "Dr. Kolb".
_CLAUSE_BEGIN: Final = re.compile(r"[,;:!?]\s|(?<=\w{5})\.\s")
_NUMBERS: Final = re.compile(r"\d+")
# Digits of a number that is a code, and no year.
_CODE: Final = re.compile(r"(?!(?:19|20)\d\d$)\d{4,}")


def find_update(old: ReadText, new: ReadText) -> str | None:
    """Return the rule by which a new statement ends an older one, None if both may be true."""
    if old.asks or new.asks or not new.clauses or old.language != new.language or old.has("doubt"):
        return None
    if not _have_same_subject(old, new):
        return None
    if len(old.clauses) > MAX_OLD_CLAUSES or _is_limited(old, new):
        return None
    if _tells_right_number(old, new):
        return "corrected"
    brief = len(new.clauses) <= MAX_BRIEF_CLAUSES
    for number, clause in enumerate(new.clauses):
        around = new.clauses[max(number - 1, 0) : number + 2]
        if _is_doubtful(clause, new) or _is_doubtful(around[0], new):
            continue
        near = frozenset[str]().union(*(each.content for each in around)) if brief else clause.content
        rule = _rule_of(clause, near, old, new)
        if rule is not None:
            return rule
    return None if new.has("doubt") else _denied(old, new) or _new_value(old, new)


def _is_limited(old: ReadText, new: ReadText) -> bool:
    """Whether a denial holds on some days of the week only: "no longer works nights on Fridays"."""
    return new.has("negation") and bool(new.weekdays) and not old.weekdays


def _is_doubtful(clause: ReadClause, text: ReadText) -> bool:
    """Whether a clause is in doubt. A day that is announced is none: "the wedding will be on 19 June instead"."""
    if (
        "doubt" not in clause.roles
        or text.words is None
        or "scheduled" not in clause.roles
        or not _has_digit(clause.text)
    ):
        return "doubt" in clause.roles
    patterns = text.words.patterns
    return patterns["doubt"].search(patterns["scheduled"].sub(" ", clause.text)) is not None


def _tells_right_number(old: ReadText, new: ReadText) -> bool:
    """Whether the speaker takes back the only number of the older statement: "I said 2580: it is 2850".

    A code says by itself what it is the number of, any other number needs another word of the statement.
    """
    right = new.counted - old.counted
    if new.words is None or new.glued or len(old.counted) != 1 or len(right) != 1 or new.has("negation"):
        return False
    numbered = [clause for clause in new.clauses if _has_digit(clause.text)]
    (wrong,), content = old.counted, {stem for each in numbered for stem in each.content if len(stem) > 1}
    for clause in numbered:
        hit = new.words.patterns["said"].search(clause.text) if "said" in clause.roles else None
        if hit is None or wrong not in _NUMBERS.findall(clause.text):
            continue
        rest = " ".join(each.text for each in numbered).replace(hit[0], " ")
        named = bool(content) or _CODE.fullmatch(wrong) is not None
        return named and content <= old.content and new.words.patterns["doubt"].search(rest) is None
    return False


def _rule_of(clause: ReadClause, near: frozenset[str], old: ReadText, new: ReadText) -> str | None:
    roles, shared = clause.roles, _shared(old, near)
    if (rule := _ends_named(clause, old, new)) is not None:
        return rule
    if "contrast" in roles and _denies_value(clause, shared, old, new):
        return "corrected"
    shared -= _of_new_things(clause, new)
    if not roles & {"corrected", "over"}:
        # A unit is no subject: a rent in euros and a fee in euros share nothing.
        shared -= old.units & new.units
    if not _mean_same_one(shared & old.singles, old, new) or _mean_others(shared, old, new):
        return None
    if _belongs_to_other(shared, old, new) or _belongs_to_other(shared, new, old):
        return None
    told_change = old.has("over") or old.has("changed")
    if "now" in roles and _has_value_now(clause, old, new):
        return "value now"
    if shared and "now" in roles and _have_other_days(old, new, near):
        return "value now"
    if shared and "corrected" in roles and _tell_other_values(old, new):
        return "corrected"
    is_over = "over" in roles or ("left" in roles and old.has("work"))
    said_over = shared and is_over and not told_change and not _is_only_place(clause, shared, old, new)
    if (said_over or (_quits(clause, old) and not _tells_hour(clause, new))) and _says_no_more(
        old, new, shared, clause.content
    ):
        return "over"
    if shared and "changed" in roles and _tell_other_values(old, new) and not (told_change and old.days == new.days):
        return "changed"
    if shared and "scaled" in roles and old.numbers and new.numbers and old.numbers != new.numbers:
        # "Rent in Berlin is now 1,500 euros on average" says nothing of my rent.
        general = not (new.glued or new.days or new.person == "self") and len(new.content - old.content) > 1
        return None if general else "scaled"
    told_of_other = old.first_name and _is_named((old.first_name,), new)
    if _is_of_relative(old, new):
        told_of_other = True
    elif old.relations != new.relations:
        return None
    if not (told_of_other or (old.person == "third") or _may_be_speaker(new)):
        return None
    # "I quit, took a break, and then started at Bosch".
    told_to_leave = "hired" in roles and any("left" in each.roles for each in new.clauses)
    if (len(new.clauses) > MAX_BRIEF_CLAUSES and not told_to_leave) or len(old.clauses) > 1 or _joins_two(old):
        return None
    moved = "moved" in roles or ("arrived" in roles and "home" not in roles and new.has("home"))
    if moved and old.has("home") and not old.has("moved") and _names_place(roles, old, new):
        return None if moves_thing(clause, new, old.content) else "moved"
    if "hired" in roles and old.has("work") and not old.has("hired"):
        return "hired"
    return None


def _is_of_relative(named: ReadText, other: ReadText) -> bool:
    """Whether a text is about a relative whom the other names: "my sister Orla", "Orla has moved"."""
    if not other.first_name or other.glued or other.relations or len(named.relations) != 1:
        return False
    if named.relatives != {other.first_name} or _POSSESSED.match(other.plain, len(other.first_name)):
        return False
    # "Tom Baker" may be another Tom than a brother.
    return other.language == "de" or other.tokens[1:2] == () or other.tokens[1] not in other.capitals


def _of_new_things(clause: ReadClause, text: ReadText) -> frozenset[str]:
    """Stems that follow an article of things that were not named before: "a dentist moved in" is not my dentist."""
    if text.words is None or text.glued:
        return frozenset()
    stems: set[str] = set()
    for hit in text.words.patterns["indefinite"].finditer(clause.text):
        behind = clause.text[hit.end() :].split()[:MAX_ARTICLE_WORDS]
        stems.update(stem for word in behind for stem in terms(word, text.language))
    return frozenset(stems)


def _have_other_days(old: ReadText, new: ReadText, near: frozenset[str]) -> bool:
    """Whether both say the same of different days: "the choir meets on Mondays", "it meets on Fridays now"."""
    same = bool(old.content) and old.content == near and old.relations == new.relations
    return same and bool(old.weekdays and new.weekdays - old.weekdays)


def _joins_two(text: ReadText) -> bool:
    """Whether a text says two things, and is not over as a whole with one: "I live in Rome and drive a Vespa"."""
    joins = None if text.words is None or text.glued else text.words.patterns.get("joins")
    return joins is not None and joins.search(text.plain) is not None


def _mean_same_one(stems: frozenset[str], old: ReadText, new: ReadText) -> bool:
    """Whether neither text says of things with one value which one is meant, or the other says it too."""
    pairs = ((modifiers_of(stems, old), new), (modifiers_of(stems, new), old)) if stems else ()
    return all(word in text.content or (text.glued and word in text.plain) for words, text in pairs for word in words)


def _mean_others(stems: frozenset[str], old: ReadText, new: ReadText) -> bool:
    """Whether each text says which thing it means, and not the same: "a piano lesson", "the swimming lesson"."""
    return bool(_strange_modifiers(stems, new, old) and (new.glued or _strange_modifiers(stems, old, new)))


def _strange_modifiers(stems: frozenset[str], text: ReadText, other: ReadText) -> frozenset[str]:
    """Modifiers of stems in a text that the other does not hold."""
    missing = modifiers_of(stems, text) - other.content
    return frozenset(word for word in missing if not (text.glued and word in other.plain))


def modifiers_of(stems: frozenset[str], text: ReadText) -> frozenset[str]:
    """Return stems of the words that say which thing is meant: "garage rent", "the rent of the garage"."""
    if text.words is None:
        return frozenset()
    if text.glued:
        return frozenset(hit for stem in stems for hit in _glued_modifiers(stem, text, text.words))
    modifiers: set[str] = set()
    for place, token in enumerate(text.tokens):
        if not stems.intersection(terms(token, text.language)):
            continue
        behind = text.tokens[place + 1 :]
        nearby = (*text.tokens[max(place - 1, 0) : place], *_joined(behind, text))
        modifiers.update(stem for word in nearby if _tells_which(word, text) for stem in terms(word, text.language))
    return frozenset(modifiers) - stems


def _belongs_to_other(stems: frozenset[str], text: ReadText, other: ReadText) -> bool:
    """Whether a text joins a name to a thing that the other does not name: "the gym of Marta"."""
    for place, token in enumerate(text.tokens if not text.glued else ()):
        if stems.intersection(terms(token, text.language)):
            owners = [word for word in _joined(text.tokens[place + 1 :], text) if word in text.capitals]
            if any(word not in other.tokens for word in owners):
                return True
    return False


def _glued_modifiers(stem: str, text: ReadText, words: UpdateWords) -> list[str]:
    """What a script without spaces joins to a word, other than the speaker."""
    plain = words.patterns["now"].sub(" ", text.plain)
    of, link = words.patterns["of"].pattern, words.patterns["link"].pattern
    hits = re.findall(rf"((?:(?!{of}|{link})[\w]){{1,6}})(?:{of}){re.escape(stem)}", plain)
    return [hit for hit in hits if not (_is_speaker(hit) or words.patterns["post"].fullmatch(hit))]


def _joined(behind: Sequence[str], text: ReadText) -> Sequence[str]:
    """The first word behind "of", without articles. Russian joins by case."""
    if behind and text.words is not None and text.words.patterns["of"].fullmatch(behind[0]):
        return [token for token in behind[1:] if not text.is_grammar(token)][:1]
    return behind[:1] if text.language == "ru" else ()


def _tells_which(token: str, text: ReadText) -> bool:
    patterns = text.words.patterns if text.words is not None else {}
    known = any(patterns[role].search(token) for role in _NO_MODIFIERS if role in patterns)
    empty = token in text.day_tokens or _has_digit(token) or _is_speaker(token)
    return not (known or empty or text.is_grammar(token))


def _is_speaker(words: str) -> bool:
    return any(each.sort == "self" for each in find_mentions(words, ()))


def _ends_named(clause: ReadClause, old: ReadText, new: ReadText) -> str | None:
    """A named partner or holder of a post who is one no more: "my boss is Kai", "Kai retired"."""
    for over, role in (("parted", "partner"), ("left", "post")):
        if over in clause.roles and _names_again(value_of(role, old), clause, new):
            return over
    return None


def value_of(role: str, text: ReadText) -> Sequence[str]:
    """Return the words of the name that a text gives to a role: "kai", "lim" of "my boss is called Kai Lim"."""
    if text.words is None or text.person == "third":
        return ()
    hit = text.words.patterns[role].search(text.plain)
    if hit is None:
        return ()
    if text.glued:
        of, link = text.words.patterns["of"].pattern, text.words.patterns["link"].pattern
        pattern = rf"[^，、。]{{0,4}}?(?:{link})(?:[^，、。]{{0,4}}(?:{of}))?([^，、。]{{2,}})"
        linked = re.match(pattern, text.plain[hit.end() :])
        return (linked[1],) if linked is not None else ()
    behind = _WORDS.findall(text.plain[hit.end() :])
    place = next((place for place, word in enumerate(behind) if word in text.capitals), MAX_LINK_WORDS + 1)
    # "My boss Kai said", but "engaged to Kai".
    begin = 0 if role == "partner" or _COLON.match(text.plain, hit.end()) else 1
    if begin <= place <= MAX_LINK_WORDS and _link_all(behind[:place], role, text):
        return list(itertools.takewhile(text.capitals.__contains__, behind[place:]))
    return _value_before(text, hit) if role == "post" else ()


def _value_before(text: ReadText, post: re.Match[str]) -> Sequence[str]:
    """Return the name of a clause that says only who holds a post: "aisha" of "Aisha is my boss now".

    "Ada works for my boss", "in Leeds is my boss", "Ada is my boss's lawyer" and "Ada is with my boss" name no holder.
    """
    own, called = _load_holding(text.language)
    before, behind = (
        _WORDS.findall(side)
        for side in (_CLAUSE_BEGIN.split(text.plain[: post.start()])[-1], text.plain[post.end() :].partition(". ")[0])
    )
    if text.words is None or not own or _POSSESSED.match(text.plain, post.end()):
        return ()
    name = list(itertools.takewhile(text.capitals.__contains__, before))
    now = text.words.patterns["now"].fullmatch
    link = [word for word in before[len(name) :] if now(word) is None]
    if len(link) < MIN_LINK_WORDS or link[-1] not in own or not set(link[:-1]) <= called:
        return ()
    # German begins sentences with anything: "Krank ist mein Chef jetzt".
    rest = behind if text.language in _VERB_SECOND else [word for word in behind if now(word) is None]
    return name if not rest and _may_name(name, text) else ()


def _may_name(name: Sequence[str], text: ReadText) -> bool:
    """Whether capitalised words are a name: none is a function word, a day or month, and one no title."""
    titles = load_lexicon(text.language).words.get("titles", ())
    parts = [word for word in name if word not in titles]
    return bool(parts) and not any(
        text.is_grammar(word) or word in _load_calendar() or word in _common() for word in parts
    )


@cache
def _common() -> CommonWords:
    return CommonWords(load_weights().common)


@cache
def _load_calendar() -> frozenset[str]:
    return frozenset(normalize_text(word) for role in ("months", "weekdays") for word in all_words(role))


@cache
def _load_holding(language: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words for "my" of a language and those that join a name to a post, both empty without a list."""
    lasting = load_lexicon(language).lasting
    own, called = (_WORDS.findall(normalize_text(lasting.get(key, ""))) for key in ("own", "is_called"))
    return frozenset(own), frozenset(called)


def _link_all(words: Sequence[str], role: str, text: ReadText) -> bool:
    """Whether words join a post or a partner to a name: "is now called". "Is in" joins a post to a place."""
    called = _load_holding(text.language)[1] if role == "post" else frozenset[str]()
    grammar = [word for word in words if len(word) == 1 or text.is_grammar(word)]
    return all(_links(word, text) for word in words) and (not called or called.issuperset(grammar))


def _links(word: str, text: ReadText) -> bool:
    patterns = text.words.patterns if text.words is not None else {}
    known = any(patterns[role].fullmatch(word) for role in ("single", "now") if role in patterns)
    return len(word) == 1 or known or text.is_grammar(word)


def _names_again(value: Sequence[str], clause: ReadClause, new: ReadText) -> bool:
    """Whether a clause holds a name, in any case of the language: the last word of it, without a title."""
    if not value:
        return False
    if new.glued:
        return value[0][:MIN_GLUED_NAME] in clause.text
    return any(word[: max(MIN_STEM, len(word) - MAX_ENDING)] in clause.text for word in value if len(word) >= MIN_STEM)


def _denies_value(clause: ReadClause, shared: frozenset[str], old: ReadText, new: ReadText) -> bool:
    """Whether a clause denies the number or the name of the older statement and gives another: "gate 7, not 9"."""
    if new.words is None or new.glued:
        return False
    others = [token for token in new.tokens[1:] if token not in old.tokens]
    for hit in new.words.patterns["contrast"].finditer(clause.text):
        behind = [token for token in clause.text[hit.end() :].split()[:MAX_LINK_WORDS] if not new.is_grammar(token)]
        value = behind[0] if behind else ""
        denied = frozenset(terms(value, old.language))
        # "Jonas lives in Lübeck, not Kiel": he and the home are what both are about.
        of_one = old.subject_stems & new.subject_stems if old.singles & new.singles else frozenset[str]()
        if value not in old.tokens[1:] or not (shared - denied or of_one) or old.content - shared - denied - of_one:
            continue
        if _has_digit(value) and any(map(_has_digit, others)):
            return True
        if value in old.capitals and old.language != "de" and any(token in new.capitals for token in others):
            return True
    return False


def _has_value_now(clause: ReadClause, old: ReadText, new: ReadText) -> bool:
    """Whether both name the holder of one post, and not the same."""
    if not {"post", "now"} <= clause.roles or not _name_holders(old, new):
        return False
    if _names_again(value_of("post", old), clause, new):
        return False
    return _mean_same_one(old.singles & new.singles, old, new)


def _name_holders(old: ReadText, new: ReadText) -> bool:
    """Whether both name the holder of one post."""
    if not (value_of("post", old) and value_of("post", new)):
        return False
    # "Jefe" and "jefa" are one post.
    first, second = (
        {hit[0][:MIN_POST_STEM] for hit in text.words.patterns["post"].finditer(text.plain)}
        for text in (old, new)
        if text.words is not None
    )
    return not first.isdisjoint(second)


def _shared(old: ReadText, near: frozenset[str]) -> frozenset[str]:
    """Content words of both that name a thing.

    Of a thing that people have many of, the word alone names none of them. A word for a person says whose a thing is,
    and not which: "my father smokes", "my father no longer drives".
    """
    shared = (old.content & near) - old.subject_stems
    # A single sign names no thing: "c" of "c'est", or "morning" in a script without spaces.
    shared = frozenset(stem for stem in shared if len(stem) > 1)
    empty = old.heads | _persons(old)
    whole = old.content <= near or not (old.content - shared)
    return shared if whole or shared - empty else frozenset()


def _persons(text: ReadText) -> frozenset[str]:
    """Stems of words for persons, without those for a post whose holder the text names."""
    stems = _load_persons(text.language)
    if text.words is None or not value_of("post", text):
        return stems
    posts = text.words.patterns["post"].finditer(text.plain)
    return stems - frozenset(stem for hit in posts for stem in terms(hit[0], text.language))


@cache
def _load_persons(language: str) -> frozenset[str]:
    """Stems of the words of a language for relatives, other persons around the speaker, and the speaker."""
    lexicon = load_lexicon(language)
    kin = (word for relation, words in lexicon.kin.items() if relation not in _ANIMALS for word in words)
    return frozenset(stem for word in (*kin, *lexicon.words.get("speaker", ())) for stem in terms(word, language))


def _says_no_more(old: ReadText, new: ReadText, shared: frozenset[str], told: frozenset[str]) -> bool:
    """Whether an older statement says nothing of its own beside what is over: no number, no date, no name.

    told: what the clause that says so is about. "Uses Vim for code" does not end with "stopped using Vim for mail".
    """
    rest, other = old.content - shared, told - old.content - stems_of_names(new)
    if rest and other and shared & told and not old.glued:
        return False
    # "Allergic to kiwi and cashews" holds of cashews, if kiwi is over.
    if rest and _joins_two(old):
        return False
    # "I see a physio", "the school no longer offers physio": somebody else's.
    if old.person != "third" and new.person != "self" and len(other) >= MIN_OWN_CONTENT:
        return False
    most = MAX_UNSHARED_SIGNS if old.glued else MAX_UNSHARED
    return len(rest) <= most and old.numbers <= new.numbers and old.dates <= new.dates and not old.names & rest


def _quits(clause: ReadClause, old: ReadText) -> bool:
    """Whether the speaker left the employer of the older statement, and tells nothing else: "I left Barclays"."""
    hit = old.words.patterns["work"].search(old.plain) if old.words is not None and not old.glued else None
    if hit is None:
        return False
    employer = frozenset(terms(old.plain[hit.end() :], old.language)[:1])
    return bool(employer) and names_quit(clause.text, old.language) == employer


def _is_only_place(clause: ReadClause, shared: frozenset[str], old: ReadText, new: ReadText) -> bool:
    """Whether a clause ends another thing at the place of a home or a job: "I sold my car in Leeds"."""
    at_work = old.has("work")
    if at_work and "left" in clause.roles:
        # "I resigned from my job at Solvia", but "the CEO resigned from Solvia", "I left the choir of Solvia".
        told = clause.content - old.content - _stems_of_role("work", clause, new)
        if new.glued:  # pieces of two characters overlap with those that both texts have
            told = frozenset(piece for piece in told if set(piece).isdisjoint("".join(old.content)))
        return bool(told) or _tells_hour(clause, new)
    if clause.roles & {"home", "work"} or names_dwelling(clause, shared, new):
        return False
    if not (at_work or old.has("home") or _is_behind_place(shared, clause, new)):
        return False
    return bool(clause.content - old.content - stems_of_names(new)) or (at_work and _tells_hour(clause, new))


def _stems_of_role(role: str, clause: ReadClause, text: ReadText) -> frozenset[str]:
    hits = text.words.patterns[role].finditer(clause.text) if text.words is not None else ()
    return frozenset(stem for hit in hits for stem in terms(hit[0], text.language))


def _tells_hour(clause: ReadClause, text: ReadText) -> bool:
    """Whether a clause has a number of no day, which may be a time: "I left Siemens at six"."""
    numbers = text.words.numbers if text.words is not None else {}
    words = clause.text.split()
    return any(word in numbers and word not in text.day_tokens for word in words) or not text.counted.isdisjoint(
        _NUMBERS.findall(clause.text)
    )


def _is_behind_place(stems: frozenset[str], clause: ReadClause, text: ReadText) -> bool:
    """Whether all words of a clause with some stems are names behind a word for a place: "the meeting in Leeds"."""
    if text.glued or text.language == "de":
        return False
    places = load_signs(text.language)["places"]
    hits = [hit for hit in _WORDS.finditer(clause.text) if stems.intersection(terms(hit[0], text.language))]
    begins = (clause.text[: hit.start()].rstrip().rpartition(" ")[2] for hit in hits)
    named = all(hit[0] in text.capitals for hit in hits)
    return bool(hits) and named and all(places.fullmatch(begin) for begin in begins)


def _tell_other_values(old: ReadText, new: ReadText) -> bool:
    """Whether both tell a day, a number or words of their own, and not the same; not if the older one says more."""
    if not old.glued and len(old.content - new.content) > MAX_VALUE_WORDS:
        return False
    if old.days and new.days and old.days != new.days:
        # The call with Bea is not the call with Kai, and ticket 17 is not ticket 18.
        return _hold_one_another(old.names, new.names) and _hold_one_another(old.counted, new.counted)
    if old.numbers or new.numbers:
        if old.days and not new.days and not old.counted and any(int(number) > MAX_DAY for number in new.counted):
            return False  # A day of the older statement is no amount: "while the opening is postponed I pay 4800".
        return bool(old.numbers and new.numbers) and old.numbers != new.numbers
    return bool(old.content - new.content) and bool(new.content - old.content)


def _hold_one_another(first: frozenset[str], second: frozenset[str]) -> bool:
    return first <= second or second <= first


def _have_same_subject(old: ReadText, new: ReadText) -> bool:
    """Whether both may be about the same person: no other relative, no other name, not I and she."""
    if {old.person, new.person} == {"self", "third"} or _names_another(old, new):
        return False
    # "My boyfriend is Declan", "Declan and I split up": the name says who is meant.
    values = frozenset((*value_of("post", old), *value_of("partner", old)))
    named = _is_named({name[:MIN_GLUED_NAME] if old.glued else name for name in (*old.names, *values)}, new)
    # "Chefin" is a word for one person, "Chef" is another word in other languages.
    holders = old.relations ^ new.relations <= _POST_RELATIONS and _name_holders(old, new)
    if old.relations != new.relations and not (holders or (new.relations < old.relations and named)):
        return False
    names = set(old.subject_names) | ({old.first_name} if old.language in NAMED_FIRST else set())
    names = {name for name in names if not any(name in value or value in name for value in values)}
    if names - {""} and not _is_named(names - {""}, new):
        return False
    names = set(new.subject_names) | ({new.first_name} if new.language in NAMED_FIRST else set())
    values = frozenset(value_of("post", new))
    names = {name for name in names if not any(name in value or value in name for value in values)}
    return new.person == "self" or all(_is_named((name,), old) for name in names - {""})


def _names_another(old: ReadText, new: ReadText) -> bool:
    """Whether a statement begins with somebody whom the older does not name: "Giulia sold her car"."""
    if new.glued:
        words = new.words
        link = words.patterns["link"].search(new.plain) if words is not None and new.language == "ja" else None
        subject = new.plain[: link.start()] if link is not None else ""
        parts = set(terms(subject, new.language))
        return bool(parts) and not (parts & set(terms(old.plain, old.language)) or _is_speaker(subject))
    return new.person == "third" and new.first_name != "" and not _is_named((new.first_name,), old)


def _names_place(roles: frozenset[str], old: ReadText, new: ReadText) -> bool:
    """Whether a move may be one of a home: to a name, in a script with capitals, and not that of a company."""
    if "premises" in roles:
        return False
    return "work" not in roles if new.glued else bool(new.capitals - old.capitals - {new.first_name, new.tokens[0]})


def _may_be_speaker(new: ReadText) -> bool:
    """Whether a statement that shares no word with the older one is about whoever speaks, and names nobody else."""
    return new.person != "third" and (new.person == "self" or not (new.first_name or new.subject_names))


def _is_named(names: Iterable[str], text: ReadText) -> bool:
    """Whether a text holds one of the names, in any case of a language that inflects them."""
    return any(name[: max(MIN_STEM, len(name) - MAX_ENDING)] in text.plain for name in names)


def _denied(old: ReadText, new: ReadText) -> str | None:
    """The same words, denied by one of the two."""
    same = old.content == new.content and old.numbers == new.numbers and old.days == new.days
    few = len(set(old.tokens) ^ set(new.tokens)) <= MAX_DENYING_WORDS
    return "denied" if same and few and old.content and old.has("negation") != new.has("negation") else None


class ValueGap(NamedTuple):
    """The single place where two statements differ."""

    before: str
    old: Sequence[str]
    new: Sequence[str]
    after: str


def _have_other_homes(old: ReadText, before: Home, new: ReadText, after: Home) -> bool:
    """Whether both give the home of one person, after the same words: "I live at 3 Row Lane in Leeds"."""
    if old.has("negation") != new.has("negation") or before.before != after.before or not _is_of_one(old, before):
        return False
    if old.glued:
        return before.after == after.after
    return _ends_with_town(old, before) and _ends_with_town(new, after)


def _is_of_one(text: ReadText, home: Home) -> bool:
    """Whether a home is that of the speaker, a relative or a name, and no other noun is before it.

    "My student", "a customer" and "the plumber" may be several persons.
    """
    named = text.relatives | ({text.first_name} - {""} if text.language in NAMED_FIRST else frozenset())
    if not (text.person == "self" or named or text.relations) or text.words is None:
        return False
    frame = f"{home.before} {home.after}" if text.glued else home.before
    frame = text.words.patterns["housed"].sub(" ", frame)
    lexicon = load_lexicon(text.language)
    kin = (word for words in lexicon.kin.values() for word in words)
    known = {*named, *kin, *lexicon.words.get("speaker", ()), *subject_words().self}
    if text.glued:
        longest = sorted(known, key=len, reverse=True)
        rest = re.sub("|".join(map(re.escape, longest)), "", frame)
        rest = text.words.patterns["of"].sub("", rest)
        return all(map(text.is_grammar, "".join(_WORD.findall(rest))))
    words = (word.removesuffix("'s").rstrip("'") for word in _WORD.findall(frame))
    return all(len(word) == 1 or word in known or text.is_grammar(word) for word in words)


def _ends_with_town(text: ReadText, home: Home) -> bool:
    """Whether only the name of a town follows an address."""
    words = _WORD.findall(home.after)
    return len(words) <= MAX_VALUE_WORDS and all(
        len(word) == 1 or word in text.capitals or word.isdigit() or text.is_grammar(word) for word in words
    )


def _new_value(old: ReadText, new: ReadText) -> str | None:
    """The same sentence with another value of what has one value at a time."""
    # A person may have two neighbours.
    if (old.relations | new.relations) & _MANY_RELATIONS and not (old.relatives and old.relatives == new.relatives):
        return None
    if old.home is not None and new.home is not None and old.home.street != new.home.street:
        return "new value" if _have_other_homes(old, old.home, new, new.home) else None
    if old.has("several") or new.has("several") or old.has("negation") != new.has("negation"):
        return None
    gap = find_gap(old, new)
    if gap is None or old.words is None:
        return None
    # "A customer's phone number is 555 1234": the next may be another customer.
    if not old.glued and old.words.patterns["indefinite"].match(old.plain):
        return None
    # The value follows what it is a value of, but for verbs at the end of a sentence.
    frame = f"{gap.before} {gap.after}" if old.glued else gap.before
    holds = {role for role in ("single", "worded", "dated") if old.words.patterns[role].search(frame)}
    if "dated" in holds and set(gap.old) <= old.day_tokens and set(gap.new) <= new.day_tokens:
        return "new value"
    if old.days or new.days:
        return None
    numbered = [frozenset(word for word in side if _has_digit(word)) for side in (gap.old, gap.new)]
    if all(numbered):
        same_unit = set(gap.old) - numbered[0] == set(gap.new) - numbered[1]
        rest = gap.after if old.glued else gap.after.split()
        at_end = "single" in holds and len(rest) <= MAX_UNIT_WORDS and not any(map(old.is_grammar, rest))
        return "new value" if same_unit and (at_end or "worded" in holds) else None
    if any(numbered):
        return None
    named = old.language != "de" and _holds_name(old, gap.old) and _holds_name(new, gap.new)
    return "new value" if "worded" in holds or ("single" in holds and named) else None


def _holds_name(text: ReadText, side: Sequence[str]) -> bool:
    """Whether a value is a name or an address."""
    return any(token in text.capitals or "@" in token for token in side)


def _has_digit(word: str) -> bool:
    return any(sign.isdigit() for sign in word)


def find_gap(old: ReadText, new: ReadText) -> ValueGap | None:
    """Return the single place where two statements differ, None if either has nothing or a story there."""
    first, second = old.tokens, new.tokens
    head = 0
    while head < min(len(first), len(second)) and first[head] == second[head]:
        head += 1
    tail = 0
    while tail < min(len(first), len(second)) - head and first[-1 - tail] == second[-1 - tail]:
        tail += 1
    sides = first[head : len(first) - tail], second[head : len(second) - tail]
    joint = "" if old.glued else " "
    most = MAX_VALUE_SIGNS if old.glued else MAX_VALUE_WORDS
    if not head or not all(0 < len(side) <= most for side in sides):
        return None
    # "Mon chef est à Lyon" is no value: a single letter is grammar.
    if any(old.is_grammar(word) or (not old.glued and len(word) == 1 and word.isalpha()) for word in sum(sides, ())):
        return None
    return ValueGap(joint.join(first[:head]), *sides, joint.join(first[len(first) - tail :]))
