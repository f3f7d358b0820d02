"""Clauses that name who holds a post, and questions for one."""

from __future__ import annotations

import pytest

from memwarden.statements.posts import HeldPost, find_asked_post, find_held_post, find_owners


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ("My landlord is Mr. Osei.", "landlord"),
        ("Our new landlord is Ms. Fenn.", "landlord"),
        ("Mein Zahnarzt heißt Dr. Brandl.", "dentist"),
        ("Seit Mai bin ich bei einer neuen Zahnärztin, Dr. Kolb.", "dentist"),
        ("Desde mayo tengo una dentista nueva, la doctora Peña.", "dentist"),
        ("Depuis mai j'ai une nouvelle vétérinaire, Madame Fabre.", "vet"),
        ("Da maggio ho una nuova dentista, la dottoressa Galli.", "dentist"),
        ("新しい歯医者は谷先生です。", "dentist"),
        ("五月起我换了新牙医，周医生。", "dentist"),
    ],
)
def test_a_clause_names_the_holder_of_a_post(text: str, attribute: str) -> None:
    post = find_held_post(text, ())
    assert post is not None
    assert post.attribute == attribute


@pytest.mark.parametrize(
    "text",
    [
        "My dentist is on holiday.",
        "Mein Zahnarzt hat Urlaub.",
        "牙医说要少吃糖。",
        "I sold the car.",
        "歯医者に行きました。",
    ],
)
def test_other_clauses_name_nobody(text: str) -> None:
    assert find_held_post(text, ()) is None


@pytest.mark.parametrize(
    ("question", "attribute"),
    [
        ("Who is my dentist?", "dentist"),
        ("What's my landlord called?", "landlord"),
        ("Wer ist mein Zahnarzt?", "dentist"),
        ("我的牙医是谁？", "dentist"),
        ("When is my dentist appointment?", ""),
        ("What is the phone number of my dentist in Leeds?", ""),
        ("Is my dentist nice?", ""),
    ],
)
def test_a_question_for_a_holder_asks_for_no_more(question: str, attribute: str) -> None:
    assert find_asked_post(question) == attribute


def test_a_post_is_held_for_those_named_before_it() -> None:
    assert find_owners("Anna's dentist is Dr. Kolb", HeldPost("dentist", 7), ()) == ("name:anna",)
    assert find_owners("新しい歯医者は谷先生です。", HeldPost("dentist", 3), ()) == ("self",)
