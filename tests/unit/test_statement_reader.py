"""Statements read with the real model of sentence vectors and the weights of the wheel."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from memwarden.models.multilingual import MultilingualEmbedder
from memwarden.recall.index.columns import StatementTable
from memwarden.records import Memory, Namespace, Statement
from memwarden.statements.reader import SaidText, StatementReader
from memwarden.statements.shown import show_statements
from memwarden.statements.statement import unpack

SAID = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def reader() -> StatementReader:
    return StatementReader(MultilingualEmbedder())


def read(reader: StatementReader, text: str, **about: Any) -> tuple[Statement, ...]:
    (packed,) = reader.pack_all([SaidText(text, SAID, **about)])
    memory = Memory(id="m", namespace=Namespace("default", "user/nora"), text=text, created_at=SAID, updated_at=SAID)
    return show_statements(memory, unpack(packed), reader.weights.name)


def only(reader: StatementReader, text: str, **about: Any) -> Statement:
    found = read(reader, text, **about)
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("text", "attribute", "subject"),
    [
        ("I live in Tromsø, right by the bridge.", "home city", "self"),
        ("ich wohne in Ulm", "home city", "self"),
        ("vivo en Almería con mi perro", "home city", "self"),
        ("j'habite à Nantes", "home city", "self"),
        ("仙台に住んでいます", "home city", "self"),
        ("我住在厦门", "home city", "self"),
        ("Olena is allergic to sesame", "allergy", "name:olena"),
        ("my brother works as a roofer", "job", "relation:brother"),
    ],
)
def test_attribute_and_subject_in_six_languages(
    reader: StatementReader, text: str, attribute: str, subject: str
) -> None:
    found = only(reader, text)
    assert (found.attribute, found.subject) == (attribute, subject)
    assert found.value == text[found.start : found.end]
    assert 0 < found.probability <= 1


@pytest.mark.parametrize(
    "text",
    [
        "if I ever got rich I would live in Biarritz",
        "Where do you live?",
        "haha that is brilliant",
        "Noted.",
        "draft a mail",
    ],
)
def test_hypotheses_questions_and_small_talk_state_nothing(reader: StatementReader, text: str) -> None:
    assert not read(reader, text)


def test_an_event_is_a_change(reader: StatementReader) -> None:
    assert only(reader, "Relocated to Bergen over the weekend!").sort == "change"
    assert only(reader, "I'm a nurse on a children's ward").sort == "state"


def test_since_when_is_told_by_the_words_else_by_the_day_it_was_said(reader: StatementReader) -> None:
    assert only(reader, "I work as a tram driver").since == date(2026, 3, 2)
    assert only(reader, "my dentist is Dr Silva since January 2024").since == date(2024, 1, 1)
    until = only(reader, "my physio is Mr Lund until 30 June 2026")
    assert (until.since, until.until) == (date(2026, 3, 2), date(2026, 6, 30))


def test_a_speaker_with_a_name_is_the_subject(reader: StatementReader) -> None:
    assert only(reader, "I work as a tram driver", speaker="Femi").subject == "name:femi+self"


def test_a_text_of_several_facts_has_several_statements(reader: StatementReader) -> None:
    text = "My rent is 740 a month. I take iron tablets every morning. Also my dentist is Dr Silva."
    assert [found.attribute for found in read(reader, text)] == [
        "rent",
        "daily medicine",
        "dentist",
    ]


def test_a_question_meets_the_statement_of_its_attribute_and_subject(reader: StatementReader) -> None:
    said = [
        "Ana is a tax clerk",
        "I'm a nurse on a children's ward",
        "got the keys for our place in Porto",
        "haha nice",
    ]
    table = StatementTable()
    table.extend(0, reader.pack_all([SaidText(text, SAID) for text in said]))
    mine = table.share_attribute(reader.question("what do I do for a living?"), 5)
    assert mine.argmax() == 1
    assert table.share_attribute(reader.question("What is Ana's job?"), 5).argmax() == 0
    never = table.share_attribute(reader.question("What is my blood type?"), 5)
    assert never.max() < 0.3 < mine.max()
    assert mine[4] == 0  # a place without statements


def test_what_is_told_of_others_is_known(reader: StatementReader) -> None:
    said = ["My sister Ana is a tax clerk", "I'm a nurse on a children's ward", "She works as a judge", "haha nice"]
    table = StatementTable()
    table.extend(0, reader.pack_all([SaidText(text, SAID) for text in said]))
    mine, hers = reader.question("what do I do for a living?"), reader.question("What is my sister's job?")
    assert table.are_of_others(mine, 4).tolist() == [True, False, True, False]
    assert table.share_of_others(mine, 4)[0] > 0.5
    assert not table.share_of_others(mine, 4)[1:2].any()
    assert table.are_of_others(hers, 4).tolist()[:2] == [False, True]
    assert reader.question("Who is my landlord?").of_somebody
    assert not mine.of_somebody


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("Jas is over in Bedminster now, just across the river, works as a midwife", "name:jas"),
        ("My sister moved to Leeds in May after all those years, works as a vet there", "relation:sister"),
        ("I moved to Leeds in May after all those years, works fine so far for us", "self"),
        ("Jas moved to Leeds in May after all these years. Works fine for everybody there", "self"),
    ],
)
def test_a_clause_without_a_subject_goes_on_about_the_one_before(
    reader: StatementReader, text: str, subject: str
) -> None:
    assert subject in unpack(reader.pack_all([SaidText(text, SAID)])[0])[-1].subject.split("+")


def test_statements_that_come_after_a_question_count_as_all_do(reader: StatementReader) -> None:
    said = reader.pack_all([SaidText(text, SAID) for text in ("Ana is a tax clerk", "I'm a nurse", "haha nice")])
    table, whole = StatementTable(), StatementTable()
    whole.extend(0, said)
    asked = reader.question("what do I do for a living?")
    table.extend(0, said[:1])
    table.share_attribute(asked, 1)
    table.extend(1, said[1:])
    assert table.share_attribute(asked, 3).tolist() == whole.share_attribute(asked, 3).tolist()


@pytest.mark.parametrize(
    ("question", "when"),
    [
        ("where do I live?", "current"),
        ("where did I live before this?", "past"),
        ("why did we switch to the new queue?", "why"),
        ("when is the next exam?", "when"),
        ("list all my allergies", "list"),
        ("wo hab ich vorher gewohnt", "past"),
        ("我什么时候出发", "when"),
    ],
)
def test_what_time_a_question_is_of(reader: StatementReader, question: str, when: str) -> None:
    assert reader.question(question).when == when


def test_an_implicit_request_needs_an_attribute(reader: StatementReader) -> None:
    found = reader.question("find me a decent ramen place nearby for tonight")
    assert found.implicit > 0.5
    assert reader.question("what is my shoe size?").implicit < 0.5


@pytest.mark.parametrize(
    ("text", "of_others"),
    [
        ("Lufthansa moved the flight to 9 May.", False),
        ("Iberia ha movido el vuelo al 9 de mayo.", False),
        ("Transavia a reporté le vol au 9 mai.", False),
        ("A TAP remarcou o voo para 9 de maio.", False),
        ("Orla moved her wedding to 9 May.", True),
        ("Orla moved to Leeds on 9 May.", True),
        ("Orla changed the tyres.", True),
    ],
)
def test_who_reschedules_what_may_be_the_speakers_says_nothing_of_others_alone(
    reader: StatementReader, text: str, of_others: bool
) -> None:
    (packed,) = reader.pack_all([SaidText(text, SAID)])
    assert {each.of_others for each in unpack(packed)} == {of_others}
