"""Reading conversation files: every layout, every repair, and a clear word about everything else."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memwarden.errors import InvalidInput
from memwarden.surfaces.conversation_files import (
    Conversation,
    Omission,
    TurnIdentity,
    locomo_time,
    read_conversations,
    with_questions,
)

LOCOMO: dict[str, Any] = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ida",
        "speaker_b": "Bo",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"dia_id": "D1:1", "speaker": "Ida", "text": "I bought a canoe."},
            {"dia_id": "D1:2", "speaker": "Bo", "text": "Look!", "blip_caption": "a photo of a red kayak"},
            {"dia_id": "D1:3", "speaker": "Ida", "text": ""},
        ],
        "session_2_date_time": "12:05 am on 1 February, 2024",
        "session_2": [{"dia_id": "D2:1", "speaker": "Bo", "text": "My sister moved to Oslo."}],
        "session_10_date_time": "12:00 pm on 29 February, 2024",
        "session_10": [{"dia_id": "D10:11", "speaker": "Ida", "text": "The canoe leaks."}],
        "session_11_date_time": "9:00 am on 1 March, 2024",
    },
    "qa": [
        {"question": "What did Ida buy?", "evidence": ["D1:1"], "category": 4},
        {"question": "What leaks?", "evidence": ["D1:1 D10:11"], "category": 1},
        {"question": "Where is the sister?", "evidence": ["D2:01", "D9:9"], "category": 2},
        {"question": "What happened?", "evidence": ["D:10:11; D1:2"], "category": 3},
        {"question": "What did Bo buy?", "evidence": ["D1:1", "D1:1"], "category": 5},
        {"question": "Nothing left?", "evidence": ["D", "D1:3"], "category": 4},
        {"question": "Nothing at all?", "evidence": [], "category": 4},
    ],
}


def realmem_turn(speaker: str, content: str, **more: Any) -> dict[str, Any]:
    return {"speaker": speaker, "content": content, "is_query": False, "query_id": None, **more}


REALMEM: dict[str, Any] = {
    "_metadata": {"person_name": "Ana_Ruiz"},
    "dialogues": [
        {
            "session_uuid": "aa",
            "current_time": "2025-12-15 (Monday)",
            "dialogue_turns": [
                realmem_turn("User", "I am allergic to walnuts."),
                realmem_turn("Assistant", "Noted."),
                realmem_turn("Assistant", " "),
            ],
            "extracted_memory": [{"content": "Allergy", "source_content_snapshot": "I am allergic to walnuts."}],
        },
        {
            "session_uuid": "bb",
            "current_time": "2025-12-20 (Saturday)",
            "dialogue_turns": [
                realmem_turn("User", "Can I eat pesto?", is_query=True),
                realmem_turn(
                    "Assistant",
                    "Not with walnuts.",
                    memory_used=[{"session_uuid": "aa", "content": "Allergy"}, {"session_uuid": "aa", "content": "?"}],
                    memory_session_uuids=["aa", "bb", "cc", "zz"],
                ),
                realmem_turn("User", "And then?", is_query=True),
            ],
            "extracted_memory": [],
        },
        {
            "session_uuid": "cc",
            "current_time": "2026-01-02 (Friday)",
            "dialogue_turns": [realmem_turn("User", "Hello")],
            "extracted_memory": [],
        },
    ],
}


def read(tmp_path: Path, content: Any, **options: Any) -> tuple[Conversation, ...]:
    file = tmp_path / "talk.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_conversations(file, **options)


def words(conversation: Conversation) -> list[str]:
    return [message["content"] for session in conversation.sessions for message in session.messages]


# --- OpenAI messages


def test_message_list_with_parts_null_tool_and_system(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hi", "name": "Wilma"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]},
        {"role": "tool", "tool_call_id": "c", "content": "4 °C"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "One"},
                {"type": "image_url", "image_url": {}},
                {"type": "text", "text": "Two"},
            ],
        },
    ]
    (conversation,) = read(tmp_path, messages)
    assert conversation.layout == "OpenAI messages"
    assert conversation.people == ("Wilma",)
    assert conversation.sessions[0].messages == (
        {"role": "user", "content": "Hi", "name": "Wilma"},
        {"role": "assistant", "content": "One\nTwo"},
    )
    assert conversation.dropped == (
        Omission("content parts of the type 'image_url'", 1),
        Omission("messages of the role 'system'", 1),
        Omission("messages of the role 'tool'", 1),
        Omission("messages without words", 1),
    )


@pytest.mark.parametrize(
    "content",
    [
        [[{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}]],
        [{"messages": [{"role": "user", "content": "a"}]}, {"messages": [{"role": "user", "content": "b"}]}],
        '{"messages": [{"role": "user", "content": "a"}]}\n\n{"messages": [{"role": "user", "content": "b"}]}\n',
    ],
    ids=["lists", "objects", "json lines"],
)
def test_several_conversations(tmp_path: Path, content: Any) -> None:
    first, second = read(tmp_path, content)
    assert (first.name, words(first)) == ("talk-1", ["a"])
    assert (second.name, words(second)) == ("talk-2", ["b"])


def test_messages_object_keeps_ids_and_times(tmp_path: Path) -> None:
    message = {"role": "user", "content": "a", "id": 7, "created_at": "2026-05-08T13:56:00Z"}
    (conversation,) = read(tmp_path, {"messages": [message, message]})
    assert conversation.sessions[0].messages == ({**message, "id": "7"},)
    assert conversation.sessions[0].at == datetime(2026, 5, 8, 13, 56, tzinfo=UTC)
    assert conversation.dropped == (Omission("messages with an id of an earlier message in their thread", 1),)


# --- memwarden's own layout


OWN = {
    "title": "Two days",
    "people": ["Ines"],
    "sessions": [
        {"thread": "one", "messages": [{"id": "a", "role": "user", "content": "hola"}]},
        {"messages": [{"id": "a", "role": "user", "content": "again"}, {"id": "b", "role": "user", "content": "more"}]},
    ],
    "questions": [
        {"question": "More?", "expect": ["b", "zz"], "category": "easy"},
        {"question": "Which a?", "expect": ["a"]},
    ],
}


def test_own_layout_with_questions(tmp_path: Path) -> None:
    (conversation,) = read(tmp_path, OWN)
    assert (conversation.layout, conversation.people, conversation.turns) == ("memwarden", ("Ines",), 3)
    assert [session.thread for session in conversation.sessions] == ["one", "session-2"]
    (question,) = conversation.questions
    assert question.gold_turns == (TurnIdentity("session-2", "b"),)
    assert (question.gold_sessions, question.category, question.asked_after) == (("session-2",), "easy", 2)
    assert conversation.dropped == (
        Omission("expected ids of several turns", 1),
        Omission("expected ids that name no turn", 1),
        Omission("questions left without evidence", 1),
    )


def test_questions_from_their_own_file(tmp_path: Path) -> None:
    (conversation,) = read(tmp_path, {"sessions": OWN["sessions"]})
    file = tmp_path / "questions.json"
    file.write_text(json.dumps([{"question": "More?", "expect": ["b"], "asked_after": 1}]))
    (question,) = with_questions(conversation, file).questions
    assert question.asked_after == 1
    file.write_text(json.dumps([{"question": "More?", "expect": ["b"], "asked_after": 3}]))
    with pytest.raises(InvalidInput, match="a number of sessions from 0 to 2, not 3"):
        with_questions(conversation, file)


# --- LoCoMo


def test_locomo_sessions(tmp_path: Path) -> None:
    (conversation,) = read(tmp_path, [LOCOMO])
    assert (conversation.name, conversation.layout, conversation.people) == ("conv-1", "LoCoMo", ("Ida", "Bo"))
    assert [session.thread for session in conversation.sessions] == ["session_1", "session_2", "session_10"]
    assert conversation.sessions[0].messages[1] == {
        "role": "user",
        "name": "Bo",
        "content": "Look! [shares a picture: a photo of a red kayak]",
        "id": "D1:2",
        "created_at": "2023-05-08T13:56:00+00:00",
    }


def test_locomo_without_captions(tmp_path: Path) -> None:
    (conversation,) = read(tmp_path, LOCOMO, captions=False)
    assert words(conversation)[1] == "Look!"


def test_locomo_evidence_is_repaired_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    (conversation,) = read(tmp_path, [LOCOMO])
    gold = {question.text: [key.id for key in question.gold_turns] for question in conversation.questions}
    assert gold == {
        "What did Ida buy?": ["D1:1"],
        "What leaks?": ["D1:1", "D10:11"],
        "Where is the sister?": ["D2:1"],
        "What happened?": ["D10:11", "D1:2"],
        "What did Bo buy?": ["D1:1"],
    }
    assert [question.category for question in conversation.questions] == [
        *("single-hop", "multi-hop", "temporal", "open-domain", "adversarial")
    ]
    assert {question.asked_after for question in conversation.questions} == {3}
    assert conversation.questions[1].gold_sessions == ("session_1", "session_10")
    assert conversation.dropped == (
        Omission("dates of sessions that are not in the file", 1),
        Omission("evidence ids that name no turn", 3),
        Omission("messages without words", 1),
        Omission("questions left without evidence", 2),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("12:48 am on 1 February, 2023", datetime(2023, 2, 1, 0, 48, tzinfo=UTC)),
        ("12:09 pm on 13 September, 2023", datetime(2023, 9, 13, 12, 9, tzinfo=UTC)),
        ("10:37 AM on 29 February, 2024", datetime(2024, 2, 29, 10, 37, tzinfo=UTC)),
    ],
)
def test_locomo_time(text: str, expected: datetime) -> None:
    assert locomo_time(text, "here") == expected


@pytest.mark.parametrize("text", ["8 May 2023", "1:56 pm on 31 February, 2023", "1:56 pm on 8 Mai, 2023", None])
def test_locomo_time_that_is_none(tmp_path: Path, text: str | None) -> None:
    broken = {**LOCOMO, "conversation": {**LOCOMO["conversation"], "session_1_date_time": text}}
    with pytest.raises(InvalidInput, match=r"session_1_date_time is a time like '1:56 pm on 8 May, 2023', not"):
        read(tmp_path, [broken])


# --- RealMem


def test_realmem_sessions(tmp_path: Path) -> None:
    (conversation,) = read(tmp_path, REALMEM)
    assert (conversation.name, conversation.layout, conversation.people) == ("Ana_Ruiz", "RealMem", ("Ana Ruiz",))
    assert [session.thread for session in conversation.sessions] == ["aa", "bb", "cc"]
    assert conversation.sessions[0].messages[0] == {
        "role": "user",
        "content": "I am allergic to walnuts.",
        "id": "aa:1",
        "created_at": "2025-12-15T00:00:00+00:00",
    }
    assert "Can I eat pesto?" in words(conversation)


def test_realmem_questions_see_earlier_sessions_only(tmp_path: Path) -> None:
    (conversation,) = read(tmp_path, REALMEM)
    (question,) = conversation.questions
    assert (question.text, question.asked_after) == ("Can I eat pesto?", 1)
    assert question.gold_sessions == ("aa",)
    assert question.gold_turns == (TurnIdentity("aa", "aa:1"),)
    assert conversation.dropped == (
        Omission("gold sessions that are not before the question's own", 3),
        Omission("messages without words", 1),
        Omission("questions left without evidence", 1),
        Omission("used memories whose source turn is not in their session word for word", 1),
    )


# --- everything else


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("{}", "an empty object"),
        ("[]", "an empty list"),
        ("null", "null"),
        ("[1, 2]", "a list whose first element is the int 1"),
        ('{"chatter": []}', "an object with the keys 'chatter'"),
        ('[{"role": "user", "content": "a"}, 3]', "a list whose first element is an object with the keys 'role'"),
        ('{"messages": []}', "an object with the keys 'messages'"),
        ("hello", "is not valid JSON"),
        ('{"a": 1}\n{"b"', "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("", "is empty"),
        (" \n", "is empty"),
    ],
)
def test_unknown_content_is_named(tmp_path: Path, content: str, found: str) -> None:
    with pytest.raises(InvalidInput, match="recognised are: OpenAI messages") as caught:
        read(tmp_path, content)
    assert found in str(caught.value)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ([{"role": "system", "content": "x"}], "holds no message of a user or an assistant"),
        ([{"role": "user", "content": 3}], r"messages\[0\].content is the int 3, not a list"),
        ({"sessions": [{"messages": ["x"]}]}, r"sessions\[0\].messages\[0\] is the str 'x', not a message"),
        ({"sessions": [{"messages": []}], "questions": [1]}, "question 1 is the int 1, without a text 'question'"),
        ([{"conversation": {}}], r"\[0\].conversation has no session_1"),
        ([{"conversation": 1}], r"\[0\].conversation is the int 1, not the sessions"),
        (
            {"conversation": {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": [{"dia_id": "D1:1"}]}},
            "not a turn with dia_id, speaker and text",
        ),
        ({**LOCOMO, "qa": ["x"]}, r"qa\[0\] is the str 'x', without a text 'question'"),
        ({"dialogues": [{"dialogue_turns": []}]}, "has no session_uuid or no current_time"),
        ({"dialogues": [REALMEM["dialogues"][2], REALMEM["dialogues"][2]]}, "the same session_uuid"),
        (
            {"dialogues": [{**REALMEM["dialogues"][2], "dialogue_turns": [{"speaker": "Bot"}]}]},
            "without the speaker User or Assistant",
        ),
    ],
)
def test_malformed_content_is_named_with_its_place(tmp_path: Path, content: Any, found: str) -> None:
    with pytest.raises(InvalidInput, match=found):
        read(tmp_path, content)


def test_binary_file(tmp_path: Path) -> None:
    file = tmp_path / "picture.json"
    file.write_bytes(b"\x89PNG\r\n\x1a\n\x00\xff")
    with pytest.raises(InvalidInput, match=r"is no UTF-8 text \(byte 0 is 0x89\)"):
        read_conversations(file)


def test_huge_file_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="has 32 bytes, the limit is 10"):
        read(tmp_path, '[{"role":"user","content":"abc"}]'[:32], max_bytes=10)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        read_conversations(tmp_path / "nowhere.json")
    with pytest.raises(InvalidInput, match="cannot read"):
        read_conversations(tmp_path)


def test_byte_order_mark(tmp_path: Path) -> None:
    assert words(read(tmp_path, '\ufeff[{"role":"user","content":"abc"}]')[0]) == ["abc"]
