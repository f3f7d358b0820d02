"""People that a goal names, and the words that a saved value has of them."""

from __future__ import annotations

import pytest

from memwarden.agent.goal_names import NamedGoal, list_people


@pytest.mark.parametrize(
    ("goal", "people"),
    [
        ("Send a parcel to my brother", {"relation:brother"}),
        ("Buy something for Kofi", {"name:kofi"}),
        ("Schick ein Paket an meine Schwester", {"relation:sister"}),
        ("给我妹妹买礼物", {"relation:sister"}),
        ("Order winter boots", set()),
    ],
)
def test_the_people_of_a_goal(goal: str, people: set[str]) -> None:
    assert list_people(goal) == people


def test_a_value_names_a_person_by_a_whole_name() -> None:
    goal = NamedGoal("Write to my sister (lena)", ("lena", "mary ann"))
    assert goal.names_anyone_in("lena sizes 39")
    assert goal.names_anyone_in("Sizes of Mary Ann")
    assert not goal.names_anyone_in("mary sizes")
    assert not goal.names_anyone_in("a valley of lenari")
    assert not NamedGoal("Write to my sister").names_anyone_in("lena sizes")
