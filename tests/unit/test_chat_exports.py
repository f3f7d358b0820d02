"""Exports of ChatGPT and Claude: the shown branch, original times, and a count of everything that is left out.

The samples are made by hand after public descriptions of both formats: for ChatGPT the data models of the converter
``chatgpt-to-markdown`` (difegam.github.io), for Claude those of ``llm-conversations-viewer`` (tomzxcode.github.io).
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from memwarden import Warden
from memwarden.errors import InvalidInput
from memwarden.remember.imports.records import ImportedDocument, ImportedThread, ImportRecord
from memwarden.remember.imports.registry import find_reader
from memwarden.remember.imports.source import ImportOptions, ImportSource
from memwarden.surfaces.conversation_files import read_conversations


def node(identity: str, parent: str | None, role: str, text: str, at: float | None, **more: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    message = {"id": identity, "author": {"role": role}, "create_time": at, "content": content, **more}
    return {"id": identity, "parent": parent, "children": [], "message": message}


NODES = [
    {"id": "root", "parent": None, "children": ["s"], "message": None},
    node("s", "root", "system", "", None, weight=0.0),
    node("u1", "s", "user", "My sister Rosa moved to Oslo.", 1706745600.0),
    node("a1", "u1", "assistant", "How far is that?", 1706745610.5),
    node("u2-first", "a1", "user", "Ten hours by trane.", 1706745700.0),
    node("a2-first", "u2-first", "assistant", "By train?", 1706745710.0),
    node("u2", "a1", "user", "Ten hours by train.", 1706745800.0),
    node("call", "u2", "assistant", "search('trains')", 1706745801.0, recipient="web"),
    node("tool", "call", "tool", "found", 1706745802.0),
    node("a2", "tool", "assistant", "That is long.", None),
]
CHATGPT = [
    {
        "title": "Rosa",
        "create_time": 1706745600.0,
        "conversation_id": "c-1",
        "current_node": "a2",
        "mapping": {item["id"]: item for item in NODES},
    }
]
CLAUDE = [
    {
        "uuid": "k-1",
        "name": "Bees",
        "created_at": "2024-01-15T10:30:00.000000Z",
        "chat_messages": [
            {"uuid": "m1", "sender": "human", "text": "I keep bees.", "created_at": "2024-01-15T10:30:00.000000Z",
             "attachments": [{"file_name": "hive.txt", "extracted_content": "The hive is blue."}],
             "files": [{"file_name": "hive.jpg"}]},
            {"uuid": "m2", "sender": "assistant", "text": "", "created_at": "2024-01-15T10:30:09.000000Z",
             "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "How many hives?"}]},
        ],
    }
]  # fmt: skip


def written(folder: Path, content: Any, name: str = "conversations.json") -> Path:
    file = folder / name
    file.write_text(json.dumps(content))
    return file


def test_chatgpt_shows_the_branch_that_the_app_shows(tmp_path: Path) -> None:
    (chat,) = read_conversations(written(tmp_path, CHATGPT))
    assert chat.layout == "ChatGPT export"
    assert [(item["id"], item["role"], item["content"], item["created_at"]) for item in chat.sessions[0].messages] == [
        ("u1", "user", "My sister Rosa moved to Oslo.", "2024-02-01T00:00:00+00:00"),
        ("a1", "assistant", "How far is that?", "2024-02-01T00:00:10.500000+00:00"),
        ("u2", "user", "Ten hours by train.", "2024-02-01T00:03:20+00:00"),
        ("a2", "assistant", "That is long.", "2024-02-01T00:03:22+00:00"),
    ]
    assert {item.what: item.times for item in chat.dropped} == {
        "messages of branches that are not shown": 2,
        "messages that the app does not show": 1,
        "messages to a tool": 1,
        "messages of the role 'tool'": 1,
    }


def test_a_picture_beside_words_is_counted_by_what_it_is(tmp_path: Path) -> None:
    content: Any = copy.deepcopy(CHATGPT)
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-a", "width": 1, "height": 1}
    said = {"content_type": "multimodal_text", "parts": [picture, "Ten hours by train."]}
    content[0]["mapping"]["u2"]["message"]["content"] = said
    (chat,) = read_conversations(written(tmp_path, content))
    assert chat.sessions[0].messages[2]["content"] == "Ten hours by train."
    counted = {item.what: item.times for item in chat.dropped}
    assert counted["content parts of the type 'image_asset_pointer'"] == 1


def test_claude_is_read_with_its_times(tmp_path: Path) -> None:
    (chat,) = read_conversations(written(tmp_path, CLAUDE))
    assert (chat.layout, chat.sessions[0].thread) == ("Claude export", "k-1")
    assert [(item["id"], item["role"], item["content"]) for item in chat.sessions[0].messages] == [
        ("m1", "user", "I keep bees.\nThe hive is blue."),
        ("m2", "assistant", "How many hives?"),
    ]
    assert {item.what: item.times for item in chat.dropped} == {
        "messages' attachments": 1,
        "content parts of the type 'thinking'": 1,
    }


def test_claude_has_branches_too(tmp_path: Path) -> None:
    content: Any = copy.deepcopy(CLAUDE)
    other = {"uuid": "m3", "sender": "human", "text": "I keep wasps.", "created_at": "2024-01-15T10:31:00Z"}
    content[0]["chat_messages"].append(other)
    for child, parent in (("m1", "root"), ("m2", "m1"), ("m3", "root")):
        message = next(item for item in content[0]["chat_messages"] if item["uuid"] == child)
        message["parent_message_uuid"] = parent
    content[0]["current_leaf_message_uuid"] = "m2"
    (chat,) = read_conversations(written(tmp_path, content))
    assert [item["id"] for item in chat.sessions[0].messages] == ["m1", "m2"]
    assert ("messages of branches that are not shown", 1) in chat.dropped


@pytest.mark.parametrize(
    ("content", "names"), [(CHATGPT, ["conversations.json"]), (CLAUDE, ["data/conversations.json"])]
)
def test_the_zip_is_read_like_its_file(content: Any, names: list[str], tmp_path: Path) -> None:
    with ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("user.json", "{}")
        for name in names:
            archive.writestr(name, json.dumps(content))
    assert read_conversations(tmp_path / "export.zip") == read_conversations(written(tmp_path, content))


def changed(**more: Any) -> list[dict[str, Any]]:
    return [{**CHATGPT[0], **more}]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (changed(conversation_id=None), "[0] has no conversation_id"),
        (changed(mapping={"a": {"parent": "a", "message": None}}), "are no tree"),
        (changed(mapping={"a": {"parent": None, "message": {"author": "x"}}}), "no message with an author"),
        (changed(mapping={"a": node("a", None, "user", "Hello there.", "soon")}), "not seconds since 1970"),  # type: ignore[arg-type]
        ([{"uuid": "k", "chat_messages": [{"text": "x"}]}], "no message with a uuid"),
    ],
)
def test_a_malformed_export_is_refused_with_its_place(content: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as error:
        read_conversations(written(tmp_path, content))
    assert told in str(error.value)


def test_a_zip_of_something_else_is_refused(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("letters.txt", "x")
    with pytest.raises(InvalidInput, match="export of ChatGPT or Claude"):
        read_conversations(tmp_path / "x.zip")
    (tmp_path / "half.zip").write_bytes((tmp_path / "x.zip").read_bytes()[:20])
    with pytest.raises(InvalidInput, match="cannot be unpacked"):
        read_conversations(tmp_path / "half.zip")


def read_all(path: Path) -> tuple[str, list[ImportRecord]]:
    source = ImportSource(path, ImportOptions(strict=True))
    reader = find_reader(source)
    return reader.name, list(reader.read(source))


def texts_of(records: list[ImportRecord]) -> dict[str, list[str]]:
    """What documents state, by document."""
    found = [record for record in records if isinstance(record, ImportedDocument) and record.statements]
    return {record.id: [statement.text for statement in record.statements] for record in found}


NOTED = {
    "conversations_memory": "**Work context**\n\nAna runs a bakery.\n\n**Personal context**\n\nAna has two sisters.",
    "project_memories": {"p-1": "The oven is a Bosch."},
    "account_uuid": "acct",
    "memory_files": [{"name": "bakery.md"}],
}
"""As the notes of accounts are described in public code that reads exports of September 2026."""


@pytest.mark.parametrize("name", ["memories.json", "memories/acct.json"])
def test_what_claude_noted_comes_in_beside_the_chats(name: str, tmp_path: Path) -> None:
    with ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps(CLAUDE))
        archive.writestr(name, json.dumps([NOTED] if name == "memories.json" else NOTED))
        archive.writestr("users.json", "[]")
    kind, records = read_all(tmp_path / "export.zip")
    assert (kind, texts_of(records)) == ("claude", {
        "claude/acct": ["What Claude noted › Work context: Ana runs a bakery.",
                        "What Claude noted › Personal context: Ana has two sisters."],
        "claude/acct/p-1": ["What Claude noted: The oven is a Bosch."],
    })  # fmt: skip
    assert [record.thread for record in records if isinstance(record, ImportedThread)] == ["k-1"]
    assert records[-1].skipped == {"files that hold no conversations": 1}
    assert {"files that Claude noted": 1} in [record.skipped for record in records]


def test_a_file_of_the_same_name_that_claude_did_not_write_is_counted(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps(CHATGPT))
        archive.writestr("memories.json", json.dumps([{"content": "x"}]))
    kind, records = read_all(tmp_path / "export.zip")
    assert (kind, texts_of(records)) == ("chatgpt", {})
    assert {"files that hold no conversations": 1} in [record.skipped for record in records]


def test_notes_of_claude_come_alone_and_an_edit_ends_what_they_no_longer_say(tmp_path: Path) -> None:
    file = written(tmp_path, NOTED, "mine.json")
    with Warden.open("memory://", config={"embedder": "none", "extraction": "off"}) as warden:
        assert warden.import_files(file, user="ana").formats == ("claude",)
        written(tmp_path, {**NOTED, "conversations_memory": "**Work context**\n\nAna runs a school."}, "mine.json")
        again = warden.import_files(file, user="ana")
        assert (again.stored, again.known, again.ended) == (1, 1, 2)
        held = warden.scope(user="ana").find({"source": "document/claude/acct"})
        assert ["school" in item.text for item in held if item.valid_to is None] == [True]
        assert {item.trust for item in held} == {"external"}
    with pytest.raises(InvalidInput, match="what was noted is the int 7"):
        read_all(written(tmp_path, {"conversations_memory": 7}, "mine.json"))
    (tmp_path / "broken.json").write_text('{"conversations_memory": "x",\n')
    with pytest.raises(InvalidInput, match=r"line 2: no valid JSON"):
        read_all(tmp_path / "broken.json")


def test_an_export_in_several_files_is_read_whole_from_its_folder(tmp_path: Path) -> None:
    """As ChatGPT gives large exports since 2026."""
    folder = tmp_path / "export"
    folder.mkdir()
    for number in range(2):
        content: Any = copy.deepcopy(CHATGPT)
        content[0]["conversation_id"] = f"c-{number}"
        written(folder, content, f"conversations-00{number}.json")
    (folder / "chat.html").write_text("<html>")
    kind, records = read_all(folder)
    threads = [record.thread for record in records if isinstance(record, ImportedThread)]
    assert (kind, threads, records[-1].skipped) == ("chatgpt", ["c-0", "c-1"], {"files that hold no conversations": 1})


def test_what_has_no_time_at_all_is_undated(tmp_path: Path) -> None:
    content: Any = copy.deepcopy(CHATGPT)
    del content[0]["create_time"]
    for item in content[0]["mapping"].values():
        if item["message"] is not None:
            item["message"]["create_time"] = None
    _, records = read_all(written(tmp_path, content))
    (thread,) = [record for record in records if isinstance(record, ImportedThread)]
    assert [("created_at" in message, message["id"]) for message in thread.messages][:1] == [(False, "u1")]


def test_an_imported_history_answers_and_a_later_export_adds_what_is_new(tmp_path: Path) -> None:
    def observe(content: Any) -> list[str]:
        (chat,) = read_conversations(written(tmp_path, content))
        result = warden.scope(user="ana", thread=chat.sessions[0].thread).observe(chat.sessions[0].messages)
        return [item.reason for item in result.results]

    with Warden.open("memory://", config={"embedder": "none"}) as warden:
        observe(CHATGPT)
        more = copy.deepcopy(CHATGPT)
        more[0]["mapping"]["u3"] = node("u3", "a2", "user", "Rosa has a boat now.", 1706832000.0)  # type: ignore[index]
        more[0]["current_node"] = "u3"
        assert observe(more) == ["already stored"] * 4 + [""]
        found = warden.scope(user="ana").query("Where did Rosa move to?").items[0].memory
        assert (found.text, found.created_at.isoformat()) == (
            "My sister Rosa moved to Oslo.",
            "2024-02-01T00:00:00+00:00",
        )


def test_a_plain_log_is_read_by_its_labels(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    file.write_text(
        "\nSystem: Be brief.\nUSER: My sister Rosa moved to Oslo.\nNote: in May.\n\nAssistant:  How far is that?\n"
    )
    (chat,) = read_conversations(file)
    assert [(item["role"], item["content"]) for item in chat.sessions[0].messages] == [
        ("user", "My sister Rosa moved to Oslo.\nNote: in May."),
        ("assistant", "How far is that?"),
    ]
    assert chat.dropped == (("messages of the role 'system'", 1),)


@pytest.mark.parametrize("text", ["User: I am alone here.", "Dear Rosa,\nUSER: x\nASSISTANT: y", "just words"])
def test_a_text_that_is_no_log_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    file.write_text(text)
    with pytest.raises(InvalidInput, match="plain logs"):
        read_conversations(file)


@pytest.mark.parametrize("name", ["projects.json", "projects/p1.json"])
def test_projects_of_claude_are_documents(name: str, tmp_path: Path) -> None:
    docs = [{"uuid": "d1", "filename": "dach.md", "content": "Das Dach ist aus Schiefer."}, 7, {"uuid": "d2"}]
    project = {"uuid": "p1", "name": "Haus", "prompt_template": "Answer in German.", "docs": docs}
    file = tmp_path / "data.zip"
    with ZipFile(file, "w") as archive:
        archive.writestr("conversations.json", json.dumps([{"uuid": "c1", "chat_messages": []}]))
        archive.writestr(name, json.dumps([project] if name == "projects.json" else project))
    with Warden.open("memory://", config={"embedder": "none", "extraction": "off"}) as warden:
        done = warden.import_files(file, user="ana")
        kept = warden.scope(user="ana").find()
    assert {item.text for item in kept} == {
        "Haus · instructions: Answer in German.",
        "Haus · dach.md: Das Dach ist aus Schiefer.",
    }
    assert {item.trust for item in kept} == {"external"}
    assert len(done.refused) == 1
