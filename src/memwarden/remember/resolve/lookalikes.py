"""Tells two texts that only read alike from two that say the same: one word is another, in the same place."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import cache
from itertools import pairwise
from typing import Final

from memwarden.remember.resolve.countables import is_unspaced, known_units, rhythms_told
from memwarden.remember.resolve.same_fact.signature import Signature, is_content, stem
from memwarden.remember.resolve.same_fact.word_lists import load_word_lists
from memwarden.statements.reader import CommonWords, load_weights

# What tells nothing by itself: to be, to have, to be called, to live somewhere, and who says it.
_LIGHT_WORDS: Final = frozenset(
    "be have get got call name there one i we it that thing ich wir sein haben heißen heissen nennen es yo nosotros "
    "ser estar tener haber llamar llamarse je on nous être avoir appeler appelle ça c'est donde".split()
)
_NAMING: Final = frozenset("call heißen heissen nennen llamar llam llamarse appeler appelle".split())
_SPOKEN: Final = re.compile(r"[\w'’]+")
_HYPHENED: Final = re.compile(r"[^\W\d_]{2,}-[^\W\d_]{2,}")
# Whose it is, where it is not the speaker's and not of the family.
_OTHERS: Final = tuple(
    re.compile(words)
    for words in (
        r"\bneighbou?rs?\b|\bnachbar\w*|\bvecin[oa]s?\b|\bvoisine?s?\b|邻居|隔壁|近所|隣",
        r"\bboss(?:es)?\b|\bchef(?:in)?\b(?=s)|\bjef[ea]s?\b|\bpatronn?e?s?\b|老板|上司",
        r"\b(?:friend|mate|buddy)s?\b|\bfreund(?:es|in|e)?\b|\bkumpel\w*|\bamig[oa]s?\b|\bami(?:e|s|es)?\b|\bpotes?\b|朋友|友達",
        r"\b(?:colleague|coworker)s?\b|\bkolleg\w+|\bcompañer[oa]s?\b|\bcollègues?\b|同事|同僚",
        r"\bland(?:lord|lady)s?\b|\bvermieter\w*|\bcaser[oa]s?\b|\bproprio\b|\bpropriétaire\b|房东|大家さん",
    )
)
# The elder of two is not the younger.
_DEGREES: Final = tuple(
    (re.compile(more), re.compile(less))
    for more, less in (
        (
            r"\b(?:old|eld)(?:er|est)\b|\bälte\w+|\bmayor(?:es)?\b|\baînée?s?\b|上の子|[长長][男女子]|大[儿女]",
            r"\byoung(?:er|est)\b|\bjüng\w+|\bmenor(?:es)?\b|\bpequeñ[oa]s?\b|\bcadett?e?s?\b|\bbenjamin\b|下の子|[次末][男女子]|小[儿女]",
        ),
        (r"\b(?:bigger|larger)\b|\bgrößer\w*", r"\bsmaller\b|\bkleiner\w*"),
        (r"\bmatern\w+|\bmütterlich\w*|母方|外[公婆祖]", r"\bpatern\w+|\bväterlich\w*|父方|[爷奶]"),
    )
)
# Who plans does not say that it is so; of languages that have no lists of it, or short ones.
_PLANS: Final = re.compile(
    r"打算|计划|准备|想(?![念起到法])|つもり|予定|たい(?!へん)|かも|"
    r"\b(?:je|j['’]) ?(?:veux|voudrais|aimerais|pense|compte|vais \w+(?:er|ir|re))\b|"
    r"\b(?:quiero|queremos|pienso|voy a|vamos a) \w+[aeií]r(?:me|nos|l[oa]s?)?\b"
)
_DENIALS: Final = re.compile(
    "(?<!差)不(?![过過错錯少])|[没沒无無未]|(?<![特分区區])[别別](?!人)|ない|ません|なし|ナシ|ずに"
)
_LOWER_LIMITS: Final = re.compile("至少|起码|以上|最低|不少于|少なくとも")
_UPPER_LIMITS: Final = re.compile("最多|至多|顶多|以下|以内|不到|不超过|未満|最大")
_AFTER: Final = re.compile(
    "以后|之后|饭后|[课会食]后|后(?=[再去洗吃打])|以降|食後|後(?=に|の|で)|てから|でから|あと(?=に|で)"
)
_BEFORE: Final = re.compile("以前|之前|饭前|食前|(?<![午名目人])前(?=に|の|へ|[再去洗吃打给])|まえ(?=に|の)")
_CONVERSE: Final = tuple(
    (pair[0], pair[1]) for pair in "貸借 買売 买卖 借还 教習 入出 進退 送受 増減 增减 高低 大小 長短 长短".split()
)
_HALF_HOUR: Final = re.compile("[点點時时]半")
# Signs of no weight of their own, and Chinese families.
_LIGHT_SIGNS: Final = frozenset(
    "的了是在有也都就才还個个家位只条把被让给對从到和跟与或要会能可以上下里中这那我你他她它们每一二三四五六七八九十百千万两当做用過过着地得"
)
_FAMILIES: Final = frozenset(
    "王李张刘陈杨赵黄周吴徐孙朱马胡郭林何梁郑罗宋谢唐韩曹许邓萧冯曾程蔡彭潘袁于董余苏叶吕魏蒋田杜丁沈姜范傅钟卢汪戴崔任陆廖姚邱夏谭韦贾邹"
)
_COUNTERS: Final = frozenset("回級级匹頭头枚本冊册歳才人名台番号號階层层楼度年月日時分秒週周块元円")
_RUN: Final = re.compile(r"[\u30a0-\u30ff\u4e00-\u9fff]+")
_HIRAGANA: Final = re.compile("[\u3040-\u309f]")
# What follows a noun; other hiragana behind a sign is the ending of a verb.
_BEHIND_NOUN: Final = re.compile(r"(?:[はがをにへでのとも]|から|まで|だ|や|、|。|！|$|[^\u3040-\u309f])")


def only_read_alike(first: Signature, second: Signature) -> bool:
    """Whether something stands in one text in the place of something else in the other."""
    low = first.text.lower(), second.text.lower()
    if _sorts(low[0]) != _sorts(low[1]) or _picks_degree(*low) or _turned(*low):
        return True
    if bool(_PLANS.search(low[0])) != bool(_PLANS.search(low[1])):
        return True
    if is_unspaced(first.text):
        return _signs_differ(first.text, second.text)
    told = rhythms_told(first), rhythms_told(second)
    if told[0] and told[1] and told[0] != told[1]:
        return True
    return _words_swapped(first, second) or _strangers(first, second)


@cache
def light_stems(language: str) -> frozenset[str]:
    """Return the stems of a language's words that tell nothing by themselves: to be, to have, to be called."""
    lists = load_word_lists(language)
    return frozenset(stem(word, lists) for word in _LIGHT_WORDS)


def naming_stems(language: str) -> frozenset[str]:
    """Return the stems of the words that say what something is called."""
    lists = load_word_lists(language)
    return frozenset(stem(word, lists) for word in _NAMING)


def _sorts(text: str) -> list[bool]:
    return [bool(words.search(text)) for words in _OTHERS]


def _picks_degree(first: str, second: str) -> bool:
    return any(_are_split(*pair, first, second) for pair in _DEGREES)


def _are_split(some: re.Pattern[str], other: re.Pattern[str], first: str, second: str) -> bool:
    """Whether one text tells the one of a pair of opposites, the other text the other, and not both both."""
    told = [(bool(some.search(text)), bool(other.search(text))) for text in (first, second)]
    return told[0] != told[1] and any(told[0][side] and told[1][1 - side] for side in (0, 1))


def _turned(first: str, second: str) -> bool:
    """Whether what a hyphen joins stands the other way round: Lyon-Dijon."""
    there = {tuple(word.split("-")) for word in _HYPHENED.findall(second)}
    return any(tuple(reversed(word.split("-"))) in there for word in _HYPHENED.findall(first))


def _words_swapped(first: Signature, second: Signature) -> bool:
    """Whether a number counts something else, or a thing that both name is described by another word."""
    counted = _counted_words(first, second), _counted_words(second, first)
    described = _describing_words(first, second), _describing_words(second, first)
    return any(here[key] != there[key] for here, there in (counted, described) for key in here.keys() & there.keys())


def _counted_words(signature: Signature, other: Signature) -> dict[str, str]:
    """What stands behind each number: a unit, or a word that the other text has not."""
    units = known_units(signature.language)
    return {
        number: word
        for number, word in pairwise(signature.raw)
        if number[0].isdigit() and (word in units or _is_alone(word, signature, other))
    }


def _describing_words(signature: Signature, other: Signature) -> dict[str, str]:
    """The word before each thing that both name, where the other text has not that word."""
    lists = load_word_lists(signature.language)
    shared = set(signature.content) & set(other.content)
    pairs = ((word, stem(thing, lists)) for word, thing in pairwise(signature.raw))
    return {thing: word for word, thing in pairs if thing in shared and _is_alone(word, signature, other)}


def _is_alone(word: str, signature: Signature, other: Signature) -> bool:
    """Whether a word of weight is in one text alone."""
    lists = load_word_lists(signature.language)
    weighs = word.isalpha() and word not in _LIGHT_WORDS and is_content(word, lists)
    return weighs and stem(word, lists) not in other.content


@cache
def _common_words() -> CommonWords:
    return CommonWords(load_weights().common)


def _strangers(first: Signature, second: Signature) -> bool:
    """Whether each text has a word that hardly anybody else uses, and one is typed small, so that it may be a name."""
    if not (is_typed_small(first.text) or is_typed_small(second.text)):
        return False
    return bool(_rare(first, second)) and bool(_rare(second, first))


def is_typed_small(text: str) -> bool:
    """Whether somebody types without capital letters, but for "I"."""
    return not any(word[0].isupper() and not word.startswith("I") for word in _SPOKEN.findall(text))


def _rare(signature: Signature, other: Signature) -> list[str]:
    lists = load_word_lists(signature.language)
    there, low = set(other.content), other.text.lower()
    words = (word.lower().removesuffix("'s") for word in _SPOKEN.findall(signature.text))
    return [
        word
        for word in words
        if word.isalpha()
        and len(word) > 2
        and word not in _common_words()
        and stem(word, lists) in signature.content
        and stem(word, lists) not in there
        and word not in low
    ]


def _signs_differ(first: str, second: str) -> bool:
    for words in (_DENIALS, _LOWER_LIMITS, _UPPER_LIMITS, _HALF_HOUR):
        if bool(words.search(first)) != bool(words.search(second)):
            return True
    if _are_split(_BEFORE, _AFTER, first, second):
        return True
    signs = set(first), set(second)
    alone = signs[0] - signs[1], signs[1] - signs[0]
    if any({a, b} <= alone[0] | alone[1] and (a in alone[0]) != (b in alone[0]) for a, b in _CONVERSE):
        return True
    runs = _lone_runs(first, alone[0]), _lone_runs(second, alone[1])
    if any(run[0] in _FAMILIES and run[0] == other[0] for run in runs[0] for other in runs[1]):
        return True
    if min(len(runs[0]), len(runs[1])) > 1:
        return False
    if _HIRAGANA.search(first) and _HIRAGANA.search(second):
        return bool(runs[0] and runs[1])  # particles stand between the words, so that none has a neighbour
    return any(
        (run[0] and run[0] == other[0]) or (run[2] and run[2] == other[2]) for run in runs[0] for other in runs[1]
    )


def _lone_runs(text: str, alone: Set[str]) -> list[tuple[str, str, str]]:
    """Runs of signs of weight that only this text has, each with the sign before and after it; no verbs."""
    weighty = alone - _LIGHT_SIGNS - _COUNTERS
    found = []
    for run in _RUN.finditer(text):
        for part in re.finditer("[" + re.escape("".join(sorted(weighty))) + "]+", run[0]) if weighty else ():
            start, end = part.span()
            if end < len(run[0]) or _BEHIND_NOUN.match(text, run.end()):
                found.append((run[0][start - 1 : start], part[0], run[0][end : end + 1]))
    return found
