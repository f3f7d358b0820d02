"""Sentences of an overview: asides, corrections and codes are kept whole, fragments and moods stay out."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memwarden.recall.answer.overview import choose_lines
from memwarden.records import Channel, Memory, Namespace

SAID_AT = datetime(2026, 9, 1, 10, tzinfo=UTC)
ANN = Namespace("default", "user/ann")


def quote(*texts: str) -> list[str]:
    """Lines of an overview of December after turns of September, one a day."""
    turns = [
        Memory(
            id=str(place),
            namespace=ANN,
            text=text,
            created_at=SAID_AT.replace(day=1 + place),
            updated_at=SAID_AT,
            channel=Channel.TURN,
            role="user",
        )
        for place, text in enumerate(texts)
    ]
    return [line.words for line in choose_lines(turns, SAID_AT.replace(month=12), None)]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("I'm allergic to penicillin, if I ever ask about medicine", "I'm allergic to penicillin"),
        ("I'm allergic to penicillin, in case I ask.", "I'm allergic to penicillin"),
        (
            "Ich bin allergisch gegen Penicillin, falls ich mal nach Medikamenten frage",
            "Ich bin allergisch gegen Penicillin",
        ),
        ("Soy alérgico a la penicilina, por si pregunto por medicamentos", "Soy alérgico a la penicilina"),
        (
            "Je suis allergique à la pénicilline, si jamais je demande un médicament",
            "Je suis allergique à la pénicilline",
        ),
    ],
)
def test_a_condition_about_later_questions_is_cut(said: str, line: str) -> None:
    assert quote(said) == [line]


@pytest.mark.parametrize(
    "said", ["I'm moving to Kiel, if the sale goes through", "If I'm allergic to nuts, I avoid them"]
)
def test_other_conditions_keep_a_sentence_out(said: str) -> None:
    assert quote(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "The front door code is not 2580 but 2850",
        "Der Türcode ist nicht 2580, sondern 2850",
        "El código del portal no es 2580 sino 2850",
        "Le code de la porte n'est pas 2580 mais 2850",
        "As of today I don't eat meat any more",
        "Ab heute esse ich kein Fleisch mehr",
        "A partir de hoy ya no como carne",
        "À partir d'aujourd'hui je ne mange plus de viande",
        "Our wedding will be on 19 June",
        "I live in Leeds. No wait, York.",
        "I live at 14 Rose Lane. It's in York.",
    ],
)
def test_a_sentence_is_quoted_whole(said: str) -> None:
    assert quote(said) == [said]


def test_a_corrected_code_replaces_the_earlier() -> None:
    assert quote("The front door code is 2580", "The front door code is not 2580 but 2850") == [
        "The front door code is not 2580 but 2850"
    ]


@pytest.mark.parametrize(
    "said",
    [
        "gels make me gag",
        "odio las fallas",
        "je roule en Gérard ou rien",
        "いや水曜じゃなくて。4月から電話、土曜の朝9時になったよ",
        "4 days, wednesdays off, a pension",
        "Llevamos dos años juntos, desde junio del 23",
    ],
)
def test_moods_replies_fragments_and_durations_are_not_quoted(said: str) -> None:
    assert quote(said) == []


def test_a_distant_relative_is_shown_if_named_again() -> None:
    said = "je vais chez ma cousine Élise"
    assert quote(said) == []
    assert quote(said, "Élise arrive demain") == ["ma cousine Élise"]
    assert quote("je vais chez ma sœur Élise") == ["ma sœur Élise"]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            "grumbled but took it. new rule 5 photo of every bike when it comes in",
            "new rule 5 photo of every bike when it comes in",
        ),
        (
            "binned it. ordered 20 litres of soap from Holloway. the washer is getting that from now on",
            "ordered 20 litres of soap from Holloway. the washer is getting that from now on",
        ),
    ],
)
def test_an_agreement_has_no_end_of_another_story_before_it(said: str, line: str) -> None:
    assert quote(said) == [line]


@pytest.mark.parametrize(
    "said",
    [
        "said yes to the canteen. start monday 5 october",
        "i got the uni job!!!! outreach office. 3.5 days, 31k pro rata",
        "médiathèque : OUI ! je commence le 12 octobre",
        "Primer día en Sagunto!! Ya soy FIJO.",
        "mein erster Tag in der Buchhandlung, die Chefin heißt Frau Wendt",
        "我换工作了，在一家宠物医院当前台",
        "I run a tea shop called Luma.",
        "german and dutch into english. Freelance, eleven years now. mostly law",
        "会社＝ソラノネ。",
    ],
)
def test_news_of_a_job_is_quoted_with_the_words_that_name_it(said: str) -> None:
    assert quote(said) == [said]


@pytest.mark.parametrize("said", ["I got the job!", "start monday 5 october", "i start the diet on monday"])
def test_news_of_no_named_job_is_not_quoted_later(said: str) -> None:
    assert [line for line in quote(said) if line == said] == []


@pytest.mark.parametrize(
    "said",
    [
        "oh and latex confirmed positive, mild",
        "almond's fine its only hazelnut.",
        "No red meat still.",
        "shellfish and me don't mix",
        "I'm Rhys, 20, second year in Leeds, from Swansea originally.",
        "when i ask for code: diff only, no explanation unless i ask.",
    ],
)
def test_short_statements_are_quoted(said: str) -> None:
    assert quote(said) == [said]


@pytest.mark.parametrize("said", ["can't have the egg now", "is walnut confirmed?", "my boss runs a tea shop"])
def test_moments_questions_and_others_are_not_quoted(said: str) -> None:
    assert quote(said) == []


def test_hours_that_changed_later_are_not_quoted_around_a_job() -> None:
    said = "got the job!! IT desk at the library, tuesdays and thursdays 4 to 8"
    assert all("tuesdays" not in line for line in quote(said, "the desk changed my shifts, mondays and fridays now"))


@pytest.mark.parametrize(
    "said",
    [
        "Anil is allergic to cats",
        "Emil ist hochallergisch gegen Haselnüsse",
        "Léa est allergique aux noix",
        "Marta es alérgica a las nueces",
    ],
)
def test_an_allergy_of_a_named_person_is_quoted(said: str) -> None:
    assert quote(said) == [said]


@pytest.mark.parametrize("said", ["Kuchen ist vegan", "This cheese is vegan", "la jefa es celíaca", "Tom was vegan"])
def test_a_diet_of_nobody_by_name_is_not_quoted(said: str) -> None:
    assert quote(said) == []


def test_a_new_test_ends_the_allergy_of_a_named_person() -> None:
    assert quote("Anil is allergic to cats", "so Anil had his allergy test, it went well") == []
    assert quote("Anil is allergic to cats", "so Anil is no longer allergic to cats") == []


def test_a_home_is_quoted_with_its_town_and_its_house() -> None:
    said = "I moved to Bristol last week. My new address is 12 Elm Street."
    assert quote(said) == [said]
    assert quote("A blue door. I live in Leeds. I moved to York.") == ["I moved to York."]
