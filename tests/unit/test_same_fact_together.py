"""Facts that are true at once: none takes the place of another, whichever was said first."""

from __future__ import annotations

import pytest

from memwarden.remember.same_fact import judge, signature

TOGETHER = {
    "one subject": (
        ("The owner of the web shop fears dogs.", "The owner of the web shop is called Kari."),
        ("Bea's doctor is Dr. Rot.", "Bea's skin test was moved to Friday."),
        ("Otto has run four marathons.", "Otto goes running every morning."),
        ("Otto trained Bea.", "Otto joined Bosch in 2018."),
        ("Otto turned 30 in 2024.", "Otto has a beard now."),
        ("Otto has a cat called Miso.", "Otto lives in Graz now."),
        ("Otto grew up in Graz.", "Otto's parents now live in Linz."),
        ("Otto likes films.", "Otto recently finished a painting."),
        ("Otto's boss is Bea.", "Otto's boss is a vegetarian."),
        ("Otto works at Bosch.", "Otto works at night."),
    ),
    "another of many": (
        ("The project uses library alpha.", "The project uses library beta."),
        ("The user plays the drums.", "The user used to play the guitar."),
        ("Bea sails the red boat.", "Bea sails the green boat."),
        ("Bea likes the old boat.", "Bea likes the new boat."),
        ("Bea has a work phone.", "Bea has a private phone."),
        ("The model was pre-trained on German text.", "The model was fine-tuned on German text."),
        ("The call with Rot is on Monday.", "The call with Blau is on Monday."),
        ("The invoice for April is overdue.", "The invoice for August is overdue."),
    ),
    "a number that is a name": (
        ("Ana sails the boat number 7.", "Ana sails the boat number 8."),
        ("Ana sails the boat 12.", "Ana sails the boat 13."),
        ("Fact 3 about cats.", "Fact 4 about cats."),
        ("User likes item 12", "User likes item 13"),
        ("Ana keeps bees in hive 3.", "Ana keeps bees in hive 4."),
        ("Ana went to concert number 3 in Oslo.", "Ana went to concert number 4 in Oslo."),
        ("Ana paid invoice 5.", "Ana paid invoice 6."),
        ("Invoice 6 was paid on time by the bakery.", "Invoice 7 was paid on time by the bakery."),
        ("Ana paid invoice #5.", "Ana paid invoice #6."),
        ("Ana closed ticket AB-12.", "Ana closed ticket AB-13."),
        ("Room 3 is cold.", "Room 4 is warm."),
        ("Flight 12 leaves at nine.", "Flight 13 leaves at ten."),
        ("Ana took bus 5.", "Ana took bus 6."),
        ("Rechnung 5 ist bezahlt.", "Rechnung 6 ist bezahlt."),
        ("La salle 204 est froide.", "La salle 205 est froide."),
        ("La consulta 1 es para gatos.", "La consulta 2 es para gatos."),
    ),
    "it happened twice": (
        ("Bea met Otto on Monday.", "Bea met Otto on Friday."),
        ("Bea visited Rome in 2019.", "Bea visited Rome in 2021."),
        ("Bea bought 3 apples.", "Bea bought 4 apples."),
        ("Bea plays chess on Mondays.", "Bea plays chess on Fridays."),
        ("Bea runs 5 km on Mondays.", "Bea runs 10 km on Fridays."),
        ("Bea worked at Bosch.", "Bea works at Siemens."),
    ),
    "something else is denied": (
        ("Bea's cat is not vaccinated.", "Bea's cat is healthy."),
        ("Bea doesn't drink coffee.", "Bea drinks tea."),
        ("Bea is allergic to nuts.", "Bea is not allergic to milk."),
        ("Bea cannot swim.", "Bea can dance."),
    ),
}

ONE_AT_A_TIME = [
    ("Otto lives in apartment 12.", "Otto lives in apartment 14."),
    ("Bea is in grade 4.", "Bea is in grade 5."),
    ("The service listens on port 80.", "The service listens on port 81."),
    ("Bea has 4 bees.", "Bea has 3 bees."),
    ("The hall has 12 rooms.", "The hall has 13 rooms."),
    ("Otto weighs 80 kg.", "Otto weighs 82 kg."),
    ("Bea's bank is Nordea.", "Bea's bank is Postbank."),
    ("Otto is on the basic plan.", "Otto is on the family plan."),
    ("Bea's bike is red.", "Bea's bike is blue now."),
    ("Bea is engaged to Otto.", "Bea is married to Otto."),
    ("Bea ist ledig.", "Bea ist jetzt verheiratet."),
    ("The status of Orion is open.", "The status of Orion is approved."),
]


@pytest.mark.parametrize("kind", list(TOGETHER))
def test_facts_that_are_true_at_once_stay(kind: str) -> None:
    judged = [(judge(*pair), judge(*reversed(pair)), pair) for pair in TOGETHER[kind]]
    assert [one for one in judged if {"same", "supersede"} & {one[0].label, one[1].label}] == []


@pytest.mark.parametrize(("old", "new"), ONE_AT_A_TIME)
def test_what_has_one_value_at_a_time_gets_a_new_one(old: str, new: str) -> None:
    assert judge(old, new).label == "supersede"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Bea keeps bees in hive 3.", (("hive", "3"),)),
        ("Invoice #5 is open.", (("invoice", "5"),)),
        ("Bea sails the boat number 7.", (("boat", "7"),)),
        ("Bea bought Otto 5 apples.", ()),
        ("Bea weighs 70 kg.", ()),
        ("Bea lives in room 12.", ()),
        ("Room 12 is cold.", (("room", "12"),)),
    ],
)
def test_a_number_behind_a_noun_is_a_name(text: str, named: tuple[tuple[str, str], ...]) -> None:
    assert signature(text).named == named
