"""Sentences that a machine changed in one point: never the same fact as what they were made from.

Each language has statements with the words that may be exchanged; what finds nothing to change makes nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwarden.remember.resolve.same_fact import judge

# What they say, and the same in other words. "{who}" and "{whom}" are people.
BASES: dict[str, list[str | tuple[str, ...]]] = {
    "en": [
        ("{who} lives in Graz.", "{who} resides in Graz."),
        ("{who} owes {whom} 40 euros.", "{whom} is owed €40 by {who}."),
        ("{who} pays 700 euros of rent a month.", "{who} pays a rent of €700 per month."),
        "{who} is married to Kim and has two children.",
        ("{who} lent {whom} a bike on Monday.", "On Monday {whom} borrowed a bike from {who}."),
        ("{who} plays the piano every Tuesday.", "On Tuesdays {who} plays the piano."),
        ("The choir is led by {who}.", "{who} leads the choir."),
        ("{who} works as a baker in Linz.", "{who} is a baker in Linz."),
        ("All doors of the house are locked at 10 pm.", "At 22:00 all doors of the house are locked."),
        "{who} is 31 years old.",
        ("{who} was born on 3 May 1990.", "{who}'s birthday is May 3, 1990."),
        ("The deadline for the report is 12 June.", "The report is due on June 12."),
        ("{who} teaches {whom} chess.", "{whom} is taught chess by {who}."),
        ("{who} takes 20 mg of zinc every day.", "{who} takes 20mg zinc daily."),
        ("{who} is allergic to nuts.", "{who} has a nut allergy."),
        ("{who} likes {whom}.", "{who} enjoys {whom}."),
        ("The service listens on port 8080.", "The service's port is 8080."),
        "{who} has three cats and a dog.",
        ("{who} reports to {whom}.", "{who}'s manager is {whom}."),
        ("{who} always takes the bus at 7:15.", "At 7:15 {who} always takes the bus."),
        ("Some rooms are heated in March.", "In March some rooms are heated."),
        ("{who} sold {whom} a boat in 2019.", "In 2019 {whom} bought a boat from {who}."),
        ("{who} prefers tea to coffee.", "{who} would rather drink tea than coffee."),
        "{who} has worked at Bosch since 2015.",
        "{who} is older than {whom}.",
    ],
    "de": [
        ("{who} wohnt in Graz.", "{who} lebt in Graz."),
        ("{who} arbeitet als Bäcker.", "{who} ist Bäcker."),
        "{who} hat drei Katzen.",
        "Das Treffen mit {whom} ist am Dienstag um 15 Uhr.",
        "{who} schuldet {whom} 40 Euro.",
        "Alle Türen sind am 3. Mai offen.",
        "{who} ist seit 2015 Lehrer.",
        "{who} kennt {whom}.",
    ],
    "es": [
        ("{who} vive en Quito.", "{who} reside en Quito."),
        "{who} tiene tres gatos.",
        "La reunión con {whom} es el martes.",
        "{who} debe 40 euros a {whom}.",
        "Todas las puertas están abiertas en mayo.",
        "{who} trabaja en el banco desde 2015.",
        "{who} conoce a {whom}.",
    ],
    "fr": [
        ("{who} habite à Lyon.", "{who} vit à Lyon."),
        "{who} a trois chats.",
        "La réunion avec {whom} est mardi.",
        "{who} doit 40 euros à {whom}.",
        "Toutes les portes sont ouvertes en mai.",
        "{who} travaille à la banque depuis 2015.",
        "{who} connaît {whom}.",
    ],
    "ja": [
        ("{who}は東京に住んでいる。", "{who}は東京に住んでいます。"),
        "{who}は猫を3匹飼っている。",
        "会議は5月3日です。",
        "{who}は{whom}を知っている。",
        "ドアは全部閉まっている。",
    ],
}
PEOPLE = (("Otto", "Bea"), ("Mira", "Jon"))
WRITTEN = {"ja": (("花子", "太郎"), ("健", "次郎"))}

WORDS: dict[str, dict[str, tuple[tuple[str, ...], ...]]] = {
    "date": {
        "en": (
            ("Monday", "Tuesday", "Friday"),
            ("Mondays", "Tuesdays"),
            ("May", "June", "March"),
            ("10 pm", "10 am", "9 pm"),
            ("every day", "every week"),
            ("daily", "weekly"),
        ),
        "de": (("Dienstag", "Montag"), ("Mai", "Juni"), ("15 Uhr", "16 Uhr")),
        "es": (("martes", "jueves"), ("mayo", "junio")),
        "fr": (("mardi", "jeudi"), ("mai", "juin")),
        "ja": (("5月", "6月"), ("3日", "8日")),
    },
    "quantifier": {
        "en": (
            ("All", "Most", "Some", "No", "Few", "Not all"),
            ("all", "most", "some"),
            ("Some", "All", "Many"),
            ("always", "often", "never", "rarely"),
            ("every", "every other"),
        ),
        "de": (("Alle", "Einige", "Keine", "Nicht alle", "Fast alle"),),
        "es": (("Todas las", "Algunas", "Muchas", "Casi todas las"),),
        "fr": (("Toutes les", "Quelques", "Presque toutes les"),),
        "ja": (("全部", "半分", "一部"),),
    },
}
NUMBER: dict[str, tuple[str, ...]] = {
    "en": ("two", "three", "five"),
    "de": ("drei", "vier"),
    "es": ("tres", "cuatro"),
    "fr": ("trois", "quatre"),
    "ja": (),
}
VERBS = "live|owe|pay|play|lead|take|like|teach|report|prefer|enjoy|reside"
# Pattern and replacement, one a way of saying no, or perhaps.
NEGATION = {
    "en": (
        (r"\b(is|was|are) ", r"\1 not "),
        (r"\b(has|have) (?=worked)", r"\1 not "),
        (
            r"^(\w+) (?=(live|owe|pay|play|lead|take|like|ha|teach|report|prefer|lent|sold|enjoy|reside)\w* )",
            r"\1 never ",
        ),
        (r"$", r" - not true"),
    ),
    "de": (
        (r"\b(ist|sind) ", r"\1 nicht "),
        (r"\b(wohnt|lebt|arbeitet|kennt|schuldet) ", r"\1 nicht "),
        (r"\bhat ", "hat keine "),
        (r"\b(wohnt|ist) ", r"\1 nicht mehr "),
    ),
    "es": (
        (r"\b(vive|reside|tiene|es|debe|están|trabaja|conoce) ", r"no \1 "),
        (r"\b(vive|trabaja) ", r"ya no \1 "),
        (r"\b(tiene|conoce) ", r"nunca \1 "),
    ),
    "fr": (
        (r"\b(habite|vit|travaille|connaît|doit) ", r"ne \1 pas "),
        (r"\b(habite|vit|travaille|connaît) ", r"ne \1 plus "),
        (r"\b(est|sont) ", r"n'\1 pas "),
        (r"\b(doit|connaît) ", r"ne \1 jamais "),
    ),
    "ja": ((r"ている。", "ていない。"), (r"ています。", "ていません。"), (r"です。", "ではありません。")),
}
MODALITY = {
    "en": (
        (r"^(?=\w)", "Kim says that "),
        (r"^(?=\w)", "Perhaps "),
        (rf"^(\w+) (?=({VERBS})s? )", r"\1 might "),
        (r"^(\w+) lives ", r"\1 used to live "),
        (r"^(\w+) (resides|lives) ", r"\1 wants to live "),
        (r"\b(is|are) ", "will be "),
        (r"\b(is|are) ", "may be "),
        (r"(?<!birthday )\bis ", "was "),
        (r"\bis ", "must be "),
        (r"\.$", "?"),
    ),
    "de": (
        (r"^", "Kim sagt, "),
        (r"\bist ", "war "),
        (r"\b(ist|sind) ", r"\1 vielleicht "),
        (r"\bwohnt ", "wohnte "),
        (r"\b(wohnt|hat|kennt) ", r"\1 angeblich "),
    ),
    "es": (
        (r"^", "Kim dice que "),
        (r"\bvive ", "vivía "),
        (r"\bvive ", "quiere vivir "),
        (r"\btiene ", "tenía "),
        (r"\b(es|están) ", r"quizás \1 "),
    ),
    "fr": (
        (r"^", "Kim dit que "),
        (r"\bhabite ", "habitait "),
        (r"\bhabite ", "veut habiter "),
        (r"\b(est|sont) ", r"\1 peut-être "),
        (r"\btravaille ", "travaillait "),
    ),
    "ja": (
        (r"ている。", "ていた。"),
        (r"ている。", "ているかもしれない。"),
        (r"です。", "でした。"),
        (r"る。", "るらしい。"),
    ),
}


def others(text: str, sets: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    for words in sets:
        for word in words:
            pattern = rf"(?<!\w){re.escape(word)}(?!\w)" if word.isascii() else re.escape(word)
            if re.search(pattern, text):
                yield from (re.sub(pattern, other, text, count=1) for other in words if other != word)


def numbers(text: str, language: str) -> Iterator[str]:
    for found in re.finditer(r"\d+", text):
        for other in (int(found[0]) + 1, int(found[0]) * 10):
            yield text[: found.start()] + str(other) + text[found.end() :]
    yield from others(text, (NUMBER[language],))


def mutants(text: str, language: str, who: str, whom: str) -> Iterator[tuple[str, str]]:
    """The kind of change and the changed sentence."""
    for changed in numbers(text, language):
        yield "number", changed
    for kind in ("date", "quantifier"):
        for changed in others(text, WORDS[kind][language]):
            yield kind, changed
    for pattern, into in NEGATION[language]:
        yield "negation", re.sub(pattern, into, text, count=1)
    for pattern, into in MODALITY[language]:
        yield "modality", re.sub(pattern, into, text, count=1)
    if who in text and whom in text:
        yield "role", text.replace(who, "\0").replace(whom, who).replace("\0", whom)
    if who in text:
        yield "role", text.replace(who, "Kim")


def every_mutant() -> list[tuple[str, str, str, str]]:
    """Language, kind, a statement, and what was made from another wording of it."""
    out: list[tuple[str, str, str, str]] = []
    for language, bases in BASES.items():
        for base in bases:
            wordings = (base,) if isinstance(base, str) else base
            for who, whom in WRITTEN.get(language, PEOPLE):
                said = [wording.format(who=who, whom=whom) for wording in wordings]
                for item in said:
                    for kind, changed in mutants(item, language, who, whom):
                        out.extend((language, kind, other, changed) for other in said if changed not in said)
    return out


MUTANTS = every_mutant()


def test_there_are_enough_of_each_kind() -> None:
    assert len(MUTANTS) >= 600
    assert min(Counter(kind for _, kind, _, _ in MUTANTS).values()) >= 25
    assert set(Counter(language for language, *_ in MUTANTS)) == {"en", "de", "es", "fr", "ja"}


@pytest.mark.parametrize("kind", ["number", "date", "quantifier", "negation", "modality", "role"])
def test_a_mutant_is_never_the_same_fact(kind: str) -> None:
    leaks = [
        (old, new)
        for _, made, old, new in MUTANTS
        if made == kind and "same" in (judge(old, new).label, judge(new, old).label)
    ]
    assert leaks == []


words = st.sampled_from(
    "the a user Otto Bea not never only is was has lives in Graz and or 5 2019 Monday every day 's , . ? by to than "
    "der nicht ist el no es le ne pas 花 は 猫 です です。 @x.y /a/b 3:15 $5 50k — 👍 \u0000 \u202e ß İ ''".split()
)
texts = st.one_of(st.text(max_size=200), st.lists(words, max_size=25).map(" ".join))


@given(texts, texts, st.one_of(st.none(), st.floats(-1, 1)))
def test_any_two_texts_are_judged_and_same_is_symmetric(old: str, new: str, cosine: float | None) -> None:
    item, two = judge(old, new, cosine=cosine), judge(new, old, cosine=cosine)
    assert (item.label == "same") == (two.label == "same")
    assert item.label != "same" or item.guards == ()
    assert item == judge(old, new, cosine=cosine)


@given(texts)
def test_a_text_is_the_same_as_itself(text: str) -> None:
    assert judge(text, text).label == "same"
    assert judge(text, f"  {text}\n").label == "same"
