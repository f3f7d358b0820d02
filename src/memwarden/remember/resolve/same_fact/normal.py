"""Turns a sentence into canonical tokens: a single spelling of a number, an amount, a time and a day.

Tokens are in lower case. Times are ``t:15:00``, days of a month ``d:05-03``, months ``m:05``, years ``y:2019``,
weekdays ``w:02``; what comes back every day, week, month or year is ``per-day``, ``per-week`` and so on. Addresses,
paths, versions and names of code stay a single token.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from memwarden.remember.resolve.same_fact.word_lists import WordLists

_QUOTES: Final = str.maketrans(
    {
        "’": "'",
        "‘": "'",
        "`": "'",
        "´": "'",
        "“": '"',
        "”": '"',
        "„": '"',
        "«": '"',
        "»": '"',
        "–": "-",
        "—": " - ",
        "−": "-",
        "‑": "-",
    }
)
_ENDS: Final = ".,;:!?()[]{}\"'…¿¡"
_SENTENCE_END: Final = re.compile(r"[.!?;][\")\]]*$")
# Abbreviations whose point ends no sentence.
_TITLE: Final = frozenset("dr prof mr mrs ms st no vs jr sr bzw ca nr hr fr sra srta m mme".split())
# Addresses, paths, versions and names of code: a changed letter is another thing.
_CODE: Final = re.compile(r"[@/\\_#*=<>^~|]|\w[.:]\w|[^\W\d_]\d|\d[^\W\d_]|\+\+|^--?\w|\$\w")
_MONEY: Final = {"$": "usd", "€": "eur", "£": "gbp", "¥": "jpy"}
_AMOUNT: Final = re.compile(r"^([$€£¥])?([-+]?\d[\d.,'\u00a0]*?)([kKM])?([$€£¥%])?$")
# A number and its unit in a single word: 5km, 20h.
_GLUED: Final = re.compile(
    r"^(\d+(?:[.,]\d+)?)(mg|kg|g|km|cm|mm|m|lb|lbs|ml|l|min|h|am|pm|a\.m|p\.m|gb|mb|tb|ms|s|hz|kwh|w|°c|°f|mph|uhr)$"
)
_ISO: Final = re.compile(r"^((?:19|20)\d\d)-(0[1-9]|1[0-2])-([0-2]\d|3[01])$")
_CLOCK: Final = re.compile(r"^(\d{1,2})[:.h](\d{2})(?:h|uhr)?$")
_ORDINAL: Final = re.compile(r"^(\d+)(?:st|nd|rd|th|er|re|ère|e|º|ª|°)$")


@dataclass(frozen=True, slots=True)
class NormalText:
    """Canonical tokens of a text, and what its writing tells that the tokens do not."""

    tokens: tuple[str, ...]
    capitals: frozenset[str]
    """Words that begin with a capital letter inside a sentence."""
    smalls: frozenset[str]
    codes: frozenset[str]
    """Addresses, paths, versions, names of code: with their case."""
    asks: bool
    quotes: int


def fold_text(text: str) -> str:
    """The text without what carries no meaning: case, spaces, points and commas at the ends of words."""
    chunks = unicodedata.normalize("NFKC", text).translate(_QUOTES).casefold().split()
    return " ".join(part for chunk in chunks if (part := _trim(chunk)))


def _trim(chunk: str) -> str:
    if not any(sign.isalnum() for sign in chunk):
        return "" if all(sign in ".,;:!…" for sign in chunk) else chunk
    bare = chunk.rstrip(".,;:!…。、！")
    keep = chunk[len(bare) :]
    return bare + "," if keep.startswith(",") and bare in ("no", "yes", "nein", "ja", "non", "oui", "sí") else bare


def normalize(text: str, lists: WordLists) -> NormalText:
    """The canonical tokens of a text in the language of `lists`."""
    straight = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    words: list[str] = []
    capitals: set[str] = set()
    smalls: set[str] = set()
    codes: set[str] = set()
    start = True
    for chunk in straight.split():
        bare = _bare(chunk)
        if bare and _is_code(bare):
            codes.add(bare)
        if bare and bare[0].isalpha():
            head = re.split(r"['-]", bare.lower())[0]
            if not start:
                (capitals if bare[0].isupper() else smalls).add(head)
        ends = (
            bool(_SENTENCE_END.search(chunk)) and bare.lower() not in _TITLE and not (len(bare) == 1 and bare.isupper())
        )
        ends = ends and not (lists.code == "de" and bare.isdigit() and len(bare) < 3)  # 30. Juni
        words.extend(_pieces(chunk, bare, lists))
        if ends:
            words.append("|")
        start = ends
    while words and words[-1] == "|":
        words.pop()
    tokens = _find_times(_merge_number(words, lists), lists)
    stripped = straight.rstrip().rstrip("\"')")
    return NormalText(
        tuple(tokens),
        frozenset(capitals),
        frozenset(smalls),
        frozenset(codes),
        stripped.endswith(("?", "？")),
        straight.count('"'),
    )


def _bare(chunk: str) -> str:
    bare = chunk.strip(_ENDS)
    if bare and chunk[: chunk.index(bare[0])].endswith(".") and bare[0].isalpha():
        bare = "." + bare  # .env
    return bare


def _is_code(bare: str) -> bool:
    inner = re.search(r"[a-z][A-Z]|[A-Z]{2}.*[a-z0-9]", bare) is not None
    return (
        (inner or _CODE.search(bare) is not None) and _AMOUNT.match(bare) is None and _GLUED.match(bare.lower()) is None
    )


def _pieces(chunk: str, bare: str, lists: WordLists) -> list[str]:
    """Return the tokens of a run of signs between spaces."""
    if not bare:
        if (sign := chunk.strip(_ENDS)) in _MONEY or (sign := chunk[:1]) in _MONEY:
            return [_MONEY[sign]]
        return [chunk] if any(not sign.isalnum() and sign not in _ENDS for sign in chunk) else []
    low = bare.lower()
    out: list[str] = []
    if chunk[0] in "-+" and low[0].isdigit():
        low = chunk[0] + low
    out.extend(_word(low, lists))
    if chunk.endswith("%") and out[-1] != "pct":
        out.append("pct")
    if chunk.rstrip("\"')").endswith(","):
        out.append(",")
    return out


def _word(low: str, lists: WordLists) -> list[str]:
    if (amount := _AMOUNT.match(low)) is not None:
        return _amount(amount, lists)
    if (glued := _GLUED.match(low)) is not None:
        unit = glued[2].replace(".", "")
        return [_decimal(glued[1], lists), lists.units.get(unit, unit)]
    if (ordinal := _ORDINAL.match(low)) is not None:
        return [ordinal[1] + "th"]
    if (iso := _ISO.match(low)) is not None:
        return [f"d:{iso[2]}-{iso[3]}", f"y:{iso[1]}"]
    if "'" in low and "@" not in low and "/" not in low:
        for rewrite in lists.contractions:
            low = rewrite.pattern.sub(rewrite.into, low)
        if low.endswith(("s'", "'s")):
            low = low[:-2].rstrip("'") + ("s" if low.endswith("s'") else "") + " 's"
        return low.split()
    for rewrite in lists.contractions:
        if rewrite.pattern.fullmatch(low):
            return rewrite.pattern.sub(rewrite.into, low).split()
    if re.fullmatch(r"[^\W\d_]+-[^\W\d_]+", low):
        item, _, second = low.partition("-")
        if item in lists.numbers and second in lists.numbers:
            return [item, second]
    return [low]


def _decimal(number: str, lists: WordLists) -> str:
    """A number without thousands separators; a point before decimals."""
    if lists.code != "en":
        if re.fullmatch(r"[-+]?\d{1,3}(?:\.\d{3})+(?:,\d+)?", number):
            number = number.replace(".", "")
        number = number.replace(",", ".") if number.count(",") == 1 else number
    elif re.fullmatch(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?", number):
        number = number.replace(",", "")
    return re.sub(r"(?<=\d)\.0+$", "", number) if number.count(".") == 1 and number.endswith(".00") else number


def _amount(found: re.Match[str], lists: WordLists) -> list[str]:
    sign, number, scale, after = found.groups()
    number = _decimal(number.strip(".,'"), lists)
    if scale and re.fullmatch(r"\d+(?:\.\d+)?", number):
        number = (
            f"{float(number) * (1_000_000 if scale == 'M' else 1000):g}" if float(number) < 1000 else number + scale
        )
        if "e" in number:
            number = str(int(float(number)))
    out = [number]
    if sign or (after and after != "%"):
        out.append(_MONEY[sign or after])
    elif after == "%":
        out.append("pct")
    return out


def _merge_number(words: list[str], lists: WordLists) -> list[str]:
    """Number words as figures; a unit that follows a figure by its short name."""
    out: list[str] = []
    for word in words:
        if word in lists.numbers:
            number = lists.numbers[word]
            tens = out and re.fullmatch(r"[2-9]0", out[-1]) and len(number) == 1 and number != "0"
            if tens:
                out[-1] = str(int(out[-1]) + int(number))
            elif number in ("100", "1000", "1000000") and out and out[-1].isdigit():
                out[-1] = str(int(out[-1][:12]) * int(number))
            else:
                out.append(number)
        elif word in _SCALES and _scale_number(out, _SCALES[word]):
            continue
        elif word in lists.ordinals:
            out.append(lists.ordinals[word])
        elif out and word in lists.units and re.fullmatch(r"[-+]?\d[\d.]*", out[-1]):
            out.append(lists.units[word])
        else:
            out.append(word)
    return _metres(out)


_SCALES: Final = {"hundred": 100, "thousand": 1000, "grand": 1000, "million": 1_000_000, "billion": 1_000_000_000}


def _scale_number(out: list[str], scale: int) -> bool:
    """Multiply the figure that was just said, behind its currency or not. False if there is none."""
    at = len(out) - (2 if len(out) > 1 and out[-1] in _MONEY.values() else 1)
    if at < 0 or not re.fullmatch(r"\d{1,9}(?:\.\d{1,6})?", out[at]):
        return False
    value = float(out[at]) * scale
    if value != int(value):
        return False
    out[at] = str(int(value))
    return True


def _metres(words: list[str]) -> list[str]:
    out = list(words)
    for place in range(1, len(out)):
        if out[place] == "m" and re.fullmatch(r"[12]\.\d{1,2}", out[place - 1]):
            out[place - 1], out[place] = str(round(float(out[place - 1]) * 100)), "cm"
    return out


_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_DAY: Final = re.compile(r"([12]?\d|3[01])(?:th|st|nd|rd|\.)?")


def _find_times(words: list[str], lists: WordLists) -> list[str]:
    """Times, days, months, years, weekdays and what comes back, each as a token."""
    out: list[str] = []
    at = 0
    while at < len(words):
        width, found = _time_at(words, at, lists, out)
        out.extend(found)
        at += width
    return out


def _time_at(words: list[str], at: int, lists: WordLists, before: list[str]) -> tuple[int, list[str]]:
    word = words[at]
    after = words[at + 1] if at + 1 < len(words) else ""
    last = words[at + 2] if at + 2 < len(words) else ""
    previous = before[-1] if before else ""
    if (clock := _CLOCK.match(word)) and int(clock[1]) < 25 and int(clock[2]) < 60 and (":" in word or "h" in word):
        return _half_day(int(clock[1]), int(clock[2]), after)
    if (
        word.isdigit()
        and int(word[:6]) < 25
        and after in ("am", "pm", "a.m", "p.m", "o'clock", "uhr", "h", "heures", "heure", "oclock")
    ):
        if after in ("uhr", "h", "heures", "heure") and last.isdigit() and int(last[:6]) < 60:
            return 3, [f"t:{int(word)}:{int(last):02d}"]
        if after == "h" and lists.code != "fr":
            return 1, [word]
        return 2, [_clock(int(word), 0, after)]
    if (day := _DAY.fullmatch(word)) and (after in lists.months or (after in ("of", "de") and last in lists.months)):
        width = 2 if after in lists.months else 3
        month = lists.months[after if width == 2 else last]
        return width + (width == 2 and last == "de"), [f"d:{month}-{int(day[1]):02d}"]
    if (
        word in lists.months
        and (
            word != "may"
            or previous in ("in", "on", "since", "until", "by", "from", "to", "of", "every", "last", "next")
            or after[:1].isdigit()
        )
        and (word != "march" or previous != "to")
    ):
        month = lists.months[word]
        if (day := _DAY.fullmatch(after)) and not after.endswith("."):
            return 2, [f"d:{month}-{int(day[1]):02d}"]
        return 1, [f"m:{month}"]
    if _YEAR.fullmatch(word) and after not in lists.units.values() and not re.fullmatch(r"[a-z]+s", after):
        return 1, [f"y:{word}"]
    if word in lists.weekdays and not (
        word in ("sun", "sat", "mar") and previous not in ("on", "every", "each", "this", "next", "last", "le", "el")
    ):
        return 1, [f"w:{lists.weekdays[word]}"]
    if len(word) > 1 and word[-1] == "s" and word[:-1] in lists.weekdays and word not in lists.weekdays:
        return 1, [f"w:{lists.weekdays[word[:-1]]}", "per-week"]
    return 1, [word]


def _half_day(hour: int, minute: int, after: str) -> tuple[int, list[str]]:
    if after in ("am", "pm", "a.m", "p.m", "uhr", "h"):
        return 2, [_clock(hour, minute, after)]
    return 1, [f"t:{hour}:{minute:02d}"]


def _clock(hour: int, minute: int, half: str) -> str:
    if half.startswith("p") and hour < 12:
        hour += 12
    if half.startswith("a") and hour == 12:
        hour = 0
    return f"t:{hour}:{minute:02d}"


NUMBER: Final = re.compile(r"[-+]?\d")
# What canonical words of days, times and rhythms begin with.
TIMES: Final = ("t:", "d:", "m:", "y:", "w:", "o:", "per-")

_WHOLE: Final = re.compile(r"#?\d+")
# A verb that no list holds; of nouns few end so: "seed", "shed".
_PAST: Final = re.compile(r"[a-z]{2,}[^\We]ed")
_COUNTERS: Final = frozenset("number no nr nummer número numéro n° º".split())
BE: Final = frozenset("be sein ser estar être heißen llamar".split())
_VERBS: Final = frozenset("be have 's sein haben ser estar tener être avoir turn reach".split())


def find_names(words: tuple[str, ...], lists: WordLists) -> Iterator[tuple[str, str]]:
    """Noun and number of every number among canonical words that is a name."""
    first = next((at for at in range(len(words)) if _is_verb(words, at, lists)), len(words))
    for at, word in enumerate(words):
        if at == 0 or not _WHOLE.fullmatch(word) or _counts(words, at, lists):
            continue
        noun = words[at - 1]
        counted = noun in _COUNTERS and _is_noun(words, at - 2, lists)
        if counted:
            noun = words[at - 2]
        if not _is_noun(words, at - 2 if counted else at - 1, lists) and not word.startswith("#"):
            continue
        if at > first and not counted and noun in lists.attributes and _stands(words, at - 1, lists):
            continue  # a single number at a time: lives in apartment 12
        yield noun, word.removeprefix("#")


def _stands(words: tuple[str, ...], at: int, lists: WordLists) -> bool:
    """In apartment 12, is grade 4, on port 80: where or what something is. Not: takes flight 12."""
    before = next((word for word in reversed(words[:at]) if word not in lists.articles), "")
    return words[at] in _ALWAYS or before in _VERBS or before in JOINING or before in lists.prepositions


# Nouns that carry a number of their own wherever they stand: "port 80".
_ALWAYS: Final = frozenset({"version", "port", "limit", "timeout"})


def _counts(words: tuple[str, ...], at: int, lists: WordLists) -> bool:
    """Something stands behind the number that there is so much of."""
    after = words[at + 1] if at + 1 < len(words) else ""
    if not after or _is_verb(words, at + 1, lists) or _is_small(after, lists):
        return False
    opens = all(word in lists.articles or word in lists.persons for word in words[: at - 1])
    return after.isalpha() and not (opens and _PAST.fullmatch(after))  # "hive 0 swarmed" counts nothing


def _is_noun(words: tuple[str, ...], at: int, lists: WordLists) -> bool:
    return (
        at >= 0
        and words[at].removesuffix("-ing").isalpha()
        and not (_is_small(words[at], lists) or _is_verb(words, at, lists))
    )


def _is_verb(words: tuple[str, ...], at: int, lists: WordLists) -> bool:
    """A form of a verb, where no noun has to stand: the invoice, of invoice, pay invoice."""
    bare = words[at].removesuffix("-ed").removesuffix("-ing")
    if bare in _VERBS:
        return True
    if bare not in lists.bases or at == 0:
        return False
    before = words[at - 1]
    if before in lists.articles or before == "'s" or before in lists.prepositions or before in JOINING:
        return False
    return before in _VERBS or not _is_verb(words, at - 1, lists)


def _is_small(word: str, lists: WordLists) -> bool:
    return (
        word in JOINING
        or word in ("about", "very", "a")
        or word in lists.prepositions
        or word in lists.conjunctions
        or word in lists.articles
        or word in lists.persons
        or word in lists.quantifiers
        or word in lists.modality
        or word in lists.negation
        or word in lists.free
        or word in lists.present
    )


JOINING: Final = frozenset("of to in on at for with by as auf bei mit für an de en con à chez avec".split())


# Polite forms whose plain form does not depend on the verb.
POLITE: Final = (
    ("ではありません", "ではない"),
    ("じゃありません", "ではない"),
    ("じゃない", "ではない"),
    ("ありません", "ない"),
    ("くありません", "くない"),
    ("していません", "していない"),
    ("ていません", "ていない"),
    ("でいません", "でいない"),
    ("ています", "ている"),
    ("でいます", "でいる"),
    ("てます", "ている"),
    ("てる", "ている"),
    ("ていました", "ていた"),
    ("でいました", "でいた"),
    ("あります", "ある"),
    ("います", "いる"),
    ("でした", "だった"),
    ("です", ""),
    ("である", ""),
)

_POLITE_VERB: Final = {
    "話します": "話す",
    "食べます": "食べる",
    "飲みます": "飲む",
    "行きます": "行く",
    "来ます": "来る",
    "します": "する",
    "見ます": "見る",
    "読みます": "読む",
    "書きます": "書く",
    "働きます": "働く",
    "住みます": "住む",
    "使います": "使う",
    "なります": "なる",
    "始まります": "始まる",
    "終わります": "終わる",
    "買います": "買う",
    "乗ります": "乗る",
    "寝ます": "寝る",
    "起きます": "起きる",
    "聞きます": "聞く",
    "できます": "できる",
    "食べません": "食べない",
    "飲みません": "飲まない",
    "しません": "しない",
    "行きません": "行かない",
    "話しません": "話さない",
    "吸います": "吸う",
    "吸いません": "吸わない",
    "泳ぎます": "泳ぐ",
    "弾きます": "弾く",
    "教えます": "教える",
    "に行われます": "",
    "に行われる": "",
    "行われます": "行われる",
    "届きます": "届く",
}
_NEGATION: Final = re.compile(r"ない|なかった|ません|ず(?:に|$)|なく")
_NUMBER: Final = re.compile(r"\d+(?:[.:]\d+)*")
_KANJI_NUMBER: Final = {
    "一": "1",
    "二": "2",
    "三": "3",
    "四": "4",
    "五": "5",
    "六": "6",
    "七": "7",
    "八": "8",
    "九": "9",
    "十": "10",
}
_COUNTED: Final = re.compile(r"([一二三四五六七八九十])(?=人|匹|本|冊|個|回|歳|才|台|枚|時|月|日|年|杯|錠|つ|階|週)")
_DAYS: Final = re.compile(r"[月火水木金土日]曜日?")
_JAPANESE_PAST: Final = re.compile(r"(?:た|だった|かった)$")
# Endings that make a statement a guess, a wish or hearsay.
_MAYBE: Final = re.compile(
    r"かもしれ|だろう|でしょう|らしい|そう(?:だ|で)|と思|と言|つもり|予定|たい|べき|なければ|ことができ|られる|はず|ようだ|みたい"
)
# Split at particles, since Japanese puts no blanks between words.
_PIECES: Final = re.compile(r"([^はがをにでへとのもやか、。]+)|([はがをにでへとのもやか])")


@dataclass(frozen=True, slots=True)
class JapaneseParts:
    """A Japanese sentence taken apart."""

    words: tuple[str, ...]
    content: tuple[str, ...]
    topic: str
    numbers: tuple[str, ...]
    negations: int
    tense: str
    modality: frozenset[str]
    asks: bool


def split_japanese(text: str) -> JapaneseParts:
    """The plain form as a single word, what stands before は, and numbers, weekdays, negation and tense."""
    line = plain_form(text)
    topic, found, rest = line.partition("は")
    return JapaneseParts(
        words=(line,),
        content=tuple(piece for piece, _ in _PIECES.findall(rest if found else line) if piece),
        topic=topic if found else "",
        numbers=tuple(_NUMBER.findall(line)) + tuple(_DAYS.findall(line)),
        negations=len(_NEGATION.findall(line)),
        tense="past" if _JAPANESE_PAST.search(line) else "present",
        modality=frozenset(_MAYBE.findall(line)),
        asks=text.strip().rstrip("。").endswith(("か", "?", "？")),
    )


def plain_form(text: str) -> str:
    """The sentence without spaces and marks, its polite ending made plain."""
    line = re.sub(r"[\s。、．！!]+", "", unicodedata.normalize("NFKC", text))
    line = _COUNTED.sub(lambda found: _KANJI_NUMBER[found[1]], line)
    line = (
        re.sub(r"(?<=[月火水木金土日])曜日", "曜", line)
        .replace("アレルギーを持っている", "アレルギーがある")
        .replace("アレルギーを持っています", "アレルギーがあります")
    )
    line = line.replace("にアレルギー", "アレルギー")
    for polite, plain in _POLITE_VERB.items():
        if line.endswith(polite):
            return line[: -len(polite)] + plain
    for polite, plain in POLITE:
        if line.endswith(polite):
            return line[: -len(polite)] + plain
    return line[:-1] if line.endswith("だ") and not line.endswith(("んだ", "いだ")) else line
