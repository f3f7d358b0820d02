"""Names of a speaker's relatives, pets, doctors and the like, said in passing: "my sister Ana", "my vet is Dr. Roe"."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from memwarden.statements.lasting import LastingWords, load_signs, tells_break
from memwarden.statements.renewed import is_post_changed
from memwarden.statements.wording import names_in, subject_words
from memwarden.text.language import language_of, normalize_text
from memwarden.text.lexicon import all_words, languages, load_lexicon
from memwarden.text.sentences import split_spans
from memwarden.text.tokenizer import terms
from memwarden.text.update_words import make_word_pattern

# Relations that last, with the names of those who have them.
LASTING_RELATIONS: Final = (
    "mother", "father", "sister", "brother", "wife", "husband", "partner", "daughter", "son", "child", "niece",
    "nephew", "mother-in-law", "father-in-law", "sister-in-law", "brother-in-law", "aunt", "uncle", "cousin",
)  # fmt: skip
# Of these, those that a person may have many of. They are worth knowing if the person names them again.
_DISTANT: Final = frozenset(("niece", "nephew", "aunt", "uncle", "cousin"))
# Relation of an animal.
PET: Final = "pet"
# Beginning of the relation to somebody who holds a post for the speaker: "post:dentist".
POST: Final = "post:"
# Posts that go with a job, of which the name alone says too little.
_OF_JOBS: Final = frozenset(("boss",))
# Posts that go with a home.
_OF_HOMES: Final = frozenset(("post:landlord",))
# Relations that one person has at a time, and that end.
COUPLE: Final = frozenset(("wife", "husband", "partner"))
# Relations that one person has for good.
_SINGLE: Final = frozenset(("mother", "father"))
# Characters read of a turn.
MAX_CHARACTERS: Final = 2_000
# Roles of clauses after which nothing more is said of a relative.
_OVER: Final = frozenset(("over", "parted", "left", "corrected"))
# Words of others.
_QUOTED: Final = re.compile(r"[「『„“«\"]")
_ASKS: Final = re.compile(r"[?？]")
_NAME: Final = r"(?P<name>[^\W\d_a-z][^\W\d_]+)"


class NamedRelative(NamedTuple):
    """A relative or pet of the speaker with a name.

    Attributes:
        text: the words that say so, as they were said.
        relation: key of the relation, "pet" for an animal, "post:dentist" for a dentist.
        name: in lower case.
        is_subject: whether an age, an illness, a job or a place follows. Then the words alone are a fragment.
        is_asked: whether a question says so.
    """

    text: str
    relation: str
    name: str
    is_subject: bool = False
    is_asked: bool = False

    @property
    def is_distant(self) -> bool:
        """Whether a person may have many of the relation, for example cousins."""
        return self.relation in _DISTANT

    def is_replaced_by(self, newer: NamedRelative) -> bool:
        """Whether newer words name the same, or another where a speaker has only one.

        A question may be about another who could hold a post.
        """
        if self.name == newer.name:
            return True
        if newer.is_asked and newer.relation.startswith(POST):
            return False
        both = {self.relation, newer.relation}
        single = self.relation in _SINGLE or self.relation.startswith(POST)
        return both <= COUPLE or (self.relation == newer.relation and single)

    def is_over(self, words: LastingWords) -> bool:
        """Whether a sentence of the same speaker says that a couple parted, or that something of the name is over."""
        if self.relation in COUPLE and words.parts:
            return True
        if self.relation in _OF_HOMES and ("home" in words.begins or words.topic == "home"):
            return True
        if self.relation.startswith(POST):
            stems = _stems_of(self, words.read.language)
            if is_post_changed(stems, words.read) or (words.topic == "people" and words.slot & stems):
                return True
        if self.relation in COUPLE and self.name in words.read.plain.split() and tells_break(words.read):
            return True
        return any(self.name in clause.text and clause.roles & _OVER for clause in words.read.clauses)


def find_named_relatives(text: str) -> list[NamedRelative]:
    """Return the relatives, pets and holders of posts that a turn names with their relation to the speaker.

    They are in the order of the text. Such words hold in a question and a plan, too: "Shall I call my sister Ana?".
    Quoted words, drafts of texts and who held a post before, or will hold it, are left out. Relatives and pets are not
    read in languages that write all nouns with capitals, or that have none. Holders of posts need a title there.
    """
    language = language_of(text)
    patterns, some = (*_load_patterns(language), *_load_titled(language)), text[:MAX_CHARACTERS]
    if not patterns or load_signs(language)["drafts"].search(normalize_text(some)):
        return []
    relations, states = {**_load_posts(language), **_load_relations(language)}, load_signs(language)["kin_states"]
    return [
        NamedRelative(
            hit[0],
            relation,
            hit["name"].lower(),
            states.match(normalize_text(span.text[hit.end() :].lstrip(" ,"))) is not None,
            _ASKS.search(span.text) is not None,
        )
        for span in split_spans(some, small_starts=True)
        if not _QUOTED.search(span.text)
        for pattern in patterns
        for hit in pattern.finditer(span.text)
        # Patterns that ignore case take "ı" and "İ" for "i".
        if (relation := relations.get(normalize_text(hit["kin"]))) is not None
        if _is_name(span.text, hit) and not _is_of_another_time(hit, relation, language)
    ]


def _is_of_another_time(hit: re.Match[str], relation: str, language: str) -> bool:
    """Whether words name who held a post or was a partner before, or who will: "my former dentist"."""
    passes = relation in COUPLE or relation.startswith(POST)
    return (
        passes
        and load_signs(language)["other_time"].search(normalize_text(hit[0][: hit.start("kin") - hit.start()]))
        is not None
    )


def _is_name(text: str, hit: re.Match[str]) -> bool:
    """Whether the capitalised word is a name, and of no one else: "my sister Ana's boss", "my brother and Ana"."""
    name = hit["name"]
    rest = text[hit.end("name") :]
    # The first word of a sentence has a capital anyway: "Yes, my sister."
    first = not any(map(str.isalpha, text[: hit.start()]))
    if first and hit.start("name") < hit.start("kin"):
        return False
    return name.lower() in names_in(f"x {name}") and name.lower() not in _calendar() and not _POSSESSED.match(rest)


_POSSESSED: Final = re.compile(r"['’]s?\b|-\w")


@cache
def _calendar() -> frozenset[str]:
    return frozenset(word.lower() for role in ("months", "weekdays") for word in all_words(role))


def _stems_of(holder: NamedRelative, language: str) -> frozenset[str]:
    """Stems of the words for the post of a holder."""
    words = load_lexicon(language).posts.get(holder.relation.removeprefix(POST), ()) if language in languages() else ()
    return frozenset(stem for word in words for stem in terms(word, language))


@cache
def _load_posts(language: str) -> dict[str, str]:
    """Relations of the words for posts, without those that go with a job."""
    posts = load_lexicon(language).posts if language in languages() else {}
    return {normalize_text(word): POST + key for key, words in posts.items() if key not in _OF_JOBS for word in words}


@cache
def _load_relations(language: str) -> dict[str, str]:
    lexicon = load_lexicon(language)
    animals = dict.fromkeys(map(normalize_text, lexicon.words.get("animals", ())), PET)
    kin = {normalize_text(word): key for key in LASTING_RELATIONS for word in lexicon.kin.get(key, ())}
    return animals | kin


@cache
def _load_patterns(language: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a language that names its words for "my". Empty for others."""
    own = load_lexicon(language).lasting.get("own", "") if language in languages() else ""
    if not own or language not in _READ or not subject_words().relations:
        return ()
    mine = "|".join(make_word_pattern(word.strip()) for word in own.split("|"))
    kin = "|".join(sorted(map(re.escape, _load_relations(language)), key=len, reverse=True))
    relative = rf"(?i:(?<!\w)(?:{mine})\s+(?:[^\W\d_]+\s+)?(?P<kin>{kin})(?!\w))"
    return (
        re.compile(rf"{relative}(?:,?\s+){_NAME}(?!\w)"),
        re.compile(rf"(?<!\w){_NAME},\s+{relative}(?=\s*(?:[,.;!?)]|$))"),
    )


@cache
def _load_titled(language: str) -> tuple[re.Pattern[str], ...]:
    """Return the pattern of a post and the title and name of its holder: "my dentist is Dr. Kolb"."""
    own = load_lexicon(language).lasting.get("own", "") if language in languages() else ""
    titles, posts = load_lexicon(language).words.get("titles", ()) if own else (), _load_posts(language)
    if not titles or not posts:
        return ()
    mine, called, title = (
        "|".join(make_word_pattern(word.strip()) for word in words)
        for words in (own.split("|"), load_lexicon(language).lasting.get("is_called", "").split("|"), titles)
    )
    post = "|".join(sorted(map(re.escape, posts), key=len, reverse=True))
    words = rf"(?i:(?<!\w)(?:{mine})\s+(?:[^\W\d_]+\s+)?(?P<kin>{post}),?(?:\s+(?:{called}))?\s+(?:{title})\.?)"
    return (re.compile(rf"{words}\s+{_NAME}(?!\w)"),)


_READ: Final = ("en", "es", "fr", "it", "pt", "nl")
