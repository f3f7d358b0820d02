"""A later statement takes back an earlier one about the same dose, post or thing, and leaves other statements."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memwarden.recall.answer.overview import choose_lines
from memwarden.records import Channel, Memory, Namespace

SAID_AT = datetime(2026, 5, 5, 10, tzinfo=UTC)
ANN = Namespace("default", "user/ann")


def quote(*texts: str) -> list[str]:
    """Lines of an overview of turns that were said a week apart."""
    turns = [
        Memory(
            id=str(place), namespace=ANN, text=text, created_at=SAID_AT + timedelta(weeks=place),
            updated_at=SAID_AT, channel=Channel.TURN, role="user",
        )
        for place, text in enumerate(texts)
    ]  # fmt: skip
    return [line.words for line in choose_lines(turns, SAID_AT + timedelta(weeks=30), None)]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I work at Brookside Vets.", "I own a kayak."),
        ("I own a car.", "I own a kayak."),
        ("Ich besitze ein Auto.", "Ich besitze ein Kajak."),
        ("Je possède une voiture.", "Je possède un kayak."),
        ("Poseo un kayak.", "Tengo un coche."),
        ("I own a kayak.", "I sold my old desk."),
        ("My GP is Dr. Patel.", "I changed my dentist, I see Dr. Nwosu now."),
        ("I take 50 mg of metoprolol every morning.", "I take 20 mg of atorvastatin every morning."),
    ],
)
def test_another_thing_or_medicine_leaves_the_earlier_one(earlier: str, later: str) -> None:
    assert earlier in quote(earlier, later)


@pytest.mark.parametrize(
    "said",
    [
        ["I take 50 mg of metoprolol every morning.", "I take 25 mg of metoprolol now."],
        ["Tomo 400 mg de ibuprofeno cada día.", "Ahora tomo 600 mg de ibuprofeno cada día."],
        ["Ich nehme 5 mg Ramipril jeden Morgen.", "Ich nehme jetzt 10 mg Ramipril."],
        ["Je prends 5 mg de ramipril le matin.", "Je prends maintenant 10 mg de ramipril."],
        [
            "I take 50 micrograms of levothyroxine.",
            "I now take 75 micrograms of levothyroxine.",
            "I take 62.5 micrograms of levothyroxine now.",
        ],
    ],
)
def test_the_newest_dose_of_a_medicine_counts(said: list[str]) -> None:
    assert quote(*said) == [said[-1]]


@pytest.mark.parametrize(
    ("morning", "evening"),
    [
        ("I take 50 mg of metoprolol in the morning.", "I take 25 mg of metoprolol in the evening."),
        ("Ich nehme morgens 5 mg Ramipril.", "Abends nehme ich 2,5 mg Ramipril."),
        ("Je prends 5 mg de ramipril le matin.", "Je prends 2 mg de ramipril le soir."),
        ("Tomo 400 mg de ibuprofeno por la mañana.", "Tomo 200 mg de ibuprofeno por la noche."),
        ("我每天早上吃50毫克美托洛尔。", "我每天晚上吃25毫克美托洛尔。"),
    ],
)
def test_doses_at_two_times_of_the_day_stand_side_by_side(morning: str, evening: str) -> None:
    assert set(quote(morning, evening)) == {morning, evening}


@pytest.mark.parametrize(
    "later",
    [
        "I take 25 mg of metoprolol every morning.",
        "I take 25 mg of metoprolol at night now.",
        "The doctor changed it: 25 mg of metoprolol in the evening.",
        "I switched metoprolol to 25 mg in the evening.",
    ],
)
def test_a_dose_at_the_same_time_and_a_told_change_end_the_earlier(later: str) -> None:
    earlier = "I take 50 mg of metoprolol every morning."
    assert earlier not in quote(earlier, later)


@pytest.mark.parametrize("earlier", ["毎朝メトプロロールを50mg飲んでいます。", "我每天早上吃50毫克美托洛尔。"])
def test_a_new_dose_ends_a_habit_with_the_earlier_one(earlier: str) -> None:
    later = {"毎": "今はメトプロロールを25mg飲んでいます。", "我": "我现在吃25毫克美托洛尔。"}[earlier[0]]
    assert quote(earlier) == [earlier]
    assert earlier not in quote(earlier, later)


@pytest.mark.parametrize("later", ["My dad takes 25 mg of metoprolol.", "Should I take 25 mg of metoprolol?"])
def test_a_dose_of_another_and_a_question_leave_a_dose(later: str) -> None:
    assert quote("I take 50 mg of metoprolol every morning.", later) == ["I take 50 mg of metoprolol every morning."]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (
            "My GP is Dr. Patel at the Hyde Park surgery.",
            "Switched my GP since the move: it's Dr. Nwosu at Kirkstall Lane now.",
        ),
        ("My GP is Dr. Patel.", "I changed my doctor, I see Dr. Nwosu now."),
        ("Mein Zahnarzt ist Dr. Weber.", "Ich habe den Zahnarzt gewechselt."),
        ("Mi médico es el doctor Ruiz.", "He cambiado de médico, ahora voy al doctor Vega."),
        ("Ma dentiste s'appelle Mme Roux.", "J'ai changé de dentiste, maintenant je vais chez M. Petit."),
    ],
)
def test_a_changed_post_has_no_earlier_holder(earlier: str, later: str) -> None:
    assert quote(earlier) == [earlier]
    assert earlier not in quote(earlier, later)


@pytest.mark.parametrize(
    "later",
    [
        "I moved my dentist appointment to Friday.",
        "I changed my dentist's appointment to Friday.",
        "I might change my dentist.",
        "My dentist changed the appointment.",
        "My sister changed her dentist.",
    ],
)
def test_a_change_of_something_else_leaves_the_holder_of_a_post(later: str) -> None:
    assert "My dentist is Dr. Patel." in quote("My dentist is Dr. Patel.", later)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (
            "I bought a second-hand bike, a green Raleigh, for 120 pounds.",
            "I sold the Raleigh. Got 100 for it.",
        ),
        ("My car is a Skoda Fabia.", "The Skoda got stolen."),
        ("Ich fahre einen alten Skoda.", "Der Skoda wurde gestohlen."),
        ("Conduzco un Seat Ibiza.", "Me robaron el Ibiza."),
        ("Je conduis une Clio verte.", "J'ai vendu la Clio."),
        ("My car is a Toyota Corolla.", "My Toyota was stolen in front of the house."),
        ("I drive a Corolla.", "The Corolla was stolen last night outside the gym."),
        ("I drive a Toyota.", "My Toyota got stolen at the airport."),
        ("I drive a Toyota.", "I sold my Toyota to a dealer in Leeds."),
        ("Ich fahre einen alten Skoda.", "Mein Skoda wurde vor dem Haus gestohlen."),
        ("Ich fahre einen alten Skoda.", "Der Skoda wurde gestern Nacht am Bahnhof geklaut."),
        ("Je conduis une Clio verte.", "On m'a volé la Clio devant la maison."),
        ("Conduzco un Seat Ibiza.", "Me robaron el Ibiza delante de casa."),
        ("我开的是丰田。", "我的丰田被偷了。"),
        ("愛車はホンダのフィットです。", "フィットを盗まれました。"),
    ],
)
def test_a_thing_that_is_gone_is_not_shown(earlier: str, later: str) -> None:
    assert quote(earlier) == [earlier]
    assert quote(earlier, later) == []


@pytest.mark.parametrize(
    "said",
    [
        "My sister Eva is allergic to nuts.",
        "My dad Martin can't eat shellfish, remember that.",
        "My brother Callum is a plumber in Hull.",
        "Meine Schwester Eva ist allergisch gegen Nüsse.",
        "Mi hermana Eva es alérgica a las nueces.",
        "Ma soeur Eva est allergique aux noix.",
        "Mia sorella Eva è vegetariana.",
    ],
)
def test_what_lasts_of_a_named_relative_is_quoted_whole(said: str) -> None:
    assert quote(said) == [said]


@pytest.mark.parametrize(
    "said",
    [
        "My sister Eva is late again.",
        "My sister Eva might be allergic to nuts.",
        "My sister Eva says she can't eat nuts.",
        "My sister Eva was a plumber in Hull.",
    ],
)
def test_of_a_doubtful_or_passing_statement_only_the_name_is_quoted(said: str) -> None:
    assert quote(said) == ["My sister Eva"]


@pytest.mark.parametrize("said", ["My sister Eva is allergic to nuts?", "My sister Eva can't eat anything today."])
def test_a_name_that_begins_a_statement_is_no_quotation(said: str) -> None:
    assert quote(said) == []


def test_allergies_of_relatives_stay_and_a_job_or_an_allergy_that_ended_does_not() -> None:
    nuts, eggs = "My sister Eva is allergic to nuts.", "My sister Eva is allergic to eggs."
    plumber = "My brother Callum is a plumber in Hull."
    assert quote(nuts, eggs) == [eggs, nuts]
    assert nuts in quote(nuts, "My sister Ana is allergic to eggs.")
    for later in ("Callum lost his job.", "Callum got a new job.", "My brother Callum is a baker now."):
        assert plumber not in quote(plumber, later)
    assert quote(nuts, "Eva is no longer allergic to nuts.") == []
    assert plumber in quote(plumber, "My brother Tom is a plumber in Leeds.")


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I drive a Toyota.", "I lost my Toyota keys."),
        ("I own a canoe.", "I lost my phone in the canoe."),
        ("I drive a Toyota.", "I lost my Toyota in the car park."),
        ("I drive a Toyota.", "My bag was stolen in my Toyota."),
        ("I drive a Toyota.", "My Toyota keys were stolen in the gym."),
        ("I drive a Toyota.", "The Toyota next to mine was stolen in front of the house."),
        ("I drive a Toyota.", "A Toyota like mine was stolen in front of the house."),
        ("I drive a Toyota.", "The Toyota we had in London was stolen."),
        ("I drive a Toyota.", "My Toyota was nearly stolen in front of the house."),
        ("I drive a Toyota.", "Tom's Toyota was stolen in front of the house."),
        ("Ich fahre einen Volvo.", "Mir wurde das Handy im Volvo gestohlen."),
        ("Conduzco un Seat.", "Robaron el Seat de Tomás en la calle."),
        ("Je conduis une Renault.", "On m'a volé mon sac dans la Renault."),
        ("Ich fahre einen Volvo.", "Ich habe den Schlüssel vom Volvo verloren."),
        ("Je conduis une Renault.", "J'ai perdu les clés de la Renault."),
        ("Conduzco un Seat.", "Me robaron la radio del Seat."),
        ("I take 50 mg of metoprolol every morning.", "In the evening I take 25 mg of metoprolol too."),
        ("My dentist is Dr. Weber.", "The clinic changed my dentist to Friday."),
    ],
)
def test_what_is_near_a_thing_ends_nothing(earlier: str, later: str) -> None:
    assert earlier in quote(earlier, later)
