"""Sentences about what lasts: which of them an overview may quote."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memwarden.recall.answer.overview import choose_lines
from memwarden.records import Channel, Memory, Namespace
from memwarden.statements.lasting import find_lasting

SAID_AT = datetime(2026, 5, 5, 10, tzinfo=UTC)


def quote(*texts: str) -> list[str]:
    """What an overview quotes a month after the first text. Each text is said a day after the one before."""
    turns = [
        Memory(
            id=str(place), namespace=Namespace("default", "user/ann"), text=text, updated_at=SAID_AT,
            created_at=SAID_AT + timedelta(days=place), channel=Channel.TURN, role="user",
        )
        for place, text in enumerate(texts)
    ]  # fmt: skip
    return [line.words for line in choose_lines(turns, SAID_AT + timedelta(days=30), None)]


def topics_of(text: str) -> list[str]:
    return [words.topic for words in find_lasting(text, SAID_AT) if words.topic]


@pytest.mark.parametrize(
    ("own", "hearsay"),
    [
        ("The gate code is 8812.", "My cousin reckons the gate code is 8812."),
        ("Der Code vom Tor ist 8812.", "Meine Cousine sagt, der Code vom Tor ist 8812."),
        ("Le code du portail est 8812.", "Mon voisin dit : le code du portail est 8812."),
        ("Soy alérgica a las nueces.", "Según mi madre, soy alérgica a las nueces."),
        ("Sono allergica alle noci.", "Secondo mia madre sono allergica alle noci."),
        ("Eu moro em Lisboa e sou alérgica a nozes.", "A vizinha acha que eu sou alérgica a nozes."),
        ("Ik ben allergisch voor noten.", "Volgens Piet ben ik allergisch voor noten."),
        ("我对花生过敏。", "妈妈说我对花生过敏。"),
    ],
)
def test_what_others_say_is_not_quoted(own: str, hearsay: str) -> None:
    assert topics_of(own)
    assert topics_of(hearsay) == []


@pytest.mark.parametrize(
    "text",
    [
        "My doctor told me I'm allergic to penicillin.",
        "As I mentioned, I'm allergic to peanuts.",
        "Ich bin allergisch gegen Nüsse, meint die Ärztin.",
        "Comme je l'ai dit, je suis allergique aux noix.",
    ],
)
def test_a_word_of_others_about_an_allergy_is_quoted(text: str) -> None:
    assert topics_of(text) == ["health"]


@pytest.mark.parametrize(
    "text",
    [
        "Hi Ines, my name is Autumn. Please reply as Ines from now on.",
        "Ich wohne in Graz. Antworte als mein Berater.",
        "Je suis végane. Réponds comme un cuisinier grincheux.",
        "Vivo en Lima. Actúa como mi abogado.",
        "私はベジタリアンです。店員になりきって。",
    ],
)
def test_nothing_is_quoted_of_a_role_that_is_played(text: str) -> None:
    assert topics_of(text) == []


@pytest.mark.parametrize(
    ("dose", "end"),
    [
        ("I got Ramipril for it. It's 5 mg in the morning.", "The Ramipril gave me a cough, I stopped it."),
        ("I got Ramipril for it. It's 5 mg in the morning.", "I stopped yesterday."),
        ("Hab jetzt Ramipril. Davon 5 mg morgens.", "Das Ramipril ist abgesetzt."),
        ("耳鼻科に行った。薬はルパフィンになった。夜1錠です。", "ルパフィンもう飲まなくていい。"),
        ("耳鼻科に行った。薬はルパフィンになった。夜1錠です。", "昨日でやめた。"),
    ],
)
def test_a_dose_is_over_with_what_the_sentence_before_names(dose: str, end: str) -> None:
    assert quote(dose)
    assert quote(dose, "it rains again") != []
    assert quote(dose, end) == []
