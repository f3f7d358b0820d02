"""The language of a text, by its script, its function words and its groups of letters, and whether it is a text.

Whatever asks for a language asks here: stems of recall, dates, statements that are compared, facts that are extracted.
Languages are ISO 639-1 codes. The functions take time linear in the text and look at its first words only.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from memwarden.errors import InvalidInput
from memwarden.text.lexicon import all_words, languages, load_lexicon, read_lines, words_by_language

DEFAULT_LANGUAGE: Final = "en"
# Words that are read. More do not change the answer.
MAX_WORDS: Final = 300
# Characters. Longest text of which the words or the language are held in memory for the next reader.
MAX_SHORT: Final = 500
# Lead over the next language, in nats, from which a language is known and not only likely.
MIN_LEAD: Final = 3.0

_VOTE: Final = 4.0
# Least score of a word, so that a single name does not decide.
_MIN_WORD: Final = -6.0
# Scores at the start, in nats: most memories are in English or another frequent language.
_PRIOR_FREQUENT, _PRIOR_OTHER = -2.0, -9.0
# Score of a word in a language without letter groups, in nats. Measured on 18 Italian sentences without Italian letter
# groups: -1 recognises 13, -2 recognises 10.
_WITHOUT_LETTERS: Final = -1.0
# Function words of English alone, beyond those of other languages alone, that tell English without a closer look.
_CLEAR_VOTES: Final = 2
# Lead that letters alone need against the default: "Paolo Rossi" is a name in any language.
_MIN_LETTERS_LEAD: Final = 5.0

# For each of :func:`latin_languages` how well words fit, in nats; 0 each for no words.
LanguageScores = tuple[float, ...]


@cache
def latin_languages() -> tuple[str, ...]:
    """Return the languages in Latin script that are distinguished. Those with letter groups come first."""
    with_letters = _languages_with_letters()
    listed = {*words_by_language("stop"), *words_by_language("telling")} - {code for code, _ in _SCRIPTS}
    return (*(code for code in with_letters if code in listed), *sorted(listed.difference(with_letters)))


@cache
def _languages_with_letters() -> tuple[str, ...]:
    return tuple(read_lines("letter_groups.txt")[0].split())


@cache
def _place_of(code: str) -> int:
    return latin_languages().index(code)


@cache
def _no_scores() -> LanguageScores:
    return (0.0,) * len(latin_languages())


class LanguageEvidence(NamedTuple):
    """What a text shows of its language.

    Attributes:
        script: the language of a script other than Latin, "" for Latin.
        scores: of its Latin words. voted: the languages that function words of the text belong to. A word that English
            has too ("no") votes for English only, and a language without lists needs two.
    """

    script: str
    scores: LanguageScores
    voted: frozenset[str]

    def join(self, other: LanguageEvidence) -> LanguageEvidence:
        """Return the evidence of two texts together. Texts in different scripts show none."""
        if self.script != other.script:
            return LanguageEvidence("", _no_scores(), frozenset())
        scores = tuple(mine + theirs for mine, theirs in zip(self.scores, other.scores, strict=True))
        return LanguageEvidence(self.script, scores, self.voted | other.voted)

    def likely(self, default: str = DEFAULT_LANGUAGE, caution: float = 1.0) -> str:
        """Return the likeliest language: the default unless another fits clearly better.

        caution: the part that counts of the scores at the start, which favour the default.
        """
        if self.script:
            return self.script
        expected = default if default in latin_languages() else DEFAULT_LANGUAGE
        best, most = default, self.scores[_place_of(expected)]
        for code, fit in zip(latin_languages(), self.scores, strict=True):
            score = fit + caution * _prior(code) - (0.0 if code in self.voted else _MIN_LETTERS_LEAD)
            if code != expected and score > most:
                best, most = code, score
        return best

    def known(self, min_lead: float = MIN_LEAD) -> str:
        """Return the language shown by function words with this lead over the next, else ""."""
        if self.script:
            return self.script
        if not self.voted:
            return ""
        best, second = sorted(range(len(self.scores)), key=lambda place: -self.scores[place])[:2]
        return latin_languages()[best] if self.scores[best] - self.scores[second] >= min_lead else ""


def normalize_text(text: str) -> str:
    """Return a text in NFKC and without case. Curly apostrophes are straight."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).replace("’", "'").casefold()


def language_of(text: str, default: str = DEFAULT_LANGUAGE) -> str:
    """Return the likeliest language of a text, ``default`` if it shows none."""
    return _language_of_short(text, default) if len(text) <= MAX_SHORT else _language_of_any(text, default)


# The readers of a text each ask for its language. Longer texts are read, not held.
@lru_cache(maxsize=64)
def _language_of_short(text: str, default: str) -> str:
    return _language_of_any(text, default)


def _language_of_any(text: str, default: str) -> str:
    if not text.isascii() and (script := script_of(text)):
        return script
    return language_of_words(_WORD.findall(normalize_text(text[:_MAX_CHARACTERS])), default, text)


def language_of_words(words: list[str], default: str = DEFAULT_LANGUAGE, text: str = "") -> str:
    """Return the likeliest language of normalised Latin words. text: holds signs like "¿"."""
    held = set(words[:MAX_WORDS])
    if default == DEFAULT_LANGUAGE:
        english, others = _voters()
        if len(english & held) >= _CLEAR_VOTES + len(others & held):
            return DEFAULT_LANGUAGE  # most texts end here
    return LanguageEvidence("", *_score(held, text)).likely(default)


def read_evidence(text: str) -> LanguageEvidence:
    """Return what a text shows of its language."""
    script = "" if text.isascii() else script_of(text)
    if script:
        return LanguageEvidence(script, _no_scores(), frozenset())
    return LanguageEvidence("", *_score(set(_WORD.findall(normalize_text(text[:_MAX_CHARACTERS]))[:MAX_WORDS]), text))


def is_english(text: str) -> bool:
    """Whether a text is in Latin script and shows no other language."""
    return is_latin(text) and language_of(text) == DEFAULT_LANGUAGE


def has_capital_nouns(text: str) -> bool:
    """Whether a text is in a language that writes every noun with a capital."""
    code = language_of(text)
    return code in languages() and load_lexicon(code).capital_nouns


def is_latin(text: str) -> bool:
    """Whether at least half of a text's letters are Latin. True without letters."""
    if text.isascii():
        return True
    letters = [sign for sign in text if sign.isalpha()]
    return 2 * sum(1 for sign in letters if sign < "\u0250") >= len(letters)


# Scripts and the language of most texts in each.
_SCRIPTS: Final = (
    ("el", "\u0370-\u03ff\u1f00-\u1fff"),
    ("ru", "\u0400-\u052f"),
    ("hy", "\u0530-\u058f"),
    ("he", "\u0590-\u05ff"),
    ("ar", "\u0600-\u06ff\u0750-\u077f"),
    ("hi", "\u0900-\u097f"),
    ("ta", "\u0b80-\u0bff"),
    ("th", "\u0e00-\u0e7f"),
    ("ko", "\uac00-\ud7af\u1100-\u11ff"),
    ("ja", "\u3040-\u30ff\u31f0-\u31ff"),
    ("zh", "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"),
)
# A sign of a script without spaces: kana or Han.
UNSPACED_SIGN: Final = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
# Capitals of the Latin, Greek and Cyrillic scripts, as an expression.
CAPITALS: Final = "[A-ZÀ-ÖØ-ÞΑ-ΩА-Я]"
_OTHER_SCRIPT: Final = re.compile("|".join(f"(?P<{code}>[{signs}])" for code, signs in _SCRIPTS))
_ANY_OTHER_SCRIPT: Final = re.compile("[" + "".join(signs for _, signs in _SCRIPTS) + "]")
_WITHOUT_SPACES: Final = frozenset(("ja", "zh", "ko", "th"))
# A sign of a script without spaces says as much as so many Latin letters.
_LETTERS_OF_SIGN: Final = 3
# Characters that Japanese alone has or writes so, and those that Chinese alone has in everyday texts.
_JAPANESE_HAN: Final = frozenset("曜駅円気図読発転辺売実帰払込働畑峠枠匂々〆〇戻掛届頃嬉込対単県広鉄焼渋浜沢")
_CHINESE_HAN: Final = frozenset("你您们這这個个吗嗎呢吧啊么麼怎哪她它谁誰很没沒还說说时過过对對给讓让")
_MAX_CHARACTERS: Final = 4_000


def script_of(text: str) -> str:
    """Return the language of a text's main script, "" for Latin script or no letters."""
    some = text[:_MAX_CHARACTERS]
    if _ANY_OTHER_SCRIPT.search(some) is None:
        return ""
    counts: dict[str, int] = {}
    for hit in _OTHER_SCRIPT.finditer(some):
        code = hit.lastgroup or ""
        counts[code] = counts.get(code, 0) + 1
    best = max(counts, key=counts.__getitem__)
    glued = sum(counts.get(code, 0) for code in _WITHOUT_SPACES)
    others = sum(counts.values()) - glued
    latin = sum(1 for sign in some if sign.isalpha() and sign < "\u0250")
    if latin > _LETTERS_OF_SIGN * glued + others:
        return ""
    if best in ("ja", "zh"):
        return _chinese_or_japanese(some, counts)
    return best


def _chinese_or_japanese(text: str, counts: dict[str, int]) -> str:
    """Kana tell Japanese. Without them a few characters do, and Chinese is likelier."""
    signs = set(text)
    if counts.get("ja", 0):
        return "ja" if counts["ja"] * 10 >= counts.get("zh", 0) or signs.isdisjoint(_CHINESE_HAN) else "zh"
    return "ja" if not signs.isdisjoint(_JAPANESE_HAN) and signs.isdisjoint(_CHINESE_HAN) else "zh"


_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_ENGLISH: Final = frozenset(("en",))


@cache
def _signs() -> dict[str, str]:
    """Return the signs that a single language writes, with that language."""
    return {sign: code for code, signs in words_by_language("signs").items() for sign in signs}


@cache
def _elided() -> frozenset[str]:
    """Return the beginnings of words that can stand before an apostrophe in the middle of a word."""
    return all_words("elisions")


def _score(words: Iterable[str], text: str) -> tuple[LanguageScores, frozenset[str]]:
    """Return the scores of distinct words, and the languages that function words vote for."""
    scores, votes = list(_no_scores()), Counter[str]()
    for word in words:
        for part in _parts_of(word):
            fit, codes = _score_word(part)
            votes.update(codes & _ENGLISH or codes)
            for place, value in enumerate(fit):
                scores[place] += value
    for sign, code in _signs().items():
        if sign in text:
            scores[_place_of(code)] += _VOTE
            votes[code] += 1
    return tuple(scores), frozenset(code for code, count in votes.items() if count > (not load_lexicon(code).frequent))


def _parts_of(word: str) -> tuple[str, ...]:
    """Split a word at apostrophes. Elisions and contractions keep theirs, which tells a language."""
    if "'" not in word:
        return (word,)
    first, *rest = word.split("'")
    last = rest[-1]
    if len(rest) == 1 and last in all_words("contractions") and (first not in _elided() or _is_english(first)):
        return (first, "'" + last)
    return (first + "'", *rest)


def _is_english(word: str) -> bool:
    return DEFAULT_LANGUAGE in _languages_of_function_word(word)


@lru_cache(maxsize=10_000)
def _score_word(word: str) -> tuple[LanguageScores, frozenset[str]]:
    """Return how well a word fits each language, and the languages whose function word it is."""
    codes = _languages_of_function_word(word)
    fit = list(_score_letters(word)) if "'" not in word else list(_no_scores())
    for code in codes:
        fit[_place_of(code)] += _VOTE
    return tuple(fit), codes


def _languages_of_function_word(word: str) -> frozenset[str]:
    return _function_words().get(word, frozenset())


def _score_letters(word: str) -> LanguageScores:
    groups, edged, none = _letter_groups(), f"_{word[:40]}_", _no_scores()
    fit = [0.0 if code in _languages_with_letters() else -math.inf for code in latin_languages()]
    for start in range(len(edged) - 2):
        for place, value in enumerate(groups.get(edged[start : start + 3], none)):
            fit[place] += value
    best = max(fit)
    return tuple(max(value - best, _MIN_WORD) if value > -math.inf else _WITHOUT_LETTERS for value in fit)


@cache
def _letter_groups() -> dict[str, LanguageScores]:
    """Return the nats by which each group of letters is less likely than in its likeliest language."""
    head, *lines = read_lines("letter_groups.txt")
    columns = {code: place for place, code in enumerate(head.split())}
    order = [columns.get(code) for code in latin_languages()]
    return {
        line[:3]: tuple(0.0 if place is None else -_STEP * (ord(line[3 + place]) - ord("a")) for place in order)
        for line in lines
    }


# Nats between two letters of the table. See bench/scripts/make_letter_groups.py.
_STEP: Final = 0.35


@cache
def _function_words() -> dict[str, frozenset[str]]:
    """Return the languages of each function word."""
    table: dict[str, set[str]] = {}
    for code in latin_languages():
        words = load_lexicon(code).words
        for role in ("stop", "telling", "months", "weekdays"):
            for word in words.get(role, ()):
                table.setdefault(normalize_text(word), set()).add(code)
        for word in words.get("elisions", ()):
            table.setdefault(f"{word}'", set()).add(code)
        for word in words.get("contractions", ()):
            table.setdefault(f"'{word}", set()).add(code)
    return {word: frozenset(codes) for word, codes in table.items()}


@cache
def _voters() -> tuple[frozenset[str], frozenset[str]]:
    """Return the function words of English alone, and those that English lacks."""
    words = _function_words()
    english = frozenset(word for word, codes in words.items() if codes == _ENGLISH)
    return english, frozenset(word for word, codes in words.items() if "en" not in codes)


def _prior(code: str) -> float:
    return _PRIOR_FREQUENT if load_lexicon(code).frequent else _PRIOR_OTHER


def lower_in_place(text: str) -> str:
    """Lower case, each character in its place."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


_SIGNS_OF_NAMES: Final = frozenset(" .'’·・&@+#()/~-_\u200c\u200d")
_SIGNS_OF_ACCOUNTS: Final = _SIGNS_OF_NAMES | frozenset(":[]")
_PIECE: Final = re.compile(r"[\s.'’·・&@+#()/~_:\[\]-]+")
_PRONOUNS: Final = re.compile(r"\s*\(\w{1,5}(?:/\w{1,5}){1,2}\)$")
_ORDERING_KANA: Final = re.compile("を|(?:しろ|せよ|えろ|けろ|ること)$")
_ARABIC_PARTICLES: Final = frozenset("بن ابن بنت آل عبد أبو ابو".split())
# "María del Carmen Rodríguez de la Fuente" has seven. Of three words, the long ones begin with capitals.
_MAX_NAME_WORDS: Final = 7
_MAX_PLAIN_NAME_WORDS: Final = 2
_MAX_UNCASED_NAME_WORDS: Final = 3
_MAX_ACCOUNT_WORDS: Final = 4
# Letters of names in scripts without spaces, those of katakana apart: "欧阳娜娜", "さかなクン", "พิพัฒน์พงศ์ รัตนชัย".
_MAX_NAME_LETTERS: Final = {"zh": 5, "ja": 8, "ko": 8, "th": 30}


def has_form_of_name(line: str) -> bool:
    """Return whether a line has the form of a person's or an account's name, and not of a sentence.

    Names have few words, capitals at the long ones where their script has any, and hardly a sign beside letters. An
    order of few words may have this form, too: whether a name gives one is another question.
    """
    words = _PRONOUNS.sub("", line).split()
    signs = _SIGNS_OF_ACCOUNTS if len(words) == 1 else _SIGNS_OF_NAMES
    if not words or any(sign not in signs and not _is_of_words(sign) for sign in line):
        return False
    if (most := _MAX_NAME_LETTERS.get(script_of(line))) is not None:
        letters = sum(sign.isalpha() and not sign.isascii() and not "\u30a0" <= sign <= "\u30ff" for sign in line)
        return letters <= most and not _ORDERING_KANA.search(line)
    pieces = [piece for word in words for piece in _PIECE.split(word) if piece and not any(map(str.isdigit, piece))]
    if len(words) == 1:
        return len(pieces) <= _MAX_ACCOUNT_WORDS
    if not any(sign.isupper() or sign.islower() for sign in line):
        return sum(piece not in _ARABIC_PARTICLES for piece in pieces) <= _MAX_UNCASED_NAME_WORDS
    small = any(piece[0].islower() for piece in pieces if len(piece) > 3)
    return len(pieces) <= (_MAX_PLAIN_NAME_WORDS if small else _MAX_NAME_WORDS)


def _is_of_words(sign: str) -> bool:
    return unicodedata.category(sign) in {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "So"}


# A text of which more than this share is control characters is no text.
_MAX_CONTROL_SHARE = 0.05
# Cut emoji and stray NULs of short texts are repaired.
_FEW_CONTROLS = 2
_BROKEN = re.compile("[\ud800-\udfff\0]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")


def repair_text(text: str) -> str:
    """Return a text with the replacement character in place of NUL and of each half of a surrogate pair.

    JavaScript cuts emoji into halves. Two halves that follow each other become their character.
    """
    if not _BROKEN.search(text):
        return text
    return text.replace("\0", "\ufffd").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def repair_json(value: Any, depth: int = 64) -> Any:
    """Return a JSON value with all its texts repaired, names in objects too.

    depth: levels of nesting that are repaired. Deeper values stay as they are.
    """
    if isinstance(value, str):
        return repair_text(value)
    if depth <= 0:
        return value
    if isinstance(value, Mapping):
        return {repair_json(name, 1): repair_json(item, depth - 1) for name, item in value.items()}
    return [repair_json(item, depth - 1) for item in value] if isinstance(value, list | tuple) else value


def find_misfit(text: str, what: str, max_bytes: int) -> str:
    """Return why a text cannot be kept. Empty when it can."""
    size = len(text.encode("utf-8", "replace"))
    if size > max_bytes:
        return (
            f"{what} has {size:,} bytes, the limit is {max_bytes:,}; split it, or remember a summary with a source "
            "that points to the whole (the limit follows from the setting max_text_bytes)"
        )
    control = len(_CONTROL.findall(text))
    if control > max(_FEW_CONTROLS, _MAX_CONTROL_SHARE * len(text)):
        return f"{what} looks like binary data ({control} control characters); memwarden remembers text"
    return ""


def checked_text(value: Any, what: str, max_bytes: int) -> str:
    """Return a caller's text, repaired. Raises InvalidInput for anything else, an empty, too long or binary text."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be text, not {type(value).__name__}")
    if not value.strip():
        raise InvalidInput(f"{what} is empty; give some text")
    if misfit := find_misfit(value, what, max_bytes):
        raise InvalidInput(misfit)
    return repair_text(value)
