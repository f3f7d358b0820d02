"""Finds whom a clause is about, and words it as that person would say it; introductions and ages, by written rules."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Final, NamedTuple

from memwarden.text.language import UNSPACED_SIGN, has_capital_nouns, language_of
from memwarden.text.lexicon import all_words, either_of, languages, load_lexicon, pattern_of
from memwarden.text.question_words import opens_as_question
from memwarden.text.sentences import ends_abbreviation
from memwarden.text.streets import find_streets
from memwarden.text.tokenizer import stop_words

# More of a text is not looked at.
MAX_SIGNS: Final = 400

SELF: Final = "self"
ASSISTANT: Final = "assistant"
# So far from "my" the relation may stand that it means.
NEAR_SIGNS: Final = 22
# So far a name and a relation may stand apart and mean the same person ("my sister Ana").
BESIDE_SIGNS: Final = 16
# A name that stands later in a statement is seldom whom it is about ("moved to Porto"); in a question it often is.
NAME_SIGNS: Final = 14

_NAME_WORD: Final = re.compile(r"[A-Za-zÀ-ÿœŒЀ-ӿ]+(?:['’][A-Za-zÀ-ÿ]+)?")
_WORD_BEFORE: Final = re.compile(r"([A-ZÀ-Þ][\w'’-]*)\s$")
_WORD_AFTER: Final = re.compile(r"\s([A-ZÀ-Þ][\w'’-]*)")
# How far before a word the end of a sentence is looked for.
_MAX_BEFORE_NAME: Final = 12
_SENTENCE_END: Final = re.compile(r"[.!?:;\n]")
_SENTENCE_START: Final = re.compile(r"(?:^|[.!?:\n])\s*[\"'“(¿¡]*$")
_BEFORE_PLACE: Final = re.compile(
    r"\b(?:to|in|at|from|with|of|for|by|near|into|on|via|nach|bei|mit|von|aus|zu|en|a|de|con|por|para|à|au|chez|avec|dans)"
    r"\s+(?:the\s+)?$",
    re.IGNORECASE,
)
# "Where did I live before Porto?" asks about no Porto.
_AFTER_TIME: Final = re.compile(
    r"\b(?:before|after|since|until|vor|nach|seit|bis|antes de|después de|desde|hasta|avant|après|depuis)\s+$",
    re.IGNORECASE,
)
# "Sold the Polo", "the old Polo" and "mi Polo" name a thing.
_AFTER_ARTICLE: Final = re.compile(
    r"\b(?:the|a|an|my|our|his|her|their|el|la|los|las|un|una|mi|nuestro|nuestra|le|les|une|mon|ma|notre)\s+"
    rf"(?:(?:{either_of(['old_or_new'])})\s+)?$",
    re.IGNORECASE,
)
# "He dejado" is "I have left" in Spanish, no man.
_HAVE: Final = re.compile(r"he\s+(?:\w{2,}(?:ado|ido|cho|sto|rto|lto)|ido)\b", re.IGNORECASE)
# "Aino and I moved" is about both.
_AND_I: Final = re.compile(r"\s+(?:and|und|y|et)\s+(?:I|me|ich|yo|moi)\b")
# "Living with my wife".
_COMPANY: Final = re.compile(r"\b(?:with|mit|con|avec)\s+$", re.IGNORECASE)
_ANIMALS: Final = ("relation:dog", "relation:cat", "relation:pet")
# "我在小学当老师" tells of a job, "私は先生です" too.
_NOT_OWNED: Final = re.compile(r"[はがも在是当做和跟成]")


class SubjectWords(NamedTuple):
    """The word lists. relations: each word with the first word of its line. broader: what each is part of."""

    self: frozenset[str]
    you: frozenset[str]
    third: frozenset[str]
    possessive: frozenset[str]
    relations: dict[str, str]
    broader: dict[str, tuple[str, ...]]
    large: frozenset[str]
    nobody: frozenset[str]
    unspaced: tuple[tuple[str, str, str], ...]
    """Words of languages without blanks, the longest first: word, sort and key."""


class Mention(NamedTuple):
    start: int
    shortness: int
    sort: str
    key: str


@cache
def subject_words() -> SubjectWords:
    """Return the word lists, read once."""
    read = tomllib.loads(files(__package__).joinpath("subjects.toml").read_text(encoding="utf-8"))
    lists = {name: frozenset(words.split()) for name, words in read["pronouns"].items()}
    relations = {
        word: relation for code in languages() for relation, words in load_lexicon(code).kin.items() for word in words
    }
    unspaced = [
        (word, "relation", f"relation:{first}") for word, first in relations.items() if UNSPACED_SIGN.search(word)
    ]
    for sort in ("self", "third", "you"):
        unspaced += [(word, sort, sort) for word in lists[sort] if UNSPACED_SIGN.search(word)]
    unspaced.sort(key=lambda entry: -len(entry[0]))
    return SubjectWords(
        lists["self"],
        lists["you"],
        lists["third"],
        lists["possessive"],
        relations,
        {narrow: tuple(wide.split()) for narrow, wide in read["broader"].items()},
        frozenset(read["large"]["words"].split()),
        frozenset(read["nobody"]["words"].split()),
        tuple(unspaced),
    )


def subjects_of(
    text: str, speaker: str | None = None, role: str | None = "user", common: Collection[str] = frozenset()
) -> tuple[str, ...]:
    """Return the keys of whom a clause is about: "self", "name:ana", "relation:sister"; sorted, empty for nobody.

    speaker: the name of who says it; "self" then stands beside that name. In an assistant's words "you" is the user.
    common: words in lower case that are nobody's name although a sentence begins with them.
    """
    text = text[:MAX_SIGNS]
    return subjects_among(text, sorted(find_mentions(text, common)), speaker, role)


def subjects_among(text: str, found: list[Mention], speaker: str | None, role: str | None) -> tuple[str, ...]:
    # Chats drop the subject: "moved last week", "works fine now". The speaker is meant more often than not.
    if not found:
        return keys_of_speaker(speaker) if role != ASSISTANT else ()
    first = _meant(text.lower(), found)
    if first.sort == "you":
        return (SELF,) if role == ASSISTANT else ()
    if first.sort == "self":
        return keys_of_speaker(speaker) if role != ASSISTANT else ()
    if first.sort == "third":
        return ("third",)
    near = {mention.key for mention in _beside(first, found)}
    # German writes every noun large: each may be the name that a question is about.
    if first.sort == "name" and _asks_in_german(text):
        near |= {mention.key for mention in found if mention.sort == "name"}
    with_me = role != ASSISTANT and (
        any(_AND_I.match(text, each.start - each.shortness) for each in found) or _with_me(text, found, first)
    )
    return tuple(sorted({first.key, *near, *(keys_of_speaker(speaker) if with_me else ())}))


def _beside(first: Mention, found: list[Mention]) -> list[Mention]:
    """The name beside a relation, the relation beside a name: "my sister Ana"."""
    other = "name" if first.sort == "relation" else "relation"
    most = BESIDE_SIGNS - first.shortness
    return [mention for mention in found if mention.sort == other and 0 <= mention.start - first.start <= most]


def find_named_kin(found: list[Mention]) -> frozenset[str]:
    """Return the names that mentions give to relatives, in lower case. found: in the order of the text."""
    pairs = (each for first in found if first.sort == "relation" for each in _beside(first, found))
    return frozenset(each.key.partition(":")[2] for each in pairs)


def _asks_in_german(text: str) -> bool:
    return opens_as_question(text) and has_capital_nouns(text)


def _with_me(text: str, found: list[Mention], first: Mention) -> bool:
    """Whether somebody is with whoever speaks: "living with my wife" is about both."""
    mine = [mention.start for mention in found if mention.sort == "self" and mention.start < first.start]
    return bool(mine) and _COMPANY.search(text[: mine[0]]) is not None


def find_somebody(text: str, found: list[Mention]) -> Somebody | None:
    """The words for somebody else whom a clause is about; None where it is about whoever speaks."""
    if not found:
        return None
    first = _meant(text.lower(), found)
    if first.sort in ("self", "you") or any(_AND_I.match(text, each.start - each.shortness) for each in found):
        return None
    if (first.sort == "relation" and first.key in _ANIMALS) or _with_me(text, found, first):
        return None
    start, end = first.start, first.start - first.shortness
    if first.sort == "third":
        return Somebody(start, start + len(re.split("['’]", text[start:end])[0]), "third")
    # "My sister Jo" is meant with all three words.
    own = [each for each in found if each.sort in ("self", "you") and each.start < start <= each.start + NEAR_SIGNS]
    start = min([start, *(each.start for each in own)])
    for mention in (first, *_beside(first, found)):
        if mention.sort == "name":
            said = mention.key.partition(":")[2]
            place = text.lower().find(said, mention.start)
            end = max(end, place + len(said) if place >= 0 else 0)
    return Somebody(start, end, first.sort)


def mentions_speaker(text: str, found: Sequence[Mention]) -> bool:
    """Whether a clause mentions the speaker, other than as the owner of a relation: "Sara teaches me"."""
    low, lists = text.lower(), subject_words()
    relations = [each.start for each in found if each.sort == "relation"]
    for each in found:
        if each.sort != "self":
            continue
        word = low[each.start : each.start - each.shortness]
        owns = word in lists.possessive and any(0 < start - each.start <= NEAR_SIGNS for start in relations)
        # Of a script without spaces only the first mention is found.
        if not owns or (UNSPACED_SIGN.search(word) and low.count(word) > 1):
            return True
    return False


def keys_of_speaker(speaker: str | None) -> tuple[str, ...]:
    return tuple(sorted({f"name:{speaker.casefold()}", SELF})) if speaker else (SELF,)


def _meant(low: str, found: list[Mention]) -> Mention:
    """The first mention, or the relation after it that a possessive points at ("my sister")."""
    first = found[0]
    # "my sister works" is about the sister, though "my" comes first.
    if first.sort in ("self", "you") and low[first.start : first.start - first.shortness] in subject_words().possessive:
        for mention in found[1:]:
            if mention.start - first.start > NEAR_SIGNS:
                break
            if mention.sort == "relation" and not _NOT_OWNED.search(low[first.start : mention.start]):
                return mention
    return first


def find_mentions(text: str, common: Collection[str]) -> list[Mention]:
    lists = subject_words()
    low = text.lower().replace("’", "'")
    # "What is Ana allergic to?" names her late; in "moved to Porto" the name is a place.
    asks = opens_as_question(text)
    found = [
        Mention(start, -len(name), "name", f"name:{name}")
        for start, name in _find_names(text, common)
        if (asks or start <= NAME_SIGNS or (low[:start].split()[-1:] and low[:start].split()[-1] in lists.relations))
        and not (_BEFORE_PLACE.search(text[:start]) and not asks)
        and not _AFTER_ARTICLE.search(text[:start])
        and not _AFTER_TIME.search(text[:start])
    ]
    for match in _NAME_WORD.finditer(low):
        word = match[0]
        bare = word.removesuffix("'s")
        if bare in lists.relations and not _is_other_word(bare, text, "no_relations"):
            found.append(Mention(match.start(), -len(bare), "relation", f"relation:{lists.relations[bare]}"))
            continue
        if word.startswith("j'"):
            found.append(Mention(match.start(), -len(word), "self", "self"))
            continue
        if _HAVE.match(low, match.start()):
            found.append(Mention(match.start(), -len(word), "self", "self"))
            continue
        for sort, words in (("self", lists.self), ("you", lists.you), ("third", lists.third)):
            if word in words and not _is_other_word(word, text, "no_pronouns"):
                found.append(Mention(match.start(), -len(word), sort, sort))
                break
    if UNSPACED_SIGN.search(text):
        found += _unspaced_mentions(text)
    return found


def _is_other_word(word: str, text: str, role: str) -> bool:
    """Whether a word for a person is another in the language of a text: "il" is an article in Italian, "Mia" a name.

    role: ``no_pronouns`` or ``no_relations`` of the lexicon.
    """
    if word not in all_words(role):
        return False
    code = language_of(text)
    return code in languages() and word in load_lexicon(code).words.get(role, ())


def _is_name_here(word: str, text: str) -> bool:
    """Whether a word with a capital is a name in the language of a text, and a pronoun in another: "Mia"."""
    return _is_other_word(word, text, "no_pronouns") and word not in stop_words(language_of(text))


def relations_in(text: str) -> frozenset[str]:
    """Return the keys of the relations that a text names: "relation:sister"."""
    found = find_mentions(text[:MAX_SIGNS], ())
    return frozenset(mention.key for mention in found if mention.sort == "relation")


def _unspaced_mentions(text: str) -> list[Mention]:
    lists = subject_words()
    found = [Mention(text.find(word), -len(word), sort, key) for word, sort, key in lists.unspaced if word in text]
    found = [each for each in found if not _is_in_longer_word(text, each, found)]
    ends = [each.start - each.shortness for each in found if each.sort == "relation"]
    starts_with_somebody = any(each.start == 0 for each in found)
    for start, length, name in find_unspaced_names(text, ends, starts_with_somebody):
        if name not in lists.nobody:
            found.append(Mention(start, -length, "name", f"name:{name.lower()}"))
    return found


# A Golf is no husband.
_NO_HUSBAND: Final = "尔丈大工功"


def _is_in_longer_word(text: str, mention: Mention, found: list[Mention]) -> bool:
    start, end = mention.start, mention.start - mention.shortness
    if text[start:end] == "夫" and start and text[start - 1] in _NO_HUSBAND:
        return True
    return any(
        each.start <= start and end <= each.start - each.shortness and each.shortness < mention.shortness
        for each in found
    )


def own_relation(text: str, common: Collection[str] = frozenset(), found: list[Mention] | None = None) -> str | None:
    """Return the only relation of whoever speaks that a text is about, where it says no name: "sister"."""
    found = sorted(find_mentions(text[:MAX_SIGNS], common)) if found is None else found
    related = [mention for mention in found if mention.sort == "relation"]
    if len(related) != 1 or any(mention.sort == "name" for mention in found):
        return None
    first = next((mention for mention in found if mention.sort == "self"), None)
    owned = first is not None and _meant(text.lower(), [first, *related]) == related[0]
    return related[0].key.partition(":")[2] if owned else None


@cache
def relation_words(relation: str) -> tuple[str, ...]:
    """Return the words for a relation and for what it is one of: a mother is one of the parents."""
    lists = subject_words()
    lines = {relation, *lists.broader.get(relation, ())}
    return tuple(word for word, line in lists.relations.items() if line in lines)


def names_in(text: str, common: Collection[str] = frozenset()) -> list[str]:
    """Return what looks like a name, in lower case: words written large. German writes every noun large: none."""
    return [name for _, name in _find_names(text, common)]


def _find_names(text: str, common: Collection[str]) -> list[tuple[int, str]]:
    """Names with where they stand."""
    # German writes every noun large, so that a large letter says nothing of a name, but after a relation.
    is_german = has_capital_nouns(text)
    lists = subject_words()
    persons = _find_doers(text) if is_german else frozenset()
    found: list[tuple[int, str]] = []
    before = ""
    for match in _NAME_WORD.finditer(text):
        last, before = before, match[0].lower()
        related = last in lists.relations and text[match.start() - 1] == " "
        if is_german and not (related or match.start() in persons):
            continue
        bare = re.sub(r"['’]s$", "", match[0])
        low = bare.lower()
        if not bare[0].isupper() or len(bare) < 2 or (bare.isupper() and len(bare) > 3):
            continue
        if "'" in low or "’" in low:  # "Don't"
            continue
        if low in lists.relations or low in lists.large:
            continue
        named = low in all_words("no_pronouns") and _is_name_here(low, text)
        if not named and (low in lists.self or low in lists.you or low in lists.third):
            continue
        starts = _SENTENCE_START.search(text, max(0, match.start() - _MAX_BEFORE_NAME), match.start()) is not None
        if named or not (starts and (low in common or pattern_of("question_words").fullmatch(low))):
            found.append((match.start(), low))
    if not found:
        return []
    streets = find_streets(text)
    return [(start, name) for start, name in found if not any(each.start <= start < each.end for each in streets)]


def _find_doers(text: str) -> frozenset[int]:
    """Where a capitalised word is the subject of a verb that people are the subjects of: "Heike wohnt in Jena".

    This is the word before the verb, if it begins the sentence and no other subject follows. Else it is the word
    behind the verb, if no other subject is before.
    """
    places: set[int] = set()
    common = stop_words(language_of(text))
    for verb in pattern_of("person_verbs").finditer(text):
        before, after = _WORD_BEFORE.search(text, 0, verb.start()), _WORD_AFTER.match(text, verb.end())
        begins = before is not None and _SENTENCE_START.search(text[: before.start(1)]) is not None
        if begins and before is not None and before[1].lower() not in common:
            follows = _NAME_WORD.match(text, verb.end() + 1)
            doer = None if follows is not None and _is_person(follows[0]) else before
        else:
            sentence = _SENTENCE_END.split(text[: verb.start()])[-1]
            words = _NAME_WORD.findall(sentence)
            taken = any(_is_person(word) or (word[0].isupper() and word.lower() not in common) for word in words)
            doer = None if taken else after
        if doer is not None and doer[1].lower() not in common:
            places.add(doer.start(1))
    return frozenset(places)


def _is_person(word: str) -> bool:
    """Whether a word is a relative, a pronoun, or a person without a name."""
    lists, low = subject_words(), word.lower()
    pronouns = low in lists.self or low in lists.you or low in lists.third
    return pronouns or low in lists.relations or low in all_words("unnamed")


_TITLED: Final = (
    re.compile(r"([\u30a0-\u30ff]{2,8}|[\u4e00-\u9fff]{1,3}|[A-Za-z]{2,12})(?:さん|ちゃん|くん|君|様|先生|課長|部長)"),
    re.compile(
        r"((?:小(?![学时心区说孩猫狗型吃组店号米麦提费朋])|老(?![师板家人公婆是实年虎鼠])|阿(?!姨))[\u4e00-\u9fff]|"
        r"(?![小中大学名位个是当女男外私某这那])[\u4e00-\u9fff](?:医生|老师|总|姐|哥|叔|阿姨|经理|律师))"
    ),
)
# Who lives, works or marries is somebody, whose name stands first; so is who is sent elsewhere, studies or falls ill.
_TOPIC: Final = (
    re.compile(
        r"^([\u4e00-\u9fff\u30a0-\u30ff]{1,5})[はが](?=.*(?:住[んみ]|暮らし|働[いく]|引っ越|転職|勤め|結婚|離婚|卒業|入学|生まれ|飼っ))"
    ),
    # Only with the particle of a topic: "転勤が決まった" tells of whoever speaks, "健太は転勤で今は広島です" of Kenta.
    re.compile(
        r"^([\u4e00-\u9fff\u30a0-\u30ff]{1,5})は(?=.*(?:転勤|異動|赴任|出向|就職|退職|留学|進学|入院|退院|帰国|亡くな|通[っい]))"
    ),
    re.compile(
        r"^([\u4e00-\u9fff]{2,3}?)(?:现在|最近|已经|今年|去年|刚|上个月|以前|之前|原来|过去|曾经|目前)*(?=住在?|搬到|搬去|搬家|在.{1,8}(?:工作|上班|当)|当上?了|换了?工作|换了份|结婚|离婚|生了|"
        r"从.{1,8}(?:辞职|离职|毕业|退休|搬)|辞职|辞了|离职|跳槽|退休|改行|毕业)"
    ),
)
# "弟の翔", "我弟弟林涛是": a name right after the relation.
_RELATED: Final = re.compile(
    r"^(?:の([\u4e00-\u9fff\u30a0-\u30ff]{1,5}?)(?=[はがをとも、])|([\u4e00-\u9fff]{2,3}?)(?=是|在|住|叫|当|搬|现|最近))"
)
MAX_NAME: Final = 8


def find_unspaced_names(
    text: str, relation_ends: Iterable[int], starts_with_somebody: bool
) -> list[tuple[int, int, str]]:
    """Return names in Japanese and Chinese, with where they stand and their length.

    relation_ends: where words for relations end. starts_with_somebody: whether the text begins with somebody known.
    """
    found = [(hit.start(), len(hit[0]), hit[1]) for pattern in _TITLED for hit in pattern.finditer(text)]
    for end in relation_ends:
        if hit := _RELATED.match(text[end : end + MAX_NAME]):
            found.append((end, 0, hit[1] or hit[2]))
    if not starts_with_somebody and all(start for start, _, _ in found):
        hits = (pattern.match(text) for pattern in _TOPIC)
        found += [(0, len(hit[1]), hit[1]) for hit in hits if hit][:1]
    return found


class Somebody(NamedTuple):
    """The words for whom a clause is about: from start to end. sort: "name", "relation" or "third" ("she")."""

    start: int
    end: int
    sort: str


class _FirstPerson(NamedTuple):
    """What whoever speaks is called: as the subject, with the verb to be, and as the owner of what follows."""

    subject: str
    being: str
    owner: str


_FIRST: Final = {
    "en": _FirstPerson("I", "I'm", "my"),
    "de": _FirstPerson("ich", "ich bin", "mein"),
    "es": _FirstPerson("yo", "soy", "mi"),
    "fr": _FirstPerson("je", "je suis", "mon"),
    "ja": _FirstPerson("私", "私は", "私の"),
    "zh": _FirstPerson("我", "我是", "我的"),
}
# "His first day" is of somebody's day.
_OWNING: Final = re.compile(
    r"(?:his|her|their|seine?[nmrs]?|ihre?[nmrs]?|sus?|son|sa|ses|leurs?)$|.*(?:の|的)$", re.IGNORECASE
)
# "Tom's a cook" tells what he is, "Tom's first day" whose day it was.
_BEING: Final = re.compile(
    r"['’]s(?=\s+(?:an?|the|been|in|at|on|off|now|not|no|also|still|just|already|only|back|called|married|allergic|"
    r"(?!(?:morning|evening|wedding|training|building|meeting|thing|ceiling|clothing|painting|savings)\b)\w+ing)\b)"
)
_POSSESSING: Final = re.compile(r"['’]s?(?=\s)")
# A name is told there: "My sister is called Ana", "My wife is Ana".
_NAMES: Final = re.compile(
    r"\b(?:called|named|names?|nickname|hei(?:ß|ss)(?:t|en)|hieß|namens|llaman?|llamad[oa]|nombre|appelle(?:nt)?|nommée?|"
    r"prénom)\b|名|叫|"
    r"^\s*(?:['’]s|is|ist|es|est)\s+[A-ZÀ-Ý]\w+\W*$",
)
_AGREEING: Final = (
    (re.compile(r"\bdoes I\b", re.IGNORECASE), "do I"),
    (re.compile(r"\b(?:is|are) I\b", re.IGNORECASE), "am I"),
    (re.compile(r"\bwere I\b", re.IGNORECASE), "was I"),
    (re.compile(r"\bhas I\b", re.IGNORECASE), "have I"),
    (re.compile(r"\bI (?:is|are)\b"), "I'm"),
    (re.compile(r"\bI has\b"), "I have"),
    (re.compile(r"\bich ist\b"), "ich bin"),
    (re.compile(r"\bich hat\b"), "ich habe"),
    (re.compile(r"\bich wird\b"), "ich werde"),
    (re.compile(r"\b(?:hat|haben) ich\b"), "habe ich"),
    (re.compile(r"\b(?:ist|sind) ich\b"), "bin ich"),
    (
        re.compile(
            r"\bich ((?!(?:bin|hab|war|dann|jetzt|nun|seit|nicht|fast|erst|schon|sonst|gut|oft)\b)\w{2,}?)e?t\b"
        ),
        r"ich \1e",
    ),
    (re.compile(r"\byo es\b"), "soy"),
    (re.compile(r"\byo tiene\b"), "tengo"),
    (re.compile(r"\bje est\b"), "je suis"),
    (re.compile(r"\bje a\b"), "j'ai"),
    (re.compile(r"\bmon (?=[a-zà-ÿ]+e\b)"), "ma "),
)


def word_in_first_person(text: str, about: Somebody | None) -> str:
    """Return a clause or a question as whoever it is about would say it: "Tom's a cook" becomes "I'm a cook".

    So a name moves the meaning of a short sentence no more. about: the words for that person; None for nobody else.
    """
    if about is None or (about.sort == "relation" and _NAMES.search(text, about.end)):
        return text
    said, rest = text[about.start : about.end], text[about.end :]
    first = _FIRST.get(language_of(text[:MAX_SIGNS]), _FIRST["en"])
    if being := re.match(r"['’](?:s|re|ll|d|ve)\b", rest) if about.sort == "third" else _BEING.match(rest):
        words, rest = (first.being if being[0][1:] in ("s", "re") else f"I{being[0]}"), rest[being.end() :]
    elif owning := _POSSESSING.match(rest):
        words, rest = first.owner, rest[owning.end() :]
    elif rest.startswith(("の", "的")):
        words, rest = first.owner, rest[1:]
    else:
        words = first.owner if _OWNING.match(said) else first.subject
    found = text[: about.start] + words + rest
    for wrong, right in _AGREEING:
        found = wrong.sub(right, found)
    return found


def word_nameless(text: str, common: Collection[str], *, asks: bool) -> str:
    """Return a clause as whoever it is about would say it; a question only where it names somebody."""
    about = find_somebody(text[:MAX_SIGNS], sorted(find_mentions(text[:MAX_SIGNS], common)))
    return text if asks and about is not None and about.sort != "name" else word_in_first_person(text, about)


class Introduced(NamedTuple):
    """A part of an introduction: its place in the text, and what has to be said before it."""

    start: int
    end: int
    before: str


_GREETING: Final = (
    r"(?:(?:hi|hello|hey|hallo|hi|moin|servus|guten (?:tag|morgen|abend)|hola|buen[oa]s(?: \w+)?|bonjour|bonsoir|salut|"
    r"coucou|good (?:morning|evening|afternoon))(?: (?:there|all|everyone|zusammen|a todos|à tous))?[\s,!.:–—-]+)?"
)
_INTRODUCES: Final = re.compile(
    rf"^\W*{_GREETING}(?:"
    r"(?P<says>(?:i['’]?m|i am|my name(?:['’]s| is)|this is|ich bin|ich hei(?:ß|ss)e|mein name ist|soy|me llamo|"
    r"mi nombre es|je suis|je m['’]appelle|moi,? c['’]est)\s+(?:die |der |el |la )?)[\w'’-]{2,20}(?:\s+[\w'’-]{2,20})?|"
    r"[\w'’-]{2,20}(?:\s+here|\s+hier|\s+aquí|\s+ici)|"
    r"[\w'’-]{2,20}(?=,\s*[1-9]\d\b)"
    r")\s*(?:[,.:;–—-]|\s(?:and|und|y|et)\b)\s*",
    re.IGNORECASE,
)
_INTRODUCES_UNSPACED: Final = re.compile(
    r"^\W*(?:(?:大家好|你好|您好|嗨|はじめまして|こんにちは)[，,、！!。 ]*)?"
    r"(?:(?:我叫|我是|我的名字是)\w{1,8}|(?:私は)?\w{1,8}(?:です|と申します|といいます))[，,、。]\s*"
)
_PART_END: Final = re.compile(r"\s*[,.;!]\s+|\s+(?:and|und|y|et|but)\s+(?!(?:i|ich|yo|je)\b)|[，、。]", re.IGNORECASE)
# "Midwife from Leeds" tells a job and a home.
_PLACE: Final = re.compile(
    r"(?<!living)(?<!based)(?<!home)\s+(?=(?:from|aus|based in|in|de|desde|en|à|près de)\s+[A-ZÀ-Ý][\w'’-]+\W*$)"
)
# What says itself who is meant.
_OWN_SUBJECT: Final = re.compile(
    r"(?:i|i['’]\w+|we|my|our|he|she|they|it|you|ich|wir|mein\w*|er|sie|es|yo|mi|mis|nosotros|tengo|vivo|trabajo|soy|estoy|"
    r"je|j['’].*|on|nous|mon|ma|mes|il|elle|hello|hi|hallo|hola|bonjour)\b|.*[はが]|[我他她]",
    re.IGNORECASE,
)
_AGE: Final = re.compile(
    r"(?:age[d]?\s+|今年)?[1-9]\d(?:\s*(?:years? old|jahre(?: alt)?|años|ans|歳|岁)(?:で|です)?)?\W*$", re.IGNORECASE
)
MAX_PARTS: Final = 5
MIN_PART: Final = 2


def parts_of_introduction(text: str) -> list[Introduced]:
    """Return the parts of a text in which somebody introduces themselves: "I'm Ana, 30, a cook, living in Porto".

    before: what makes a sentence of a part: "I'm " of "a cook".
    """
    text = text[:MAX_SIGNS]
    begins = _INTRODUCES.match(text) or _INTRODUCES_UNSPACED.match(text)
    if begins is None or ends_abbreviation(text, len(begins[0].rstrip()) - 1):  # "I'm Dr. Kolb"
        return []
    first = _FIRST.get(language_of(text), _FIRST["en"])
    found: list[Introduced] = []
    start = begins.end()
    ends = [match.span() for match in _PART_END.finditer(text, start) if not ends_abbreviation(text, match.start())]
    for end, following in [*ends, (len(text), len(text))]:
        is_whole = _OWN_SUBJECT.match(text, start) is not None
        cuts = [start, *(match.end() for match in _PLACE.finditer(text, start, end) if not is_whole), end]
        for left, right in pairwise(cuts):
            part = text[left:right].strip()
            if len(part) >= MIN_PART and not _AGE.match(part):
                before = "" if _OWN_SUBJECT.match(part) else _before(first, part)
                found.append(Introduced(left, left + len(text[left:right].rstrip()), before))
        start = following
        if len(found) >= MAX_PARTS:
            break
    return found[:MAX_PARTS]


def _before(first: _FirstPerson, part: str) -> str:
    if first is _FIRST["zh"]:
        return "我"
    return first.being if first is _FIRST["ja"] else f"{first.being} "


# "What does Jo do?" asks for a job where it says no more.
_DOES_WHAT: Final = re.compile(
    r"^\W*(?:"
    r"what (?:does|do|did) [\w'’ -]{1,40} do(?: for (?:a living|work))?(?: now| these days)?|"
    r"was (?:macht|arbeitet|machen) [\w'’ -]{1,40}|"
    r"(?:qué|que) hace[n]? [\w'’ -]{1,40}|[\w'’ -]{1,40} (?:fait|font) quoi(?: dans la vie)?|"
    r"que fai(?:t|sait) [\w'’ -]{1,40}"
    r")\W*$|"
    r"(?:何|なに)を?して(?:い)?(?:る|ます)|(?:做|干)(?:什么|啥|嘛)(?:工作|的)",
    re.IGNORECASE,
)
_NO_AGE: Final = (
    r"(?!\s*(?:km|kg|cm|m|min|eur|€|\$|£|%|:|°|[.,]\d|minut|hour|stund|euro|pound|dollar|day|week|month|page|people|guests|"
    r"tage|wochen|semanas|días|d[ií]as|am\b|pm\b|o['’]clock|uhr|st\b|nd\b|rd\b|th\b|de\b))"
)
_SAYS_NAME: Final = (
    r"(?:i['’]?m|i am|my name(?:['’]s| is)|this is|ich bin|ich hei(?:ß|ss)e|mein name ist|soy|me llamo|je suis|"
    r"je m['’]appelle|moi,? c['’]est)\s+(?:die |der |el |la )?"
)
# "I'm Mia, 34" and "Ravi, 27, a cook" tell a name and an age; "my mother turned 70" an age.
_TELLS_AGE: Final = re.compile(
    rf"\b{_SAYS_NAME}[\w'’-]{{2,20}}(?:,| (?=(?:and|und|y|et) )) (?:and |und |y |et |i['’]m |bin |tengo |j['’]ai )*"
    rf"(?:1[0-9]|[2-9]\d)\b{_NO_AGE}|"
    rf"^\W*{_GREETING}[\w'’-]{{2,20}}(?:(?:\s+(?:here|hier|aquí|ici))[,.]|,) (?:1[0-9]|[2-9]\d)(?=[,.;](?!\d)|\W*$)|"
    rf"\b(?:turn(?:s|ed|ing)?|i['’]m|i am|s?he['’]s|they['’]re)\s+(?:just\s+)?(?:1[0-9]|[2-9]\d)\b{_NO_AGE}|"
    r"\b\d{1,3}(?:\s+years\s+old|\s+jahre\s+alt|[- ]year[- ]old)\b|"
    r"\b(?:tengo|tiene|cumpl(?:o|e|í|ió|ido|iré|irá))\s+\d{1,3}\s+años\b|"
    r"\b(?:j['’]ai|a|aura|aurai|eu|fêté ses)\s+\d{1,3}\s+ans\b|"
    rf"\bich (?:bin|werde)\s+(?:jetzt\s+|gerade\s+|schon\s+)?(?:1[0-9]|[2-9]\d)\b{_NO_AGE}|"
    r"(?:[1-9]\d|[二三四五六七八九]?十[一二三四五六七八九]?)(?:歳|岁)",
    re.IGNORECASE,
)
_IS_OLD: Final = re.compile(
    rf"\b(?:is|ist|wird|wurde)\s+(?:now |already |only |jetzt |gerade |schon |erst )?(?:1[0-9]|[2-9]\d)\b{_NO_AGE}",
    re.IGNORECASE,
)


def asks_what_somebody_does(text: str) -> bool:
    """Whether a question asks what somebody does, and says no more."""
    return _DOES_WHAT.search(text[:MAX_SIGNS]) is not None


def tells_age(text: str, of_person: bool) -> bool:
    """Whether somebody's age is told. of_person: whether it is about somebody surely: "is 70" tells an age then."""
    text = text[:MAX_SIGNS]
    return _TELLS_AGE.search(text) is not None or (of_person and _IS_OLD.search(text) is not None)


# "My first week at the brewery" tells of a new place of work; a first day at school does not.
_STARTS_WORK: Final = re.compile(
    r"\bfirst (?:day|week|morning|month|shift)s? (?:at|with|as)\b(?! (?:the |my |her |his )?(?:\w+ )?(?:school|nursery|"
    r"kinder\w+|uni\w*|college|home|sea|beach|altitude|camp|gym|pool))|"
    r"\berste[rnm]? (?:arbeitstag|(?:tag|woche|schicht) (?:bei|beim|als))\b|"
    r"\bprimer(?:a semana| día) (?:de trabajo|como|en (?:el trabajo|la empresa|la oficina|la tienda|el taller))\b|"
    r"\bpremi(?:er jour|ère semaine) (?:chez|comme|de travail|de boulot)\b|初出勤|入社し|入职|上班第一天|第一天上班",
    re.IGNORECASE,
)


def tells_new_work(text: str) -> bool:
    """Whether somebody tells of a new place of work."""
    return _STARTS_WORK.search(text[:MAX_SIGNS]) is not None
