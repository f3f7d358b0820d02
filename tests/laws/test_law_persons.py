"""L5 of persons: what is known of somebody else alone is no answer about whoever asks, and own words come first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from law_stores import told
from memwarden.records import QueryResult


class Told(NamedTuple):
    """What is told of somebody else, a question about whoever asks, and the own value."""

    other: str
    question: str
    own: str


TOLD = (
    Told("My sister Jas lives in Bristol and works as a midwife.", "Where do I live?", "I live in Leeds."),
    Told("Anil is allergic to cats and sneezes all evening.", "What am I allergic to?", "I'm allergic to nuts."),
    Told("Steph is 41 and looks younger.", "How old am I?", "I turned thirty-seven yesterday."),
    Told("Meine Schwester Jule wohnt in Rostock und arbeitet dort.", "Wo wohne ich?", "Ich wohne seit Mai in Leipzig."),
    Told("Mi prima Lorena vive en Vigo y trabaja de buza.", "¿Dónde vivo yo?", "Yo vivo en Oviedo, cerca del parque."),
    Told("Ma cousine Anouk habite à Nantes.", "J'habite où ?", "J'habite à Brest depuis le printemps."),
    Told("妹のさとみは名古屋に住んでいます。", "私はどこに住んでいますか？", "私は大阪に住んでいます。"),
    Told("我妹妹小雨住在昆明。", "我住在哪里？", "我住在成都。"),
)  # fmt: skip


def asked(texts: Sequence[str], question: str) -> QueryResult:
    with told(list(texts)) as me:
        answer: QueryResult = me.query(question)
        return answer


# Somebody else does something, and it is of whoever says it all the same.
TO_ME = (
    ("Dr. Keller prescribed me 50 mg of sertraline.", "What dose of sertraline do I take?"),
    ("Sara is teaching me Spanish.", "What language am I learning?"),
    ("Our landlord Mr. Osei charges us 900 a month.", "What is my rent?"),
    ("Dr. Weber is treating my asthma.", "Do I have asthma?"),
    ("My landlord raised the rent to 900 euros.", "How much is my rent?"),
    ("Dr. Keller said the blood pressure is 140 over 90.", "What's my blood pressure?"),
    ("Jas lives with me in Leeds.", "Where do I live?"),
    ("Dr. Keller hat mir 50 mg Sertralin verschrieben.", "Welche Dosis Sertralin nehme ich?"),
    ("La doctora Peña me ha recetado 50 mg de sertralina.", "¿Qué dosis de sertralina tomo yo?"),
    ("Le docteur Morin m'a prescrit 50 mg de sertraline, à moi.", "Je prends quelle dose de sertraline ?"),
)


@pytest.mark.parametrize(("text", "question"), TO_ME)
def test_what_others_do_for_whoever_asks_is_an_answer(text: str, question: str) -> None:
    assert asked([text], question).confidence > 0.5


def test_a_name_in_what_is_stated_may_be_that_of_whoever_asks() -> None:
    with told(["The train was late."]) as me:
        me.remember("Ana lives in Bern.")
        assert me.query("Where do I live?").confidence > 0.5


@pytest.mark.parametrize("each", TOLD, ids=lambda each: each.question)
def test_what_is_told_of_somebody_else_alone_is_no_answer(each: Told) -> None:
    assert asked([each.other], each.question).confidence < 0.2  # before .7 to .99
    assert asked([each.own], each.question).confidence > 0.9


@pytest.mark.parametrize("each", TOLD, ids=lambda each: each.question)
def test_own_words_come_first_whichever_was_said_last(each: Told) -> None:
    for texts in ((each.other, each.own), (each.own, each.other)):
        answer = asked(texts, each.question)
        assert answer.items[0].memory.text == each.own
        assert answer.confidence > 0.9


def test_a_post_of_whoever_asks_is_told_of_somebody_else() -> None:
    """ "My landlord is Mr. Osei" is about him, and answers whoever asks who theirs is."""
    assert asked(["My landlord is Mr. Osei."], "Who is my landlord?").confidence > 0.9
