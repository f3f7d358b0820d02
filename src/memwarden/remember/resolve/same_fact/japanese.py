"""Japanese: polite and plain forms are the same; any other difference forbids a merge."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

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
_PAST: Final = re.compile(r"(?:た|だった|かった)$")
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
        tense="past" if _PAST.search(line) else "present",
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
