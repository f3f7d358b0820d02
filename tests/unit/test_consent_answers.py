"""Consent in a chat: one question that names the change, and a plain answer. Whatever is less plain is none."""

from __future__ import annotations

import pytest

from memwarden.remember.resolve.user_context import ContextEdit, read_answer

CITY = ContextEdit("city", "Berlin")
PLAIN = [
    (CITY, "Shall I remember that you live in Berlin?", "Yes, please!"),
    (CITY, "How nice. I have noted the flat. Shall I save Berlin as your city?", "yes"),
    (CITY, "Should I update your city to “Berlin”?", "Yes."),
    (ContextEdit("city", "New York"), "Shall I remember that you live in New York now?", "Yes, that's right."),
    (ContextEdit("preferred_name", "Ana"), "Shall I remember that you'd like to be called Ana?", "Yes!"),
    (ContextEdit("pronouns", "she/her"), "May I save your pronouns as she/her?", "Sure."),
    (ContextEdit("language", "French"), "Do you want me to set your language to French?", "Yes, please do."),
    (ContextEdit("tone", "short"), "Shall I keep in mind that you prefer a short tone?", "Yes"),
    (ContextEdit("goals_add", "run a marathon"), "Shall I note that your goal is to run a marathon?", "Of course"),
    (CITY, "Soll ich mir merken, dass du in Berlin wohnst?", "Ja, bitte."),
    (CITY, "Soll ich Berlin als deine Stadt speichern?", "Ja"),
    (ContextEdit("preferred_name", "Ana"), "Soll ich speichern, dass dein Name Ana ist?", "Ja gerne!"),
    (CITY, "¿Quieres que recuerde que vives en Berlin?", "Sí, por favor"),
    (ContextEdit("language", "español"), "¿Debo guardar español como tu idioma?", "Claro que sí"),
    (CITY, "Dois-je retenir que tu habites à Berlin ?", "Oui, bien sûr"),
    (ContextEdit("preferred_name", "Léa"), "Puis-je enregistrer Léa comme prénom ?", "Oui"),
    (ContextEdit("city", "大阪"), "お住まいは大阪と覚えておきましょうか。", "はい、お願いします。"),
    (ContextEdit("city", "ベルリン"), "都市をベルリンとして保存しますか？", "はい"),
    (ContextEdit("preferred_name", "アナ"), "「アナ」さんとお呼びするように登録しますか？", "はい"),
]  # fmt: skip


@pytest.mark.parametrize(("proposal", "asked", "answer"), PLAIN)
def test_a_plain_yes_to_exactly_this_is_consent(proposal: ContextEdit, asked: str, answer: str) -> None:
    assert read_answer(asked, answer, proposal) is True


@pytest.mark.parametrize(
    "answer", ["No.", "no, thanks", "Nein danke", "No, gracias", "Non merci", "いいえ、結構です。"]
)
def test_a_plain_no_declines(answer: str) -> None:
    assert read_answer("Shall I remember that you live in Berlin?", answer, CITY) is False


ASKED = "Shall I remember that you live in Berlin?"


@pytest.mark.parametrize(
    "answer",
    [
        "ok", "👍", "", "maybe", "yes and no", "Yes, but only for this trip", "yes?", "Yesterday", "thanks",
        "hm, sure?", "Yes, I love Berlin", "I moved to Lyon", "no no yes", "Ja, aber nicht speichern", "yes " * 20,
        "はい、でも違います", "oui mais non", "Do it like yesterday", "sí pero no",
    ],
)  # fmt: skip
def test_an_unclear_answer_is_none(answer: str) -> None:
    assert read_answer(ASKED, answer, CITY) is None


@pytest.mark.parametrize(
    "asked",
    [
        "Do you like Berlin?",
        "You live in Berlin.",
        "Do you live in Berlin?",  # nothing is said of keeping it
        "Shall I remember that you live in Berlin or in Lyon?",
        "Shall I not remember that you live in Berlin?",
        "Shall I forget that you live in Berlin?",
        "Shall I remember that you live in Berlin? And shall I book the flight?",
        "Shall I book the flight? I can remember that you live in Berlin.",
        "Shall I remember that your sister lives in Berlin?",
        "Shall I remember that you used to live in Berlin?",
        "Shall I remember that you lived in Berlin?",
        "Shall I remember that you live in New Berlin?",
        "Shall I remember that you live in Berlin Heights?",
        "Shall I remember that you live in Berlin-Mitte?",
        "Shall I save East Berlin as your city?",
        "Shall I remember that you work in Berlin?",
        "Shall I remember that your city is Lyon?",
        "Shall I remember that you live in Berlin if you move?",
        "You live in Berlin. Shall I remember that?",
        "Soll ich mir merken, dass du nicht in Berlin wohnst?",
        "Soll ich mir merken, dass deine Schwester in Berlin wohnt?",
        "",
    ],
)
def test_a_question_about_something_else_is_none(asked: str) -> None:
    assert read_answer(asked, "Yes.", CITY) is None


def test_a_part_of_a_name_is_not_the_name() -> None:
    york = ContextEdit("city", "York")
    assert read_answer("Shall I remember that you live in New York?", "Yes", york) is None
    assert read_answer("お住まいは新大阪と覚えておきましょうか。", "はい", ContextEdit("city", "大阪")) is None
    assert read_answer("新大阪にお住まいだと覚えますか？", "はい", ContextEdit("city", "大阪")) is None
    assert read_answer("お住まいは大阪市と覚えておきましょうか。", "はい", ContextEdit("city", "大阪")) is None


def test_a_city_is_no_name() -> None:
    asked = "Shall I remember that your name is Florence?"
    assert read_answer(asked, "Yes", ContextEdit("city", "Florence")) is None
    assert read_answer(asked, "Yes", ContextEdit("preferred_name", "Florence")) is True


def test_taking_something_out_is_not_understood() -> None:
    assert read_answer("Shall I remember to remove Berlin as your city?", "Yes", ContextEdit("city", None)) is None
    assert read_answer("Shall I note your goal is to run?", "Yes", ContextEdit("goals_remove", "run")) is None


def test_a_value_with_signs_is_only_itself() -> None:
    assert read_answer("Shall I save your city as a.c?", "Yes", ContextEdit("city", "a.c")) is True
    assert read_answer("Shall I save your city as abc?", "Yes", ContextEdit("city", "a.c")) is None
    assert read_answer("Shall I save your city as {v}?", "Yes", CITY) is None
