"""The words of each language, one TOML file per language.

A new language needs one new file and no change of code: ``docs/howto/add-a-language.md``. A role is the part that words
play for the code, for example ``negation``. :data:`ROLES` lists the roles. A file has the words of a role in
``[words]``, separated by blanks, or in ``[phrases]``, one regular expression a line. Each file is read once.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

from memwarden.errors import InvalidConfig

# What the words of a role are for. A language may leave any role out.
ROLES: Final[Mapping[str, str]] = MappingProxyType({
    # Detection and terms.
    "stop": "function words, which recall drops and which show the language",
    "telling": "further common words that show the language",
    "signs": "signs that only this language writes",
    "elisions": "beginnings of words before an apostrophe",
    "contractions": "ends of words after an apostrophe",
    "particles": "characters without content, in scripts without spaces",
    "kana_particles": "pairs of kana without content",
    "very_common": "words that about 1 in 40 everyday texts contains",
    "common": "words that about 1 in 170 everyday texts contains",
    # Sentences.
    "abbreviations": "words whose full stop does not end a sentence",
    "negation": "words that deny something",
    # Calendar.
    "months": "the 12 months, January first",
    "months_short": "short forms of the months, in the same order, - for none",
    "weekdays": "the 7 weekdays, Monday first",
    "weekdays_short": "short forms of the weekdays, in the same order",
    "time": "words that name a time",
    "time_turns": "words before a unit of time that make it a time: last, next, two",
    "time_units": "units of time, singular",
    # Questions.
    "question_words": "words that open a question",
    "question_leads": "words before the word that opens a question",
    "stated": "words of doubt before what is stated all the same: if you need me, I am supposed to",
    "clause_openers": "words that begin a clause which states something",
    "of_asking": "words for asking and questions",
    "of_things": "asks for things: what, anything",
    "of_manner": "asks for a person, a manner, a reason, a time or a number: who, how, why",
    "whatever": "words of a question for whatever was on some days: what happened, remind me what we did",
    "when": "asks for a time, a duration or a frequency",
    "why": "asks for a reason",
    "list": "asks for several things",
    "past": "asks for what was true before",
    "earlier": "says that something was before something else",
    "request_openers": "words that begin a request or a question of yes or no after a statement",
    "tags": "ask after a statement whether it is true",
    "whether": "begins a question that is answered by yes or no",
    "open_question": "words that make such a question open",
    # Persons and manners.
    "first_person": "words of the person who speaks",
    "speaker": "words of others for the person who speaks, such as user",
    "objects": "words for a thing that was named before: it, them",
    "auxiliaries": "verbs that stand before the subject of a question: did, am",
    "please": "politeness at the beginning of a request",
    "remember_that": "asks to remember the sentence that follows",
    "remember_clause": "asks to remember the clause that follows, which has another order of words than a sentence",
    "decision": "says that something was decided",
    "convention": "says how something is always done",
    "greetings": "words of greeting",
    "farewells": "words of farewell",
    "thanks": "words of thanks",
    "praise": "words that praise help or name it, without content beside thanks: clever, tip",
    "small_talk": "other words without content: praise, agreement, laughter",
    "small_talk_turns": "whole messages without content, in scripts without spaces",
    "pleasantries": "phrases of small talk",
    "acknowledgements": "phrases that acknowledge, wish well or offer help",
    # What lasts in a person's life.
    "titles": "words before or after the name of a person: Mr, Dr",
    "jobs": "names of jobs",
    "animals": "animals that people keep",
    "vehicles": "vehicles that people own",
    "allergens": "foods, medicines and other things that people are often allergic to",
    "doses": "units of a dose of medicine",
    "person_verbs": "verbs before or after the name of a person, in a language where every noun has a capital",
    "unnamed": "words for persons without a name, in a language where every noun has a capital: who, no one",
    "old_or_new": "old and new, which stand before the name of a thing",
    "no_pronouns": "names and words that are a pronoun in another language: Mia, il",
    "no_relations": "words that are a relative in another language: son",
    "streets": "names of streets with the number of a house, which are no names of people",
    "laughter": "shows that a sentence is meant as a joke",
    # Logs of chats.
    "deleted_message": "a chat program's note on a deleted message",
    "edited_message": "a chat program's note on an edited message",
    "left_out": "a chat program's word for a picture or file that was left out",
    "assistant_names": "names of an assistant in place of a speaker",
    # Answers of an assistant.
    "address": "words with which an assistant addresses the person",
    "keeps": "an assistant says that it will remember",
})  # fmt: skip
# What phrases say of a known fact. "|" separates phrases. "*" at the end of a word stands for any ending, "_" for up to
# four words between.
UPDATE_ROLES: Final[Mapping[str, str]] = MappingProxyType({
    "over": "something ended: sold, cancelled, no longer",
    "changed": "something got a new value: moved, postponed, renamed",
    "scaled": "a number became another: raised, went down",
    "corrected": "what was said before is wrong",
    "joins": "joins two statements: and",
    "now": "weak signs of a change, which count only in the same sentence",
    "moved": "a new home",
    "home": "tells a home",
    "dwelling": "names a dwelling or a time in a place, before the place or behind it: my time in",
    "housed": "of these, those before an address: live at",
    "addressed": "of these, those that may be the address of a shop, too: address",
    "hired": "a new place of work",
    "work": "tells a place of work",
    "doubt": "a wish, a plan, a condition, a past state, another one, hearsay",
    "another": "of these, one more of a kind or a frequency, which is no doubt about what is said itself",
    "wish": "of these, a wish or a need",
    "scheduled": "of the words of doubt, those that announce a day: will be",
    "negation": "denies",
    "single": "things that have one value at a time",
    "worded": "of these, those whose value may be a common word",
    "dated": "things that have one day at a time",
    "rescheduled": "a person gives another day to a thing of several people: moved the",
    "several": "things that people have many of",
    "uses": "verbs that say no more than that something is there or in use",
    "parted": "two people are no longer a couple",
    "left": "a person left a post",
    "post": "names a post that one person holds for somebody: a boss, a doctor, a landlord",
    "partner": "names a partner",
    "of": "joins a thing to what it belongs to",
    "link": "joins a name to what it is the name of, in a script without spaces",
    "contrast": "denies the words that follow it",
    "said": "the speaker names a number or name as it was said before: I said",
    "usual": "says that something is a habit, and nothing else: always",
    "arrived": "the speaker is in a place now, which is a new home if the next clause tells a home",
    "indefinite": "articles of a thing that was not named before: a, an",
    "premises": "places of work that move, and are not a home",
    "numbers": "words for one to twelve, separated by blanks",
})  # fmt: skip
# Topics in which people say of themselves what lasts, the weightiest first.
# In these phrases "<kin>", "<other>", "<job>", "<animal>", "<vehicle>", "<post>" and "<weekday>" are any word of that
# list. "<other>" is anybody who is not a relative, for example a friend. "<relative>" is a relative of the speaker
# with or without a name, "my little sister Ana", and "<ownpet>" an animal. "<age>" is a number that counts no unit.
# Further lists are "<month>", "<year>", "<number>", of one or two digits, "<code>", of three or more, and "<dose>".
# medicines, codes, rules, current, upcoming: what is in force: a dose, a number to know, an agreement, a new value, a
# day to come.
LASTING_TOPICS: Final = (
    "health", "medicines", "home", "work", "identity", "family", "people", "pets", "likes", "habits", "things", "codes",
    "rules", "current", "upcoming",
)  # fmt: skip
# Further keys of these phrases: words by which something ended, began again or a couple parted, and of no lasting fact.
# moves, starts: the speaker has a new home, a new job.
# allergies, retests: words for them, and for a new examination, after which those stated before are not certain.
# diets, meals: what a diet is called, and meals that end it.
# kin_health: what is said of a named relative who is allergic, on a diet or ill.
# lost: a thing was stolen, lost or given away.
# drafts: a text or story that the speaker wants to be written, of which nothing is true of the speaker.
# own: words for "my" and "our" in the languages that write only names with capitals.
# from_day: before a day from which on something holds: from 1 May. day_on: behind such a day.
# from_today: from today on. asides: begin a condition after a statement, which holds anyway: "in case I ask".
# lengths: how long something has been so, which is outdated a year later.
# instructs: begins a standing instruction for the assistant: "when I ask for".
# is_called: joins the word for a post to the name of its holder: is, is called.
# other_time: before a post or a partner: who held it before or will hold it: former, next.
# verbs: what the speaker does. With a word of "regular", for example "every week", it is a habit.
# replies: begin a sentence that answers another, and is not clear alone.
# hearsay: the speaker repeats the words of another person.
# announces: the speaker starts a new job, at a time that the sentence names.
# announces_at: of these, those before the name of an employer.
# written_out: contractions with their long forms, by which phrases are found, too: "i'm = i am".
# relocates, retires: the speaker left a home or working life, in a clause that names nothing else. quits: the speaker
# left the employer that the clause names. breaks: a couple is over, at the end of a sentence that names the partner.
# company: with, before a person who is no subject.
# of_others: a person as the subject, in the languages without spaces.
# results: what an examination of allergies found.
# spots: furniture and rooms, to which people move without moving house.
# nouns: words that make a noun of the word that follows, which may be written as a verb: "nuevo trabajo".
# kin_states: begins what is said of a named relative: an age, an illness, a job, a place.
# past: a dose or a code that may hold no more. others: a dose that another takes, or that is advised.
LASTING_SIGNS: Final = (
    "ended",
    "lost",
    "stolen",
    "places",
    "mornings",
    "noons",
    "nights",
    "kin_health",
    "again",
    "parted",
    "unreal",
    "moves",
    "starts",
    "diets",
    "meals",
    "verbs",
    "regular",
    "own",
    "drafts",
    "allergies",
    "retests",
    "past",
    "others",
    "replies",
    "hearsay",
    "announces",
    "announces_at",
    "relocates",
    "retires",
    "quits",
    "breaks",
    "company",
    "of_others",
    "results",
    "spots",
    "nouns",
    "kin_states",
    "written_out",
    "is_called",
    "other_time",
    "from_day",
    "day_on",
    "from_today",
    "asides",
    "lengths",
    "instructs",
)
_FOLDER: Final = Path(__file__).parent
_SETTINGS: Final = frozenset(("name", "stemmer", "frequent", "spaced", "day_with_full_stop", "capital_nouns"))
_SIZES: Final = {"months": 12, "months_short": 12, "weekdays": 7, "weekdays_short": 7}


@dataclass(frozen=True, slots=True)
class LanguageLexicon:
    """The words of a language.

    Attributes:
        code: ISO 639-1 code, the name of the file.
        name: English name of the language.
        stemmer: Snowball algorithm; "" without one.
        frequent: whether many memories are written in the language.
        spaced: whether words are separated by spaces.
        day_with_full_stop: whether a full stop follows the day before a month, for example "3. Mai".
        capital_nouns: whether every noun has a capital, so that a capital does not show a name.
        words: words of each role, lower case except abbreviations.
        phrases: regular expressions of each role.
        kin: words for each relation; the keys are English.
        posts: words for each post that one person holds for somebody, for example a dentist; the keys are attributes.
        updates: phrases of each role of :data:`UPDATE_ROLES`; empty if no fact ends by such words.
        lasting: phrases of each key of :data:`LASTING_TOPICS` and :data:`LASTING_SIGNS`.
        dates: words of time for :mod:`memwarden.text.dates.symbols`; empty if dates are not read.
    """

    code: str
    name: str
    stemmer: str = ""
    frequent: bool = False
    spaced: bool = True
    day_with_full_stop: bool = False
    capital_nouns: bool = False
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    phrases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kin: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    posts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    updates: Mapping[str, str] = field(default_factory=dict)
    lasting: Mapping[str, str] = field(default_factory=dict)
    dates: Mapping[str, Any] = field(default_factory=dict)

    def alternatives(self, role: str) -> str:
        """Return the words and phrases of a role as one expression without edges; "" without any."""
        plain = (re.escape(word).replace(r"\ ", " ") for word in self.words.get(role, ()))
        return "|".join((*self.phrases.get(role, ()), *plain))

    def date_words(self, token: str) -> list[str]:
        """Return the entries of a token of dates, for example ["jan=1", "feb=2"]."""
        return str(self.dates.get("words", {}).get(token, "")).split()


@cache
def languages() -> tuple[str, ...]:
    """Return the codes of the languages that have a file, in alphabetical order."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


@cache
def load_lexicon(code: str) -> LanguageLexicon:
    """Return the lexicon of a language of :func:`languages`."""
    return read_lexicon(_FOLDER / f"{code}.toml")


def read_lexicon(path: Path) -> LanguageLexicon:
    """Read a lexicon from a file, whose name is the code of the language.

    Raises:
        InvalidConfig: the file is missing, is not valid TOML, or has an unknown entry or a list of a wrong length.
    """
    try:
        return _make_lexicon(path.stem, tomllib.loads(path.read_text("utf-8")))
    except (OSError, ValueError) as error:  # TOMLDecodeError is a ValueError
        raise InvalidConfig(f"cannot read the lexicon {str(path)!r}: {error}") from error


def words_by_language(role: str) -> dict[str, tuple[str, ...]]:
    """Return the words of a role in each language that has some."""
    return {code: words for code in languages() if (words := load_lexicon(code).words.get(role))}


@cache
def all_words(role: str) -> frozenset[str]:
    """Return the words of a role in all languages."""
    return frozenset(word for words in words_by_language(role).values() for word in words)


@cache
def pattern_of(role: str, *codes: str) -> re.Pattern[str]:
    """Return the expression that finds a role, without regard to case.

    Words of languages with spaces are found whole, those of the others anywhere. It finds nothing if no language has
    the role.

    codes: languages. All of them by default.
    """
    return re.compile(either_of([role], codes) or r"(?!)", re.IGNORECASE)


@cache
def plain_pattern_of(role: str, *codes: str) -> re.Pattern[str]:
    """Return the expression of :func:`pattern_of` for texts in lower case, which it reads in half the time."""
    return re.compile(either_of([role], codes) or r"(?!)")


def either_of(roles: Iterable[str], codes: Iterable[str] = ()) -> str:
    """Return the expression of :func:`pattern_of` as text, for any of several roles."""
    chosen = [load_lexicon(code) for code in codes or languages()]
    names = list(roles)
    spaced, unspaced = (
        "|".join(part for each in chosen if each.spaced is apart for role in names if (part := each.alternatives(role)))
        for apart in (True, False)
    )
    return "|".join(part for part in (rf"(?<!\w)(?:{spaced})(?!\w)" if spaced else "", unspaced) if part)


def read_lines(name: str) -> list[str]:
    """Return the lines of a text file of this folder."""
    return (_FOLDER / name).read_text("utf-8").splitlines()


def _make_lexicon(code: str, table: Mapping[str, Any]) -> LanguageLexicon:
    unknown = table.keys() - _SETTINGS - {"words", "phrases", "kin", "posts", "updates", "lasting", "dates"}
    unknown |= {role for part in ("words", "phrases") for role in table.get(part, ()) if role not in ROLES}
    unknown |= table.get("updates", {}).keys() - UPDATE_ROLES.keys()
    unknown |= table.get("lasting", {}).keys() - {*LASTING_TOPICS, *LASTING_SIGNS}
    if unknown:
        raise ValueError(f"unknown entry {min(unknown)!r}")
    words = _read_each(table.get("words", {}), _split_words)
    for role, size in _SIZES.items():
        if len(words.get(role, ())) not in (0, size):
            raise ValueError(f"{role} has {len(words[role])} words instead of {size}")
    return LanguageLexicon(
        code=code,
        **{name: table[name] for name in _SETTINGS & table.keys()},
        words=words,
        phrases=_read_each(table.get("phrases", {}), _split_lines),
        kin=_read_each(table.get("kin", {}), _split_words),
        posts=_read_each(table.get("posts", {}), _split_words),
        updates=MappingProxyType(table.get("updates", {})),
        lasting=MappingProxyType(table.get("lasting", {})),
        dates=MappingProxyType(table.get("dates", {})),
    )


T = TypeVar("T")


def _read_each(table: Mapping[str, str], read: Callable[[str], T]) -> Mapping[str, T]:
    return MappingProxyType({name: read(text) for name, text in table.items()})


def _split_words(text: str) -> tuple[str, ...]:
    return tuple(word.replace("_", " ") for word in text.split())


def _split_lines(text: str) -> tuple[str, ...]:
    return tuple(text.strip("\n").split("\n"))
