"""The combination of signals into one score, and the adjustments after it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from memwarden import Warden
from memwarden.recall.rank.combine import Spread, measure_spread, weigh_closeness

BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)


def test_in_a_tiny_store_the_typical_deviation_counts() -> None:
    def spread(values: list[float]) -> Spread:
        places = np.array(values, np.float32)
        closeness: Any = SimpleNamespace(places={"first": places})
        view: Any = SimpleNamespace(alive=np.ones(len(places), np.bool_))
        return measure_spread(closeness, view)["first"]

    # Of two notes that differ widely, and of two that hardly differ.
    assert spread([0.0, 1.0]).deviation < 0.25
    assert spread([0.5, 0.501]).deviation > 0.07
    assert spread([0.0, 1.0] * 2_000).deviation == pytest.approx(0.5, rel=0.01)


def said(warden: Warden, *texts: str) -> None:
    for number, text in enumerate(texts):
        at = (BEGIN + timedelta(days=number)).isoformat()
        warden.scope(user="u", thread=f"t{number}").observe([{"role": "user", "content": text, "created_at": at}])


PAIRS = [
    ("What is my dog called?", "My dog is called Biscuit.", "My dog has a red collar from Lidl."),
    ("Wie heißt mein Hund?", "Mein Hund heißt Waldi.", "Mein Hund war heute beim Friseur."),
    ("¿Dónde trabajo?", "Trabajo en una panadería del centro.", "Hoy en el trabajo hizo mucho calor."),
    ("Où est-ce que j'habite ?", "J'habite à Lyon depuis deux ans.", "Mon appartement a besoin de peinture."),
    ("私の犬の名前は何ですか？", "犬の名前はポチです。", "犬に赤い首輪を買いました。"),
    ("我在哪里工作？", "我在一家医院当护士。", "今天上班的时候下了大雨。"),
]


@pytest.mark.parametrize(("question", "answer", "other"), PAIRS)
@pytest.mark.parametrize("answer_first", [True, False])
def test_the_order_of_unrelated_notes_changes_nothing(
    question: str, answer: str, other: str, answer_first: bool
) -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        said(warden, *((answer, other) if answer_first else (other, answer)))
        found = warden.scope(user="u", thread="asking").query(question)
        assert answer in found.items[0].memory.text


def test_a_newer_text_that_says_the_same_passes_and_says_why() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        said(warden, "I live in Leeds, near the station.", "I bought a kettle.", "I live in Cork, near the quay.")
        me = warden.scope(user="u", thread="asking")
        first, second, *_ = me.query("Where do I live?", explain=True).items
        assert "Cork" in first.memory.text
        assert "Leeds" in second.memory.text


PARAGRAPH = (
    "The greenhouse needs a new heater before the frost, and the heater should run on gas. "
    "A heater of two kilowatts is enough for a small greenhouse, if the glass is tight. "
) * 2


def test_an_assistant_counts_less_and_still_says_what_a_session_is_about() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        at = BEGIN.isoformat()
        for thread, text in (("a", "Noted, fine."), ("b", PARAGRAPH)):
            warden.scope(user="u", thread=thread).observe(
                [
                    {"role": "user", "content": f"The key of shed {thread} hangs in the hall.", "created_at": at},
                    {"role": "assistant", "content": text, "created_at": at},
                ]
            )
        found = warden.scope(user="u", thread="asking").query("Which heater for the greenhouse?", explain=True, top_k=9)
        features = {
            (item.memory.thread_id, item.memory.role): {each.name: each for each in item.why.features}
            for item in found.items
        }
    about = features["b", "assistant"]
    assert about["assistant"].contribution < -2
    # The session of the heater lifts what the person said there, although an assistant names the heater.
    assert about["session"].contribution > 0


def test_of_long_messages_the_model_of_paragraphs_counts_more() -> None:
    def view(share: float) -> Any:
        return SimpleNamespace(short_share=share)

    short, long = weigh_closeness("both", view(1.0)), weigh_closeness("both", view(0.0))
    assert {name for name in short if long[name] != short[name]} == {"first"}
    assert long["first"] > short["first"]
