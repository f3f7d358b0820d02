"""L9: the same store answers alike on every engine, after a restart, a move and a change of models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from law_stores import DEFAULTS, as_messages, vocabulary
from memwarden import Warden

SIZE = 24
LANGUAGES = ("en", "ja")


def answers(warden: Warden, questions: list[str]) -> list[Any]:
    me = warden.scope(user="ana", thread="now")
    return [
        [(item.memory.text, round(item.score, 4)) for item in me.query(question, top_k=5, threshold=0.0).items]
        + [item.memory.text for item in me.context(question, 200).items]
        for question in questions
    ]


def observe(warden: Warden, language: str) -> list[str]:
    notes = vocabulary(language).notes(1, SIZE)
    warden.scope(user="ana", thread="earlier").observe(as_messages([note.text for note in notes]))
    return [note.question for note in notes[:5]]


@pytest.mark.parametrize("language", LANGUAGES)
def test_l9_every_engine_answers_alike_also_after_a_restart(language: str, tmp_path: Path, postgres_url: str) -> None:
    urls = ("memory://", f"sqlite:///{tmp_path}/a.db", postgres_url)
    found = []
    for url in urls:
        with Warden.open(url, config=DEFAULTS) as warden:
            questions = observe(warden, language)
            found.append(answers(warden, questions))
    for url in urls[1:]:
        with Warden.open(url, config=DEFAULTS) as warden:
            found.append(answers(warden, questions))
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("language", LANGUAGES)
def test_l9_a_bundle_carries_the_answers_over(language: str, tmp_path: Path) -> None:
    with Warden.open(f"sqlite:///{tmp_path}/a.db", config=DEFAULTS) as warden:
        questions = observe(warden, language)
        before = answers(warden, questions)
        warden.export(tmp_path / "ana.zip", user="ana")
    with Warden.open(f"sqlite:///{tmp_path}/b.db", config=DEFAULTS) as warden:
        warden.import_(tmp_path / "ana.zip")
        assert answers(warden, questions) == before
