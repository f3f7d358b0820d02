"""The overview of a person, and the statements of a memory, through the public API with the multilingual model."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from memwarden import Warden
from memwarden.errors import InvalidInput, NotFound

SAID = [
    ("user", "I live in Tromsø, right by the bridge.", "2026-01-03T10:00:00Z"),
    ("user", "I am allergic to sesame.", "2026-01-04T10:00:00Z"),
    ("user", "My sister Ines works as a baker.", "2026-01-05T10:00:00Z"),
    ("assistant", "You take iron tablets every morning.", "2026-01-05T10:01:00Z"),
    ("user", "if I ever got rich I would live in Biarritz", "2026-01-06T10:00:00Z"),
    ("user", "I am allergic to penicillin as well.", "2026-02-04T10:00:00Z"),
    ("user", "We moved to Bergen and live in a small house there.", "2026-03-03T10:00:00Z"),
]


@pytest.fixture(scope="module")
def me() -> Iterator[Any]:
    with Warden.open("memory://", {"embedder": "wordllama+multilingual"}) as warden:
        me: Any = warden.scope(user="nora", thread="t")
        messages = [
            {"role": role, "content": text, "created_at": at, "id": str(n)} for n, (role, text, at) in enumerate(SAID)
        ]
        wrote = me.observe(messages)
        deadline = time.monotonic() + 300
        while not me.statements(wrote.results[-1].id) and time.monotonic() < deadline:
            time.sleep(0.05)
        me.ids = [result.id for result in wrote.results]  # by the place of the message
        yield me


def values(overview: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in overview.lines:
        found.setdefault(line.attribute, []).append(line.value)
    return found


def test_the_newest_value_stands_and_lists_stay_open(me: Any) -> None:
    found = values(me.overview())
    assert found["home city"] == ["We moved to Bergen and live in a small house there."]
    assert found["allergy"] == ["I am allergic to sesame.", "I am allergic to penicillin as well."]


def test_neither_an_assistant_nor_a_hypothesis_nor_somebody_else_is_in_it(me: Any) -> None:
    text = me.overview().text
    assert "iron" not in text
    assert "Biarritz" not in text
    assert "baker" not in text


def test_somebody_else_is_found_by_name_and_by_relation(me: Any) -> None:
    assert values(me.overview("Ines"))["job"] == ["My sister Ines works as a baker."]
    assert me.overview("sister").sources == (me.ids[2],)
    assert not me.overview("Olaf")


def test_each_line_names_its_source_and_the_budget_holds(me: Any) -> None:
    whole = me.overview(budget_tokens=300)
    assert set(whole.sources) == {me.ids[n] for n in (1, 5, 6)}
    small = me.overview(budget_tokens=20)
    assert 0 < small.tokens <= 20
    assert len(small.lines) == 1


def test_what_was_forgotten_is_gone_from_it() -> None:
    with Warden.open("memory://", {"embedder": "wordllama+multilingual"}) as warden:
        other: Any = warden.scope(user="olaf")
        kept = other.remember("Olaf is allergic to bees.").results[0].id
        assert other.overview("Olaf").sources == (kept,)
        other.forget(kept)
        assert not other.overview("Olaf")


def test_what_a_memory_states(me: Any) -> None:
    (found,) = me.statements(me.ids[2])
    assert (found.attribute, found.subject) == ("job", "name:ines+relation:sister")
    assert me.statements(me.ids[4]) == ()
    with pytest.raises(NotFound):
        me.statements("nothing")
    with pytest.raises(InvalidInput):
        me.overview(budget_tokens=0)


def tell(*said: str) -> Any:
    warden = Warden.open("memory://", {"embedder": "auto"})
    scope: Any = warden.scope(user="nora", thread="t")
    for text in said:
        scope.observe([{"role": "user", "content": text}])
    return warden, scope


def test_the_home_is_named_however_it_was_told() -> None:
    warden, scope = tell("We moved into a flat in Kiruna.", "I'm vegetarian.")
    with warden:
        told = {line.value for line in scope.overview().lines}
        assert told == {"I'm vegetarian.", "We moved into a flat in Kiruna."}


def test_somebody_who_is_only_spoken_about_has_an_overview() -> None:
    warden, scope = tell("I met Ragna for lunch on Sunday.", "Ragna works at the zoo.", "Where does Ragna live?")
    with warden:
        assert {line.value for line in scope.overview("Ragna").lines} == {
            "Ragna works at the zoo.",
            "I met Ragna for lunch on Sunday.",
        }
        assert not scope.overview("Solveig")


def test_a_label_in_the_words_is_not_said_twice() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        scope: Any = warden.scope(user="nora")
        scope.remember("project budget: Budget is 15k")
        assert scope.overview().text.startswith("- project budget: Budget is 15k (")


def test_facts_in_the_third_person_are_of_whom_they_name() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        scope: Any = warden.scope(user="default")
        scope.remember("Ana lives in Vienna now.")
        assert scope.overview().text.startswith("Ana:\n- home city: Ana lives in Vienna now. (")
        scope.observe([{"role": "user", "content": "I am allergic to celery."}])
        assert "Vienna" not in scope.overview().text


@pytest.mark.parametrize(
    ("said", "value"),
    [
        (
            ["I work at Hollis as a bookkeeper.", "I quit my job at Hollis; from August I'm at Brandt Logistics."],
            "I quit my job at Hollis; from August I'm at Brandt Logistics.",
        ),
        (["Vivo en Sevilla.", "Nos hemos mudado a Valencia."], "Nos hemos mudado a Valencia."),
        (["仙台に住んでいます。", "札幌に引っ越しました。"], "札幌に引っ越しました。"),
    ],
)
def test_a_value_that_is_over_is_not_told(said: list[str], value: str) -> None:
    warden, scope = tell(*said)
    with warden:
        assert {line.value for line in scope.overview().lines} == {value}


def test_an_index_card_or_a_quotation_is_no_value_beside_the_turn_that_it_stands_for() -> None:
    said = [
        "one serious thing for you to keep in mind. I'm allergic to nuts. all of them as far as anyone knows.",
        "Understood. No nuts of any kind, and I'll flag anything that might hide them (pesto, marzipan).",
        "my shoe size is 41 and I work as a vet nurse at a small clinic by the river",
        "Noted, a vet nurse by the river with size 41.",
    ]
    with Warden.open("memory://", {"embedder": "wordllama+multilingual", "extraction": "every_turn"}) as warden:
        me: Any = warden.scope(user="nora", thread="t")
        me.observe(
            [
                {"role": ("user", "assistant")[n % 2], "content": text, "created_at": f"2026-01-0{n + 1}", "id": str(n)}
                for n, text in enumerate(said)
            ]
        )
        standing_in = [item for item in me.find({"channel": {"$ne": "turn"}}) if {"card", "quotation"} & {*item.tags}]
        assert standing_in
        lines = me.overview(budget_tokens=2_000).lines
        assert any("allergic to nuts" in line.value for line in lines)
        assert {line.source for line in lines} & {item.id for item in standing_in} == set()


# Each: what was said with its day, and what an overview has to hold of home, job and partner.
FIRST_WEEKS: dict[str, tuple[list[tuple[str, str]], list[str]]] = {
    "en": (
        [
            ("2026-01-05", "Hi, Orla here, 44, physiotherapist, living in Kilkenny with my husband Declan."),
            ("2026-02-10", "can you write me a song about otters"),
            ("2026-03-01", "choir is on Wednesdays"),
        ],
        ["kilkenny", "physiotherapist", "declan"],
    ),
    "de": (
        [
            ("2026-01-05", "Hallo, ich bin Britta, 51, und ich arbeite als Optikerin."),
            ("2026-01-09", "Ich wohne in Goslar."),
            ("2026-02-01", "Mein Mann Ulf ist bei der Bahn"),
        ],
        ["goslar", "optikerin", "ulf"],
    ),
    "es": (
        [
            ("2026-01-05", "Soy Elsa y trabajo como arquitecta."),
            ("2026-01-09", "Vivo en Vigo desde hace años."),
            ("2026-02-01", "Mi novio Rubén toca la batería"),
        ],
        ["vigo", "arquitecta", "rubén"],
    ),
    "fr": (
        [
            ("2026-01-05", "Je suis Aude et je travaille comme fleuriste."),
            ("2026-01-09", "J'habite à Quimper."),
            ("2026-02-01", "Mon mari Goulven adore la voile"),
        ],
        ["quimper", "fleuriste", "goulven"],
    ),
    "ja": (
        [
            ("2026-01-05", "私は看護師として働いています。"),
            ("2026-01-09", "金沢に住んでいます。"),
            ("2026-02-01", "夫の大輔は釣りが好きです"),
        ],
        ["金沢", "看護師", "大輔"],
    ),
    "zh": (
        [
            ("2026-01-05", "我是一名护士。"),
            ("2026-01-09", "我住在苏州。"),
            ("2026-02-01", "我老公陈磊在学游泳"),
        ],
        ["苏州", "护士", "陈磊"],
    ),
}


@pytest.mark.parametrize("language", list(FIRST_WEEKS))
def test_home_job_and_partner_stand_in_the_overview_of_a_first_week(language: str) -> None:
    said, wanted = FIRST_WEEKS[language]
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        scope = warden.scope(user="u", thread="t")
        for day, text in said:
            scope.observe([{"role": "user", "content": text, "created_at": f"{day}T10:00:00Z"}])
        found = scope.overview()
    assert [value for value in wanted if value not in found.text.lower()] == []
    assert found.tokens <= 150


def test_the_partner_is_told_by_name_alone_and_no_words_stand_twice() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        scope = warden.scope(user="u", thread="t")
        for day, text in FIRST_WEEKS["en"][0]:
            scope.observe([{"role": "user", "content": text, "created_at": f"{day}T10:00:00Z"}])
        scope.observe(
            [{"role": "user", "content": "My partner Bea stays in Leith until May.", "created_at": NEW_PARTNER}]
        )
        lines = scope.overview().lines
    assert [line.value for line in lines if line.attribute == "partner's name"] == ["Bea"]
    values = [line.value for line in lines]
    assert not any(value != other and value in other for value in values for other in values)


NEW_PARTNER = "2026-06-01T10:00:00Z"


def test_a_move_is_no_end_of_living_somewhere() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        scope = warden.scope(user="u", thread="t")
        for day, text in (
            ("2026-03-01", "I live in Umeå."),
            ("2026-05-01", "We found a house in Skara."),
            ("2026-06-02", "moved in on Saturday, boxes everywhere"),
        ):
            scope.observe([{"role": "user", "content": text, "created_at": f"{day}T10:00:00Z"}])
        assert "Skara" in scope.overview().text
