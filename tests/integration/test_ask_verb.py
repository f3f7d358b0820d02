"""``ask``: a chat model plans, searches and answers from memories that it cites, or says that it is not known."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from memwarden import Warden
from memwarden.errors import InvalidConfig, InvalidInput, ModelUnavailable
from memwarden.testing.scripted import ScriptedModel

SAID = [
    ("I'm allergic to walnuts.", "2026-01-05"),
    ("I've been a vegetarian for ten years.", "2026-01-20"),
    ("My brother Piet works as a tram driver.", "2026-02-02"),
]
QUESTION = "What should I cook for dinner?"
PLAN = json.dumps({"queries": ["What am I allergic to?", "What do I eat?"]})


class NumberingModel(ScriptedModel):
    """Cites the memory that holds a word: the numbers of the prompt are not known beforehand."""

    def __init__(self, word: str, plan: str) -> None:
        super().__init__(plan)
        self._word = word

    def complete(self, system: str, prompt: str, *, schema: Mapping[str, Any], max_tokens: int) -> str:
        if "numbered memories" not in system:
            return super().complete(system, prompt, schema=schema, max_tokens=max_tokens)
        line = next(line for line in prompt.splitlines() if line.startswith("[") and self._word in line)
        number = int(line[1 : line.index("]")])
        return json.dumps({"known": True, "answer": "Something without walnuts.", "cites": [number]})


def open_with(model: Any) -> Warden:
    warden = Warden.open("memory://", {"embedder": "auto", "extraction": "off"}, chat_model=model)
    me = warden.scope(user="mies", thread="t")
    me.observe([{"role": "user", "content": text, "created_at": day} for text, day in SAID])
    return warden


def test_an_answer_cites_the_memories_that_it_rests_on() -> None:
    model = NumberingModel("walnuts", PLAN)
    with open_with(model) as warden:
        me = warden.scope(user="mies", thread="u")
        answer = me.ask(QUESTION)
        assert answer
        assert (answer.known, answer.text, answer.rounds) == (True, "Something without walnuts.", 1)
        assert answer.queries == (QUESTION, "What am I allergic to?", "What do I eat?")
        (cited,) = answer.items
        assert answer.citations == (cited.id,)
        assert me.get(cited.id).text == "I'm allergic to walnuts."
        assert "allergic to walnuts" in model.asked[0].prompt  # the overview, for planning


def test_what_is_not_known_is_said_after_a_second_round() -> None:
    unknown = json.dumps({"known": False, "answer": "", "cites": [], "queries": ["Do I have a car?"]})
    model = ScriptedModel(PLAN, unknown, json.dumps({"known": False, "answer": "?", "cites": []}))
    with open_with(model) as warden:
        answer = warden.scope(user="mies").ask("Which car do I drive?")
        assert not answer
        assert (answer.text, answer.citations, answer.rounds) == ("", (), 2)
        assert answer.queries[-1] == "Do I have a car?"


def test_an_answer_that_cites_what_there_is_not_is_asked_for_again() -> None:
    wrong = json.dumps({"known": True, "answer": "Rex.", "cites": [99]})
    unsupported = json.dumps({"known": True, "answer": "Rex.", "cites": []})
    model = ScriptedModel(PLAN, wrong, unsupported)
    with open_with(model) as warden, pytest.raises(ModelUnavailable, match="no answer that can be used"):
        warden.scope(user="mies").ask("What is my dog called?")


def test_a_plan_of_garbage_leaves_the_question_itself() -> None:
    model = ScriptedModel("sure!", "{", json.dumps({"known": False, "answer": "", "cites": []}))
    with open_with(model) as warden:
        assert warden.scope(user="mies").ask(QUESTION).queries == (QUESTION,)


def test_a_model_that_fails_or_is_late_is_a_clear_error() -> None:
    with (
        open_with(ScriptedModel(*[ModelUnavailable("down")] * 3)) as warden,
        pytest.raises(ModelUnavailable, match="down"),
    ):
        warden.scope(user="mies").ask(QUESTION)

    class LateModel(ScriptedModel):
        def complete(self, system: str, prompt: str, *, schema: Mapping[str, Any], max_tokens: int) -> str:
            time.sleep(1)
            return "{}"

    began = time.monotonic()
    with open_with(LateModel()) as warden, pytest.raises(ModelUnavailable, match="took too long"):
        warden.scope(user="mies").ask(QUESTION, seconds=0.2)
    assert time.monotonic() - began < 20


def test_without_a_model_it_says_what_to_do() -> None:
    with Warden.open("memory://") as warden, pytest.raises(InvalidConfig, match="chat_model"):
        warden.scope(user="mies").ask(QUESTION)


@pytest.mark.parametrize("arguments", [{"question": ""}, {"question": 3}, {"question": "a", "seconds": 0}])
def test_wrong_arguments_are_refused(arguments: dict[str, Any]) -> None:
    with Warden.open("memory://", chat_model=ScriptedModel()) as warden, pytest.raises(InvalidInput):
        warden.scope(user="mies").ask(**arguments)


def test_the_command_says_that_it_needs_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from memwarden.surfaces.cli.main import run

    url = f"sqlite:///{tmp_path}/m.db"
    with Warden.open(url) as warden:
        warden.scope(user="mies").observe([{"role": "user", "content": SAID[0][0]}])
    assert run(["ask", QUESTION, "--db", url, "--user", "mies"]) == 2
    assert "chat_model" in capsys.readouterr().err
