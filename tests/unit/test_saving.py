"""Rules that save a tool's result as state, and its key."""

from __future__ import annotations

from typing import Any

import pytest

from memwarden.agent.saving import decide_saving, is_only_secret


@pytest.mark.parametrize(
    ("tool", "result", "goal", "save"),
    [
        ("getUserPreferences", {"theme": "dark"}, "Open the editor", True),
        ("get_style_guide", {"tabs": False}, "Write the function", True),
        ("getAbteilungsmitglieder", ["Ivo"], "Wer kommt in Frage?", True),
        ("getTallas", {"camisa": "M"}, "Pide una camisa para mí", True),
        ("getPreferenze", {"lingua": "it"}, "Configura tutto come piace a me", True),
        ("getCoffeeOrder", {"usual": "flat white"}, "Get me my coffee", True),  # the result tells of a habit
        ("query_database", {"regulars": ["Al"]}, "Who usually orders on Fridays?", True),  # the goal asks for one
        ("list_colleague", ["Jo"], "Who could help?", True),  # a form and a language that the list has not
        ("obtener_equipo_actual", ["Jo"], "¿Quién puede ayudar?", True),
        ("get_team_status", ["Jo"], "Who could help?", False),
        ("hotel_search", {"name": "Alba"}, "Find a hotel and put it on file", True),
        ("hotel_search", {"name": "Alba"}, "Find a hotel and put it on the map", False),
        ("lookup", {"word": "fern"}, "Look it up and add it to my vocabulary", True),
        ("leseStand", {"strom": 1}, "Halte den Stand vom Zähler fest", True),
        ("getTeamMembers", ["Ivo"], "Who of the team is in the office at the moment?", False),
        ("getTeamMembersOnline", ["Ivo"], "Who could help?", False),
        ("get_member_count", {"count": 12}, "How many people are in the club?", False),
        ("getUserProfile", {"status": 503}, "Fill in the form", False),
        ("getUserProfile", {"fehler": "kein Zugriff"}, "Fill in the form", False),
        ("createProfile", {"ok": True, "id": "p-1"}, "Make a profile", False),
        ("getWifiPassword", {"ssid": "x"}, "Remember it", False),
        ("getUserProfile", {"name": "Ana", "login": {"pin": 1}}, "Fill in the form", False),
        ("getFeiertage", ["1.5."], "Merk dir die Feiertage", True),
        ("getFeiertage", ["1.5."], "Speichern musst du das nicht, sag mir nur die Feiertage", False),
        ("getContacts", ["Eva"], "No quiero que guardes nada, solo dime los nombres", False),
        ("getContacts", ["Eva"], "Donne-moi les contacts, sans les enregistrer", False),
        ("getContacts", ["Eva"], "Give me my contacts, nothing of which you should be storing", False),
        ("getTrains", ["8:10"], "Remember to tell me when the train leaves", False),
        ("getTrains", ["8:10"], "Save me some time: which train is the fastest?", False),
        ("getTrains", ["8:10"], "Use my saved list of stations, and remember the trains", True),
        ("searchFlights", [{"price": 120}], "Find a flight to Oslo", False),
        ("getWeather", {"temperature": 3}, "Do I need a coat?", False),
        ("getTeamMembers", ["Ivo", "Rosa"], "Who should review this?", True),
        ("getTeamMembers", [], "Who should review this?", False),
        ("getTeamMembers", {"success": False, "error": "no access"}, "Remember the team", False),
        ("listFiles", ["a.txt"], "Please do not save anything. List the files", False),
        ("listFiles", ["a.txt"], "Who from my saved list was there?", False),
    ],
)
def test_what_rules_keep(tool: str, result: Any, goal: str, save: bool) -> None:
    assert decide_saving(tool, result, goal).save is save


def test_a_key_says_what_it_is() -> None:
    for tool, goal, key in (
        ("getActivityKudos", "Get the activities and save kudos givers to memory", "kudos_givers"),
        ("getUserPreferences", "Open the editor", "user_preferences"),
        ("getActivityKudos", "Remember this for later", "activity_kudos"),
        ("fetch", "Remember it", "fetch"),
    ):
        assert decide_saving(tool, ["a"], goal).key == key


def test_a_secret_alone_is_not_a_result_to_save() -> None:
    assert is_only_secret("getWifiPassword", "hunter2-Xy9")
    assert is_only_secret("readNote", "my password is hunter2-Xy9!")
    assert not is_only_secret("readNote", {"text": "The meeting is at four in the small room of the town hall."})
