"""Posts that one person holds for somebody, such as a dentist or a landlord, and clauses that name who holds one."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache
from typing import Final, NamedTuple

from memwarden.statements.wording import SELF, find_mentions, names_in
from memwarden.text.language import language_of, normalize_text
from memwarden.text.lexicon import languages, load_lexicon, pattern_of
from memwarden.text.question_words import read_question_words
from memwarden.text.tokenizer import stop_words, terms
from memwarden.text.update_words import load_update_words

# Characters read of a clause.
MAX_CHARACTERS: Final = 160
# Words between a post and the name or title of its holder: "is now called".
MAX_LINK_WORDS: Final = 4
MAX_LINK_SIGNS: Final = 6
# Content words of a question for a holder, apart from the post: "called".
MAX_OTHER_TERMS: Final = 1


class HeldPost(NamedTuple):
    """A post whose holder a clause names.

    Attributes:
        attribute: of the statements.
        start: place in the clause up to which its owners are named, -1 if it is the speaker's own.
    """

    attribute: str
    start: int


def find_held_post(text: str, common: Collection[str]) -> HeldPost | None:
    """Return the post whose holder a clause names, None if it names none.

    "My landlord is Mr. Osei", "Aisha is my boss" and "since May I have a new dentist, Dr. Kolb" name one, "my dentist
    is on holiday" does not.

    Args:
        text: a clause.
        common: words in lower case that are not names.
    """
    code, some = language_of(text), text[:MAX_CHARACTERS]
    for attribute, pattern in _load_posts(code).items():
        if (hit := pattern.search(some)) is not None:
            if _names_holder(some[hit.end() :], code, common):
                return HeldPost(attribute, hit.start())
            return HeldPost(attribute, -1) if _ends_with_holder(some[: hit.start()], code) else None
    return None


def find_owners(text: str, post: HeldPost, common: Collection[str]) -> tuple[str, ...]:
    """Return the keys of the persons for whom somebody holds a post: those named before it, else the speaker."""
    mentions = find_mentions(text[:MAX_CHARACTERS], common)
    before = {each.key for each in mentions if each.start <= post.start and each.sort in ("name", "relation")}
    return tuple(sorted(before)) or (SELF,)


def find_asked_post(text: str) -> str:
    """Return the attribute of the post whose holder a question asks for, "" if it asks for more or for none."""
    words = read_question_words(text)
    if words.time or words.reason or words.several or words.past or words.whether:
        return ""
    code, some = language_of(text), text[:MAX_CHARACTERS]
    for attribute, pattern in _load_posts(code).items():
        if pattern.search(some) is not None:
            rest = terms(normalize_text(pattern.sub(" ", some)), code)
            return attribute if len(rest) <= MAX_OTHER_TERMS else ""
    return ""


def names_post(text: str) -> bool:
    """Whether a text names a post, or somebody with a title, which works for somebody: a landlord, a doctor."""
    code = language_of(text)
    titles = pattern_of("titles", *([code] if code in languages() else []))
    return any(pattern.search(text) is not None for pattern in (titles, *_load_posts(code).values()))


def _names_holder(behind: str, code: str, common: Collection[str]) -> bool:
    """Whether the words behind a post begin with a link and then hold a title or a name."""
    if not load_lexicon(code).spaced:
        return pattern_of("titles", code).search(behind[: 2 * MAX_LINK_SIGNS]) is not None
    words = behind.split()[: MAX_LINK_WORDS + 1]
    near = " ".join(words)
    return pattern_of("titles", code).search(near) is not None or bool(names_in(near, common))


def _ends_with_holder(before: str, code: str) -> bool:
    """Whether the words before a post are a name, function words and a word for "my": "Aisha ist jetzt meine"."""
    update_words = load_update_words(code)
    own = load_lexicon(code).lasting.get("own", "").split(" | ")
    words = normalize_text(before).split()
    if update_words is None or not 2 < len(words) <= MAX_LINK_WORDS + 2 or not before[:1].isupper():
        return False
    now = update_words.patterns["now"]
    between = [word for word in words[1:] if word not in stop_words(code) and now.fullmatch(word) is None]
    return not {words[-1], words[-2]}.isdisjoint(own) and set(between) <= set(own) and words[0] not in stop_words(code)


@cache
def _load_posts(code: str) -> Mapping[str, re.Pattern[str]]:
    """Patterns of the posts of a language by attribute."""
    if code not in languages():
        return {}
    lexicon = load_lexicon(code)
    edges = (r"(?<!\w)", r"(?!\w)") if lexicon.spaced else ("", "")
    return {
        attribute: re.compile(f"{edges[0]}(?:{'|'.join(map(re.escape, words))}){edges[1]}", re.IGNORECASE)
        for attribute, words in lexicon.posts.items()
    }
