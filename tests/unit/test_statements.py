"""Statements without a model: clauses, subjects, hashed words and the packed form."""

from __future__ import annotations

import time

import pytest

from memwarden.statements.reader import buckets_of
from memwarden.statements.statement import PackedStatement, clauses_of, pack, same_subject, unpack
from memwarden.statements.wording import names_in, subjects_of

BUCKETS = 16_384
MAX_CLAUSES = 12
WIDTH = 256

COMMON = frozenset({"moved", "studied", "our", "the", "got", "where", "what"})


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("I drive a tram", ("self",)),
        ("Moved to Bergen in spring.", ("self",)),
        ("my sister plays the oboe", ("relation:sister",)),
        ("My sister Ines plays the oboe", ("name:ines", "relation:sister")),
        ("Ines has a new job", ("name:ines",)),
        ("she has a new job", ("third",)),
        ("What is Jarek's blood type?", ("name:jarek",)),
        ("meine Schwester wohnt in Celle", ("relation:sister",)),
        ("mi hermana vive en Vigo", ("relation:sister",)),
        ("ma sœur habite à Brest", ("relation:sister",)),
        ("Il mio volo è il 2 maggio.", ("self",)),
        ("Quando è il mio volo?", ("self",)),
        ("Il est malade.", ("third",)),
        ("Mis perros son negros.", ("self",)),
        ("Son anniversaire est le 3 mai.", ("third",)),
        ("My son is ill.", ("relation:son",)),
        ("Er is een nieuwe bakker.", ("self",)),
        ("Er wohnt in Jena.", ("third",)),
        ("Mam alergię na orzechy.", ("self",)),
        ("妹は名古屋に住んでいます", ("relation:sister",)),
        ("我妈妈对花粉过敏", ("relation:mother",)),
        ("佐藤さんは京都の人です", ("name:佐藤",)),
        ("私は京都に住んでいます", ("self",)),
        ("蓮は転勤で今は仙台です", ("name:蓮",)),
        ("ミナは大学院に進学しました", ("name:ミナ",)),
        ("転勤が決まりました。来月引っ越します", ("self",)),
        ("転勤が決まって、来月引っ越します", ("self",)),
        ("部署は異動が多いです", ("self",)),
        ("東京は転勤で来ました", ("self",)),
        ("弟は入院しています", ("relation:brother",)),
    ],
)
def test_whom_a_clause_is_about(text: str, keys: tuple[str, ...]) -> None:
    assert subjects_of(text, common=COMMON) == keys


def test_who_says_it_stands_beside_the_self() -> None:
    assert subjects_of("I drive a tram", "Femi") == ("name:femi", "self")


def test_you_of_an_assistant_is_the_user_and_its_own_self_is_nobody() -> None:
    assert subjects_of("You live in Turin.", role="assistant") == ("self",)
    assert subjects_of("I have noted that.", role="assistant") == ()


def test_a_word_that_begins_a_sentence_is_a_name_unless_it_is_common() -> None:
    assert names_in("Moved to Bergen with Olena", COMMON) == ["bergen", "olena"]
    assert names_in("Ich wohne mit Jana in Gera", COMMON) == []


def test_subjects_that_share_a_key_or_name_nobody_may_be_the_same() -> None:
    assert same_subject(("name:ana",), ("name:ana", "relation:sister"))
    assert same_subject((), ("name:ana",))
    assert same_subject(("third",), ("name:ana",))
    assert not same_subject(("name:ana",), ("self",))


def test_clauses_stand_where_they_say_in_the_text() -> None:
    text = (
        "  Got the job! I start as a driver in May, and we move to Porto because the way from Ghent is too long.\nBye"
    )
    clauses = clauses_of(text)
    assert all(text[clause.start : clause.end] == clause.text for clause in clauses)
    assert [clause.text for clause in clauses] == [
        text.strip(),
        "Got the job!",
        "I start as a driver in May, and we move to Porto because the way from Ghent is too long.",
        "I start as a driver in May",
        "and we move to Porto because the way from Ghent is too long.",
    ]


def test_an_abbreviation_ends_no_sentence_and_full_width_signs_do() -> None:
    assert [clause.text for clause in clauses_of("Dr. Hahn is my dentist.")] == ["Dr. Hahn is my dentist."]
    assert "神戸に住んでいます。" in [clause.text for clause in clauses_of("神戸に住んでいます。犬を飼っています。")]
    assert [clause.text for clause in clauses_of("Am 30. Juni ziehen wir um.")] == ["Am 30. Juni ziehen wir um."]
    assert len(clauses_of("Wir sind 30. Maria kommt auch mit.")) == 3  # the whole, and both sentences


def test_a_huge_text_has_a_bounded_number_of_clauses_and_takes_no_longer() -> None:
    began = time.process_time()
    for sign in ("a", ". ", ", and ", "我，", "A. ", "\n", "- "):
        assert len(clauses_of(sign * 300_000)) <= MAX_CLAUSES
        subjects_of(sign * 300_000)
        buckets_of(sign * 300_000)
    assert time.process_time() - began < 1


def test_hashed_words_see_negation_and_numbers_alike() -> None:
    assert buckets_of("I smoke") != buckets_of("I never smoke")
    assert buckets_of("rent is 540") == buckets_of("rent is 77")
    assert all(0 <= bucket < BUCKETS for bucket in buckets_of("¿Qué es esto? これは何"))


def test_packed_statements_come_back_as_they_were() -> None:
    one = PackedStatement((1, 2, 3), (200, 9, 1), 240, 17, 99, 1, 0, 44, 739_000, None, "self+name:Zoë", bytes(WIDTH))
    two = one._replace(until=739_100, sort=2, subject="", vector=bytes(range(256)))
    assert unpack(pack([one, two])) == [one, two]
    assert pack([]) == b""
    assert unpack(b"") == unpack(b"\x00of another format") == []
