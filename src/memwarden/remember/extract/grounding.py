"""Tells how much of a statement its messages say, by its words: what a model adds of its own is in none of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from memwarden.records import Memory
from memwarden.text.dates.recognizer import spans_in
from memwarden.text.language import normalize_text
from memwarden.text.tokenizer import GLUED_SCRIPT, content_terms, fold, words_and_forms

# Words with so long a beginning in common are forms of each other: "paints" and "painting".
MIN_STEM: Final = 4
# Of labelled facts of everyday histories in six languages .99 have this share of their words in their thread, and .2 in
# another one.
MIN_SOME: Final = 0.2
# Of fewer words of its own a statement may share a name or a day alone: "is called Gerlinde" of "I am Gerlinde".
MIN_TELLING: Final = 3
# Kana between Han signs are mostly grammar; katakana are words.
_SIGNS: Final = re.compile("[\u4e00-\u9fff\u3400-\u4dbf\uac00-\ud7af]|[\u30a1-\u30ff]{2,}")
# Who speaks, as models call whoever gives no name.
_SPEAKER: Final = re.compile(
    r"\b(?:user|nutzer|nutzerin|benutzer\w*|usuari[oa]|utilisat\w+|assistant\w*)\b|用户|使用者|ユーザー?|利用者",
    re.IGNORECASE,
)


class Said:
    """The words of messages, to hold statements against."""

    def __init__(self, turns: Iterable[Memory]) -> None:
        listed = list(turns)
        text = "\n".join(turn.text for turn in listed)
        names = " ".join({turn.name for turn in listed if turn.name})
        self._names = words_and_forms(names)
        self._plain = fold(normalize_text(text))
        self._words = words_and_forms(text)
        self._beginnings = {word[:MIN_STEM] for word in self._words if len(word) >= MIN_STEM}

    def holds(self, word: str) -> bool:
        """Whether a word, or a form of it, was said."""
        if word in self._words:
            return True
        if word[0].isdigit() or not word.isalpha():
            return word in self._plain
        if GLUED_SCRIPT.match(word):
            return word in self._plain
        return len(word) >= MIN_STEM and (word[:MIN_STEM] in self._beginnings or word in self._plain)

    def holds_some(self, statement: str, at: Memory) -> bool:
        """Whether a statement says what was said in whatever words: of its words a few were said, one at least."""
        telling = self._of_their_own(statement, at)
        if sum(map(self.holds, telling)) >= MIN_SOME * len(telling):
            return True
        return len(telling) < MIN_TELLING and not words_and_forms(at.text).isdisjoint(content_terms(statement))

    def _of_their_own(self, statement: str, at: Memory) -> list[str]:
        return [word for word in telling_words(statement, at) if word not in self._names]


def telling_words(statement: str, at: Memory) -> list[str]:
    """Return the words of a statement that tell something: no days, which are told anew, and not who speaks."""
    bare = _SPEAKER.sub(" ", statement)
    for span in spans_in(bare, at.created_at):
        bare = bare.replace(span.text, " ")
    words = [word for word in content_terms(bare) if not GLUED_SCRIPT.search(word)]
    return list(dict.fromkeys((*words, *_SIGNS.findall(bare))))
