"""A question about a change gets the value of before and the value of now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from law_stores import vocabulary
from memwarden import Warden

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
# Language, value of before, value of now, question.
CHANGES = [
    ("en", "My rent is 900 euros a month.", "The rent went up to 980 euros.", "How did my rent change?"),
    ("en", "I work at Siemens as a planner.", "I started at Bosch last week.", "How has my job changed over time?"),
    ("en", "I live in Leeds.", "I moved to York.", "Where did I live before and where now?"),
    ("en", "My dentist is Dr. Brandl.", "My new dentist is Dr. Kolb.", "Did I change dentists?"),
    ("de", "Meine Miete beträgt 900 Euro.", "Die Miete ist jetzt 980 Euro.", "Wie hat sich meine Miete verändert?"),
    ("de", "Mein Zahnarzt ist Dr. Brandl.", "Mein neuer Zahnarzt ist Dr. Kolb.", "Habe ich den Zahnarzt gewechselt?"),
    ("es", "Mi alquiler es de 900 euros.", "Ahora el alquiler es de 980 euros.", "¿Cómo ha cambiado mi alquiler?"),
    (
        "fr",
        "Mon loyer est de 900 euros.",
        "Maintenant mon loyer est de 980 euros.",
        "Comment mon loyer a-t-il changé ?",
    ),
    ("ja", "家賃は月9万円です。", "家賃が9万8千円に上がりました。", "家賃はどう変わった？"),
    ("zh", "我的房租每月3000元。", "房租涨到3500元了。", "我的房租怎么变的？"),
]


@pytest.mark.parametrize(("language", "before", "now", "question"), CHANGES)
def test_a_question_about_a_change_gets_both_values(language: str, before: str, now: str, question: str) -> None:
    others = [note.text for note in vocabulary(language).notes(3, 24)]
    with Warden.open("memory://", {"embedder": "auto", "vector_seconds": 60}) as warden:
        me = warden.scope(user="u")
        for number, text in enumerate([before, *others[:12], now, *others[12:]]):
            at = (BEGIN + timedelta(days=number)).isoformat()
            me.observe([{"role": "user", "content": text, "created_at": at}])
        shown = [item.memory.text for item in me.query(question).items]
        assert {before, now} <= set(shown), shown
