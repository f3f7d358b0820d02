"""Exports of Telegram, Slack, Open WebUI, transcripts of Claude Code, and mails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from memwarden import InvalidInput, Warden
from memwarden.api.imports import ImportSummary
from memwarden.records import Memory
from memwarden.surfaces.cli.main import run

CONFIG = {"embedder": "none", "extraction": "off"}
NOON = "1714557600"  # 2024-05-01T10:00:00Z


def imported(path: Path) -> tuple[ImportSummary, list[Memory]]:
    with Warden.open("memory://", config=CONFIG) as warden:
        done = warden.import_files(path, user="ana")
        again = warden.import_files(path, user="ana")
        assert (again.stored, again.known) == (0, done.stored)
        return done, sorted(warden.scope(user="ana").find(limit=50), key=lambda item: (item.created_at, item.text))


def said(memories: list[Memory]) -> list[tuple[str | None, str | None, str]]:
    return [(item.role, item.name, item.text) for item in memories]


def written(folder: Path, content: Any, name: str) -> Path:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return file


TELEGRAM: dict[str, Any] = {
    "name": "Flat 3B", "type": "private_group", "id": 77,
    "messages": [
        {"id": 1, "type": "service", "actor": "Bo", "action": "create_group", "text": "", "text_entities": []},
        {"id": 2, "type": "message", "date_unixtime": NOON, "from": "Bo", "text_entities": [],
         "text": ["The boiler is ", {"type": "bold", "text": "broken"}, "."]},
        {"id": 3, "type": "message", "date_unixtime": "1714557660", "from": "Zoé", "text_entities": [],
         "text": "I call."},
        7,
    ],
}  # fmt: skip


@pytest.mark.parametrize("content", [TELEGRAM, {"about": "x", "chats": {"list": [TELEGRAM]}}], ids=["chat", "all"])
def test_telegram(content: Any, tmp_path: Path) -> None:
    done, memories = imported(written(tmp_path, content, "result.json"))
    assert (done.formats, len(done.refused)) == (("telegram",), 1)
    assert said(memories) == [("user", "Bo", "The boiler is broken."), ("user", "Zoé", "I call.")]
    assert memories[0].created_at.isoformat() == "2024-05-01T10:00:00+00:00"
    assert memories[0].metadata["title"] == "Flat 3B"


def test_slack(tmp_path: Path) -> None:
    file = tmp_path / "export.zip"
    users = [{"id": "U1", "name": "bo", "profile": {"display_name": "Bo"}}, {"id": "U2", "name": "zoe", "profile": {}}]
    day = [
        {"type": "message", "subtype": "channel_join", "user": "U1", "text": "<@U1> has joined", "ts": NOON},
        {"type": "message", "user": "U1", "text": "<@U2> see <https://a.example|the page>", "ts": f"{NOON}.000200"},
        {"type": "message", "user": "U2", "text": "Done.", "ts": "1714557700.000100"},
    ]
    with ZipFile(file, "w") as archive:
        archive.writestr("users.json", json.dumps(users))
        archive.writestr("channels.json", "[]")
        archive.writestr("general/2024-05-01.json", json.dumps(day))
        archive.writestr("general/2024-05-02.json", "[{")
    done, memories = imported(file)
    assert done.formats == ("slack",)
    assert [name for name in done.refused if "2024-05-02.json" in name] == list(done.refused)
    assert said(memories) == [("user", "Bo", "@zoe see the page"), ("user", "zoe", "Done.")]
    assert memories[0].thread_id == "slack/general"


def test_open_webui(tmp_path: Path) -> None:
    nodes = {
        "a": {"id": "a", "parentId": None, "role": "user", "content": "Which pump?", "timestamp": 1714557600},
        "b": {"id": "b", "parentId": "a", "role": "assistant", "content": "Old.", "timestamp": 1714557610},
        "c": {"id": "c", "parentId": "a", "role": "assistant", "timestamp": 1714557620,
              "content": '<details type="reasoning"><summary>x</summary>hm</details>Pump three.'},
    }  # fmt: skip
    chats = [{"id": "w1", "title": "Pumps", "chat": {"history": {"messages": nodes, "currentId": "c"}}}, {"chat": None}]
    done, memories = imported(written(tmp_path, chats, "chat-export.json"))
    assert (done.formats, len(done.refused)) == (("open-webui",), 1)
    assert said(memories) == [("user", None, "Which pump?"), ("assistant", None, "Pump three.")]


def test_claude_code(tmp_path: Path) -> None:
    own = {"sessionId": "s1", "timestamp": "2024-05-01T10:00:00.000Z"}
    answer = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "It is a Vaillant."}]
    rows = [
        {**own, "type": "user", "uuid": "a", "message": {"role": "user", "content": "Which boiler?"}},
        {**own, "type": "assistant", "uuid": "b", "message": {"role": "assistant", "content": answer}},
        {**own, "type": "user", "uuid": "c", "isMeta": True, "message": {"role": "user", "content": "meta"}},
        {**own, "type": "user", "uuid": "d", "message": {"role": "user", "content": [{"type": "tool_result"}]}},
        {
            **own,
            "type": "user",
            "uuid": "e",
            "isCompactSummary": True,
            "message": {"role": "user", "content": "so far"},
        },
        {**own, "type": "user", "uuid": "f", "message": {"role": "user", "content": "<bash-stdout>x</bash-stdout>"}},
        {"type": "summary", "summary": "Boilers"},
    ]
    lines = [json.dumps(row) for row in rows]
    done, memories = imported(written(tmp_path, "\n".join([*lines[:2], "{broken", *lines[2:]]), "s1.jsonl"))
    assert (done.formats, len(done.refused)) == (("claude-code",), 1)
    assert {item[2] for item in said(memories)} == {"Which boiler?", "It is a Vaillant."}


MAIL = """From: Bo <bo@a.example>
To: ana@a.example
Subject: The boiler
Date: Wed, 01 May 2024 12:00:00 +0200
Message-ID: <1@a.example>
Content-Type: text/plain; charset="utf-8"

The plumber comes on Friday.
> What about the boiler?
"""
PAGE = MAIL.replace("text/plain", "text/html").replace("<1@", "<2@").replace(
    "The plumber comes on Friday.", "<style>p {}</style><p>The <b>roofer</b> comes on Monday.</p>"
)  # fmt: skip


def test_mails_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mails"
    folder.mkdir()
    written(folder, MAIL, "a.eml")
    written(folder, PAGE, "b.eml")
    written(folder, "no mail at all", "c.eml")
    done, memories = imported(folder)
    assert (done.formats, len(done.refused)) == (("mail",), 1)
    assert [item.text for item in memories] == [
        "The boiler · Bo <bo@a.example>: The plumber comes on Friday.",
        "The boiler · Bo <bo@a.example>: The roofer comes on Monday.",
    ]
    assert {item.trust for item in memories} == {"external"}
    assert memories[0].created_at.isoformat() == "2024-05-01T10:00:00+00:00"


@pytest.mark.parametrize("several", [False, True], ids=["eml", "mbox"])
def test_a_file_of_mails(several: bool, tmp_path: Path) -> None:
    content = f"From bo Wed May  1 12:00:00 2024\n{MAIL}\nFrom bo Wed May  1 12:00:00 2024\n{PAGE}" if several else MAIL
    done, memories = imported(written(tmp_path, content, "archive.mbox" if several else "a.eml"))
    assert (done.formats, len(memories)) == (("mail",), 1 + several)


def test_an_export_of_all_chats_of_telegram_is_known_by_its_account(tmp_path: Path) -> None:
    contacts = [{"first_name": f"Ann {number}", "phone_number": "1"} for number in range(3_000)]
    left = {**TELEGRAM, "id": 78, "messages": TELEGRAM["messages"][1:2]}
    content = {
        "about": "Here is the data you requested.", "personal_information": {"user_id": 1},
        "contacts": {"list": contacts}, "chats": {"list": [TELEGRAM, {"id": 5, "messages": None}]},
        "left_chats": {"list": [left]},
    }  # fmt: skip
    done, memories = imported(written(tmp_path, content, "result.json"))
    assert (done.formats, len(done.refused)) == (("telegram",), 2)
    assert {item.thread_id for item in memories} == {"telegram/77", "telegram/78"}


def test_slack_writes_three_characters_as_entities(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    (folder / "allgemein").mkdir(parents=True)
    written(folder, [{"id": "U1", "name": "bo"}], "users.json")
    text = "1 &lt; 2 &amp; 3, <https://a.example/?x=1&amp;y=2>"
    day = [{"type": "message", "user": "U1", "text": text, "ts": f"{NOON}.000200"}]
    written(folder / "allgemein", day, "2024-05-01.json")
    assert said(imported(folder)[1]) == [("user", "bo", "1 < 2 & 3, https://a.example/?x=1&y=2")]


def test_claude_code_keeps_titles_and_the_words_beside_a_reminder(tmp_path: Path) -> None:
    def user(identity: str, content: Any) -> dict[str, Any]:
        own = {"sessionId": "s1", "timestamp": "2025-10-01T10:00:00.000Z", "uuid": identity}
        return {**own, "type": "user", "message": {"role": "user", "content": content}}

    rows = [
        {"type": "summary", "summary": "Kesseltausch", "leafUuid": "b"},
        user("a", "<system-reminder>Todos: none.</system-reminder>\nNimm Tabs."),
        user("b", [{"type": "text", "text": "[Request interrupted by user for tool use]"}]),
        user("c", [{"type": "text", "text": "<system-reminder>cut off"}, {"type": "text", "text": "Weiter."}]),
    ]
    memories = imported(written(tmp_path, "\r\n".join(map(json.dumps, rows)), "s1.jsonl"))[1]
    assert said(memories) == [("user", None, "Nimm Tabs."), ("user", None, "Weiter.")]
    assert {item.metadata["title"] for item in memories} == {"Kesseltausch"}


def test_a_mail_of_an_unknown_character_set_and_a_line_that_begins_with_from(tmp_path: Path) -> None:
    odd = MAIL.replace("utf-8", "x-unknown").replace("plumber", "Müller").encode("latin-1")
    (tmp_path / "a.eml").write_bytes(odd)
    assert "The Müller comes on Friday." in imported(tmp_path / "a.eml")[1][0].text
    box = f"From bo Wed May  1 12:00:00 2024\n{MAIL.replace('The plumber', '>From May on the plumber')}"
    assert "From May on the plumber comes" in imported(written(tmp_path, box, "all.mbox"))[1][0].text


UNREAD = {
    "Discord": {"guild": {"id": "1"}, "channel": {"id": "2"}, "messages": [{"content": "hi", "author": {"id": "4"}}]},
    "Messenger": {"participants": [{"name": "Ann"}], "messages": [{"sender_name": "Ann", "content": "hi"}]},
    "Gemini": [{"header": "Gemini Apps", "title": "Prompted hi", "products": ["Gemini Apps"]}],
    "ShareGPT": [{"conversations": [{"from": "human", "value": "hi"}]}],
    "LibreChat": {"conversationId": "c", "messages": [{"text": "hi", "isCreatedByUser": True}]},
    "Grok": {"conversations": [{"conversation": {"id": "1"}, "responses": [{"response": {"message": "hi"}}]}]},
    "DeepSeek": [{"id": "1", "inserted_at": "2025-01-01", "mapping": {"root": {"id": "root", "message": None}}}],
}


@pytest.mark.parametrize("program", UNREAD)
def test_exports_that_are_not_read_are_named(program: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=f"an export of {program}.*, which is not read"):
        imported(written(tmp_path, UNREAD[program], "export.json"))


def _broken_exports(folder: Path) -> dict[str, Path]:
    """An export of each program with one good and one broken entry."""
    slack = folder / "slack"
    (slack / "general").mkdir(parents=True)
    written(slack, [{"id": "U1", "name": "bo"}], "users.json")
    written(slack / "general", [{"type": "message", "user": "U1", "text": "Tea?", "ts": NOON}], "2024-05-01.json")
    written(slack / "general", "[{", "2024-05-02.json")
    node = {"id": "a", "parentId": None, "role": "user", "content": "Which pump?", "timestamp": 1714557600}
    chat = {"id": "w1", "title": "Pumps", "chat": {"history": {"messages": {"a": node}, "currentId": "a"}}}
    own = {"sessionId": "s1", "timestamp": "2024-05-01T10:00:00.000Z", "uuid": "a", "type": "user"}
    line = json.dumps({**own, "message": {"role": "user", "content": "Which boiler?"}})
    mails = folder / "mails"
    mails.mkdir()
    written(mails, MAIL, "a.eml")
    written(mails, "no mail at all", "b.eml")
    return {
        "telegram": written(folder, TELEGRAM, "result.json"),
        "slack": slack,
        "open-webui": written(folder, [chat, {"chat": None}], "chats.json"),
        "claude-code": written(folder, f"{line}\n{{broken", "s1.jsonl"),
        "mail": mails,
    }


@pytest.mark.parametrize("program", ["telegram", "slack", "open-webui", "claude-code", "mail"])
def test_a_broken_entry_is_named_with_exit_code_5_and_refused_when_strict(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export = str(_broken_exports(tmp_path)[program])
    ways = ["import", export, "--embedder", "none", "--user", "ana", "--db"]
    assert run([*ways, f"sqlite:///{tmp_path / 'a.db'}"]) == 5
    assert "refused" in capsys.readouterr().out
    assert run([*ways, f"sqlite:///{tmp_path / 'b.db'}", "--strict"]) == 2
    assert "nothing was imported" in capsys.readouterr().err
    with Warden.open(f"sqlite:///{tmp_path / 'b.db'}", config=CONFIG) as warden:
        assert warden.scope(user="ana").find() == []
