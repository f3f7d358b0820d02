"""Questions by name in a chat of two people: the bar lets through what was said of them, and no more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources

import pytest

from memwarden import Warden
from memwarden.api.blocking import BoundScope

FILES = resources.files("memwarden.surfaces.cli.demo")
HISTORY = json.loads(FILES.joinpath("history.json").read_text(encoding="utf-8"))
ASKED = json.loads(FILES.joinpath("questions.json").read_text(encoding="utf-8"))
# What two other people would be asked, in whose chat the answer stands; here the names are those of the demo.
NEVER_SAID = [
    "Which instrument did Ines learn at the conservatory?",
    "What did Tomas name his sailing boat?",
    "How did Ines do in the half marathon in Lyon?",
    "What did Tomas paint for the charity auction?",
    "Which university is Ines applying to for her counselling degree?",
    "Where did Tomas adopt his guinea pigs?",
    "What role did Ines get in the school play?",
    "What video game tournament did Tomas win?",
    "Which novel is Ines writing the screenplay of?",
    "What did Tomas say about his knee surgery?",
]


@pytest.fixture(scope="module", params=["auto", "wordllama", pytest.param("minilm", marks=pytest.mark.soak)])
def chat(request: pytest.FixtureRequest) -> Iterator[BoundScope]:
    """The demo's chat of two partners, observed."""
    if request.param != "wordllama":
        pytest.importorskip("onnxruntime")
    with Warden.open("memory://", {"embedder": request.param}) as warden:
        for session in HISTORY["sessions"]:
            warden.scope(user="demo", thread=session["thread"]).observe(session["messages"])
        me = warden.scope(user="demo", thread="asking")
        for _ in range(3):
            me.query("Who is this?")  # each waits for vectors, for ten seconds at most
        yield me


def test_what_was_said_of_the_partners_reaches_the_default_bar(chat: BoundScope) -> None:
    right = 0
    for item in ASKED:
        if item["expect"]:
            block = chat.context([{"role": "user", "content": item["question"]}])
            right += any(source in item["expect"] for shown in block.items for source in shown.sources)
    assert right >= 10  # of 12; a table of words does not bring "live" to a street
