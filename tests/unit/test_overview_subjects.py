"""A relative's or former partner's home and job are no lines about the speaker."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memwarden.recall.answer.overview import choose_lines
from memwarden.records import Channel, Memory, Namespace

SAID_AT = datetime(2026, 5, 5, 10, tzinfo=UTC)
ANN = Namespace("default", "user/ann")


def quote(*texts: str) -> list[tuple[str, str]]:
    """Topics and lines of an overview of turns that were said a day apart."""
    turns = [
        Memory(
            id=str(place), namespace=ANN, text=text, created_at=SAID_AT + timedelta(days=place),
            updated_at=SAID_AT, channel=Channel.TURN, role="user",
        )
        for place, text in enumerate(texts)
    ]  # fmt: skip
    return [(line.topic, line.words) for line in choose_lines(turns, SAID_AT + timedelta(days=len(texts)), None)]


@pytest.mark.parametrize(
    "said",
    [
        "母は仙台に住んでいます。",
        "私の母は仙台に住んでいます。",
        "妹が大阪に住んでいる。",
        "両親は仙台に住んでいます。",
        "父は医者です",
        "兄はトヨタに勤めている",
        "我妈住在成都。",
        "我爸在银行工作。",
        "Mi madre vive en Sevilla.",
        "Mi hermano trabaja en Santander.",
        "Mia sorella lavora come infermiera.",
        "Minha mãe mora em Recife.",
        "Mój brat jest lekarzem.",
        "Meine Mutter wohnt in Kiel.",
    ],
)
def test_a_home_or_job_of_a_relative_is_a_line_about_the_family(said: str) -> None:
    assert quote(said) == [("family", said)]


@pytest.mark.parametrize(
    "said",
    [
        "母は、仙台に住んでいます。",
        "母が仙台に引っ越しました。",
        "元カレはパリに住んでいます。",
        "元夫はパリに住んでいます。",
        "上司は東京に住んでいます。",
        "田中さんは仙台に住んでいます。",
        "我前男友住在巴黎",
        "我的前妻住在巴黎。",
        "我女朋友现在住在上海。",
        "我妈妈和爸爸住在成都。",
        "Mi ex vive en París.",
        "Meu ex mora em Paris.",
        "Mein Ex wohnt in Paris.",
        "My ex lives in Paris.",
    ],
)
def test_a_home_of_somebody_else_is_not_the_speakers(said: str) -> None:
    assert not [line for line in quote(said) if line[0] in ("home", "work")]


@pytest.mark.parametrize(
    "said",
    [
        "仙台に住んでいます。",
        "母と仙台に住んでいます。",
        "今は母と妹と東京に住んでいます。",
        "母は仙台に、私は東京に住んでいます。",
        "妻がいますが、東京に住んでいます。",
        "我和我妈住在成都。",
        "我跟爸妈住在杭州。",
        "我妈在医院，我住在成都。",
        "Con mi madre vivo en Sevilla.",
        "Mi madre y yo vivimos en Sevilla.",
        "Gracias a mi hermano vivo en Sevilla.",
    ],
)
def test_a_home_with_a_relative_is_the_speakers(said: str) -> None:
    assert quote(said) == [("home", said)]


@pytest.mark.parametrize(
    ("own", "of_another"),
    [
        ("私は東京に住んでいます。", "母は仙台に住んでいます。"),
        ("我住在北京。", "我妈住在成都。"),
        ("Vivo en Sevilla.", "Mi madre vive en Madrid."),
        ("Ich wohne in Kiel.", "Meine Mutter wohnt in Bremen."),
        ("I live in Leeds.", "My mum lives in York."),
    ],
)
def test_a_relatives_home_leaves_the_speakers(own: str, of_another: str) -> None:
    assert quote(own, of_another) == [("home", own), ("family", of_another)]
