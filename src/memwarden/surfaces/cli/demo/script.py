"""The demo's script: a history and questions shipped with the package."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

from memwarden.surfaces.conversation_files import Conversation, recognise


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question with a known answer.

    Attributes:
        expect: ids of the messages that hold the answer; none when the right answer is "nothing relevant".
        answer: the answer in words, which is shown but never searched.
        note: what sort of question it is.
    """

    question: str
    expect: tuple[str, ...]
    answer: str
    note: str


def history() -> Conversation:
    """Return eight months of messages of two people, an assistant and a bread stall."""
    (conversation,) = recognise(_content("history.json"), "demo", where="history.json")
    return conversation


def questions() -> list[DemoQuestion]:
    """Return the questions of the demo."""
    return [
        DemoQuestion(item["question"], tuple(item["expect"]), item["answer"], item["note"])
        for item in _content("questions.json")
    ]


def _content(name: str) -> Any:
    return json.loads(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))
