"""The check band judged by a model; a scripted one stands for the model, nothing else."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest

from memwarden.errors import ModelUnavailable
from memwarden.models import json_answers
from memwarden.recall.nearby import NearbyMemory
from memwarden.remember.resolve.resolution import NeighbourPair
from memwarden.remember.resolve.resolver import SCHEMA, judge_by_model
from memwarden.remember.resolve.same_fact import Judgement
from memwarden.testing.examples import a_memory
from memwarden.testing.scripted import ScriptedModel

MAX_PAIRS = 5


def a_pair(label: str = "check", guards: tuple[str, ...] = (), name: str = "old", newer: bool = True) -> NeighbourPair:
    judgement = Judgement(label, "a rule", guards)  # type: ignore[arg-type]
    return NeighbourPair(a_memory(name), NearbyMemory(name, 0.7, 0.9), judgement, newer)


def relations(*told: str) -> str:
    return json.dumps({"relations": list(told)})


async def labels(model: ScriptedModel, *pairs: NeighbourPair) -> list[str]:
    return [pair.judgement.label for pair in await judge_by_model(model, "the new one", pairs)]


async def test_only_pairs_of_the_check_band_are_asked_about() -> None:
    model = ScriptedModel(relations("update", "same"))
    pairs = [a_pair("same"), a_pair(name="x"), a_pair("different"), a_pair(name="y", newer=False)]
    assert await labels(model, *pairs) == ["same", "supersede", "different", "same"]
    (asked,) = model.asked
    assert json.loads(asked.prompt.split("\n", 1)[1]) == [
        {"older": "text of x", "newer": "the new one"},
        {"older": "the new one", "newer": "text of y"},
    ]
    assert asked.schema == SCHEMA
    assert asked.max_tokens <= 220


async def test_nothing_is_asked_when_the_rules_decide() -> None:
    model = ScriptedModel()
    assert await labels(model, a_pair("same"), a_pair("link")) == ["same", "link"]
    assert model.asked == []


async def test_a_guard_forbids_a_merge_whatever_the_model_says() -> None:
    judged = await judge_by_model(ScriptedModel(relations("same")), "new", [a_pair(guards=("number",))])
    assert (judged[0].judgement.label, judged[0].judgement.guards) == ("link", ("number",))
    assert judged[0].judgement.rule == "model scripted"


async def test_one_prompt_holds_few_pairs() -> None:
    model = ScriptedModel(relations(*["different"] * MAX_PAIRS))
    told = await labels(model, *[a_pair(name=f"m{number}") for number in range(MAX_PAIRS + 2)])
    assert told == ["different"] * MAX_PAIRS + ["check"] * 2


@pytest.mark.parametrize(
    "garbage",
    [
        "I think they are the same!",
        relations("same", "same"),
        relations("equal"),
        '{"relations": "same"}',
        "[]",
        '{"relations": [nul',
        "{}",
        relations(),
    ],
)
async def test_garbage_is_asked_about_once_more_and_then_given_up(garbage: str) -> None:
    model = ScriptedModel(garbage, relations("update"))
    assert await labels(model, a_pair()) == ["supersede"]
    assert "JSON alone" in model.asked[1].prompt
    model = ScriptedModel(garbage, garbage, relations("update"))
    assert await labels(model, a_pair()) == ["check"]
    assert len(model.asked) == 2


async def test_json_may_stand_in_a_fence() -> None:
    assert await labels(ScriptedModel(f"Sure:\n```json\n{relations('update')}\n```"), a_pair()) == ["supersede"]


@pytest.mark.parametrize("error", [ModelUnavailable("down"), ValueError("theirs"), RuntimeError("theirs")])
async def test_a_failing_model_costs_nothing(error: Exception) -> None:
    assert await labels(ScriptedModel(error), a_pair()) == ["check"]


async def test_a_late_model_costs_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_answers, "TIME_LIMIT_SECONDS", 0.05)
    over = threading.Event()

    class Slow:
        name = "slow"

        def complete(self, system: str, prompt: str, *, schema: Mapping[str, Any], max_tokens: int) -> str:
            over.wait(300)
            return relations("same")

    began = time.monotonic()
    judged = await judge_by_model(Slow(), "new", [a_pair()])
    over.set()
    assert judged[0].judgement.label == "check"
    assert time.monotonic() - began < 150


async def test_who_is_patient_waits_as_long_as_the_model_says() -> None:
    class Slow:
        name = "slow"
        seconds = 60.0

        def complete(self, system: str, prompt: str, *, schema: Mapping[str, Any], max_tokens: int) -> str:
            time.sleep(0.1)
            return "{}"

    async def ask(patient: bool) -> Any:
        return await json_answers.ask_json(
            Slow(), "", "", schema={}, read=lambda answer: answer, max_tokens=1, seconds=0.01, patient=patient
        )

    assert await ask(False) is None
    assert await ask(True) == {}
