"""Readers of foreign formats: each file is recognised by its content, with every date, and nothing is lost unsaid.

All samples are made by hand. Sources of the formats: for ChatGPT and Claude see ``test_chat_exports.py``; mem0: the
answers of ``get_all`` in its API reference; Zep: ``Message``, ``Episode`` and ``EntityEdge`` of its SDK reference, and
``graphiti_core.edges``; LangMem: ``Item.dict()`` of ``langgraph.store.base``; the graph: ``memory.jsonl`` of
``@modelcontextprotocol/server-memory``; WhatsApp: the header formats listed by ``whatstk``; IRC: the default formats of
irssi, WeeChat, HexChat and ZNC's module ``log``; vaults: Obsidian's help on properties and links.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from memwarden.errors import InvalidInput
from memwarden.remember.imports.records import ImportedDocument, ImportedNode, ImportedThread, ImportRecord
from memwarden.remember.imports.registry import find_reader
from memwarden.remember.imports.source import ImportOptions, ImportSource

MEM0 = {"results": [
    {"id": "a1", "memory": "Ana is allergic to hazelnuts", "hash": "h", "user_id": "ana",
     "metadata": {"room": "kitchen"}, "created_at": "2026-03-02T09:00:00-08:00",
     "updated_at": None, "categories": ["health"]},
    {"id": "a2", "memory": "Ana works at the museum", "user_id": "ana", "run_id": "r7", "metadata": None,
     "created_at": "2026-04-11T09:00:00-08:00", "expiration_date": "2030-01-01"},
], "relations": [{"source": "ana", "relationship": "works_at", "target": "museum"}]}  # fmt: skip
ZEP = {
    "messages": [
        {"uuid": "m1", "role_type": "user", "role": "Cleo", "content": "I moved to Porto.",
         "created_at": "2026-05-02T10:00:00Z", "thread_id": "s1"},
        {"uuid": "m2", "role_type": "system", "content": "Be kind.", "created_at": "2026-05-02T10:00:01Z",
         "thread_id": "s1"},
    ],
    "nodes": [{"uuid": "n1", "name": "Cleo", "labels": ["Person"], "summary": "x"}],
    "edges": [{"uuid": "e1", "name": "LIVES_IN", "fact": "Cleo lives in Porto.", "valid_at": "2026-05-02T10:00:00Z",
               "invalid_at": "2026-06-01T00:00:00Z", "created_at": "2026-05-02T10:00:05Z", "source_node_uuid": "n1"}],
}  # fmt: skip
ITEMS = [
    {"namespace": ["memories", "bob"], "key": "k1",
     "value": {"kind": "Memory", "content": {"content": "Bob plays chess."}},
     "created_at": "2025-01-02T03:04:05+00:00", "updated_at": "2025-01-03T03:04:05+00:00"},
    {"namespace": ["memories", "bob"], "key": "k2",
     "value": {"kind": "Triple", "content": {"subject": "Bob", "object": "tea"}},
     "created_at": "2025-01-02T03:04:05+00:00"},
    {"namespace": ["memories", "bob"], "key": "k3", "value": {"count": 3}, "created_at": "2025-01-02T03:04:05+00:00"},
]  # fmt: skip
GRAPH = (
    '{"type":"entity","name":"Ana_Sousa","entityType":"person","observations":["Keeps bees","Ana_Sousa sings"]}\n'
    '{"type":"entity","name":"Lisbon","entityType":"city","observations":[]}\n'
    '{"type":"relation","from":"Ana_Sousa","to":"Lisbon","relationType":"lives_in"}\n'
)
TALK = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "We keep the key under the third pot.", "timestamp": 1777629600},
    {"role": "assistant", "content": [{"type": "text", "text": "Noted."}]},
    {"role": "tool", "content": "x"},
]


def read(folder: Path, content: Any, name: str = "file.json", **options: Any) -> tuple[str, list[ImportRecord]]:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_path(file, **options)


def read_path(path: Path, **options: Any) -> tuple[str, list[ImportRecord]]:
    source = ImportSource(path, ImportOptions(**options))
    reader = find_reader(source)
    return reader.name, list(reader.read(source))


def said(records: list[ImportRecord]) -> list[tuple[str, str | None, str, str | None]]:
    return [
        (record.thread, message.get("name"), str(message["content"]), message.get("created_at"))
        for record in records
        if isinstance(record, ImportedThread)
        for message in record.messages
    ]


def skipped(records: list[ImportRecord]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for record in records:
        for what, times in record.skipped.items():
            found[what] = found.get(what, 0) + times
    return found


def documents(records: list[ImportRecord]) -> list[ImportedDocument]:
    return [record for record in records if isinstance(record, ImportedDocument) and record.statements]


def test_mem0(tmp_path: Path) -> None:
    name, records = read(tmp_path, MEM0)
    one, two = documents(records)
    assert (name, one.id, one.user, one.statements[0].text) == (
        "mem0",
        "mem0/a1",
        "ana",
        "Ana is allergic to hazelnuts",
    )
    assert one.statements[0].created_at == datetime(2026, 3, 2, 17, tzinfo=UTC)
    assert (one.statements[0].tags, one.statements[0].metadata) == (("health",), {"room": "kitchen"})
    assert two.statements[0].valid_to == datetime(2030, 1, 1, tzinfo=UTC)
    assert skipped(records) == {"relations of mem0's graph": 1}
    assert read(tmp_path, MEM0["results"])[0] == "mem0"


def test_zep_and_graphiti(tmp_path: Path) -> None:
    name, records = read(tmp_path, ZEP)
    assert (name, said(records)) == ("zep", [("s1", "Cleo", "I moved to Porto.", "2026-05-02T10:00:00Z")])
    (fact,) = documents(records)
    statement = fact.statements[0]
    assert (fact.id, statement.text, statement.tags) == ("zep/e1", "Cleo lives in Porto.", ("LIVES_IN",))
    assert (statement.valid_from, statement.valid_to) == (
        datetime(2026, 5, 2, 10, tzinfo=UTC),
        datetime(2026, 6, 1, tzinfo=UTC),
    )
    assert skipped(records) == {"messages of the role 'system'": 1, "nodes and episodes of data": 1}
    assert read(tmp_path, ZEP["edges"])[0] == "zep"


def test_langmem_and_langgraph_items(tmp_path: Path) -> None:
    name, records = read(tmp_path, ITEMS)
    assert (name, [(item.id, item.user, item.statements[0].text) for item in documents(records)]) == ("langmem", [
        ("langgraph/memories/bob/k1", "bob", "Bob plays chess."),
        ("langgraph/memories/bob/k2", "bob", "subject: Bob; object: tea"),
    ])  # fmt: skip
    assert documents(records)[0].statements[0].created_at == datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert skipped(records) == {"items without words": 1}
    lines = "\n".join(json.dumps(item) for item in ITEMS)
    assert [type(item) for item in read(tmp_path, lines)[1]] == [ImportedDocument] * 3


def test_the_graph_of_the_reference_server(tmp_path: Path) -> None:
    name, records = read(tmp_path, GRAPH, "memory.jsonl")
    assert (name, [record.node for record in records if isinstance(record, ImportedNode)]) == ("graph", [
        {"name": "Ana_Sousa", "entityType": "person", "observations": ["Keeps bees", "Ana_Sousa sings"]},
        {"name": "Lisbon", "entityType": "city", "observations": []},
        {"from": "Ana_Sousa", "to": "Lisbon", "relationType": "lives_in"},
    ])  # fmt: skip
    assert [item.text for item in documents(records)[0].statements] == ["Ana_Sousa: Keeps bees", "Ana_Sousa sings"]


@pytest.mark.parametrize(
    "content",
    [
        TALK,
        {"messages": TALK},
        [{"messages": TALK}],
        [TALK],
        "\n".join(map(json.dumps, TALK)),
        "\n".join([json.dumps({"messages": TALK})] * 2),
        {"title": "x", "sessions": [{"thread": "t", "messages": TALK}]},
    ],
)
def test_messages_of_chat_apis(content: Any, tmp_path: Path) -> None:
    name, records = read(tmp_path, content)
    assert name == "messages"
    assert [row[2:] for row in said(records)][:2] == [
        ("We keep the key under the third pot.", "2026-05-01T10:00:00+00:00"),
        ("Noted.", None),
    ]
    assert skipped(records)["messages of the role 'tool'"] >= 1
    ids = [message["id"] for record in records if isinstance(record, ImportedThread) for message in record.messages]
    assert ids == [
        message["id"]
        for record in read(tmp_path, content)[1]
        if isinstance(record, ImportedThread)
        for message in record.messages
    ]


# The same four lines as phones of many languages write them: 31 December 2023, 22:05, and 1 January 2024, 00:03.
WHATSAPP = {
    "ios uk": ("[31/12/2023, 22:05:06] Ana: Oi Bo\nsee you\n\u200e[01/01/2024, 00:03:00] Bo: \u200eimage omitted\n"
               "[01/01/2024, 00:04:00] Bo: Ciao: tomorrow"),
    "ios us": ("[12/31/23, 10:05:06\u202fPM] Ana: Oi Bo\nsee you\n[1/1/24, 12:03:00\u202fAM] Bo: \u200evideo omitted\n"
               "[1/1/24, 12:04:00\u202fAM] Bo: Ciao: tomorrow"),
    "android uk": ("31/12/2023, 22:05 - Messages are end-to-end encrypted.\n31/12/2023, 22:05 - Ana: Oi Bo\nsee you\n"
                   "01/01/2024, 00:03 - Bo: <Media omitted>\n01/01/2024, 00:04 - Bo: Ciao: tomorrow"),
    "android us": ("12/31/23, 10:05 PM - Ana: Oi Bo\nsee you\n1/1/24, 12:03 AM - Bo: <Media omitted>\n"
                   "1/1/24, 12:04 AM - Bo: Ciao: tomorrow"),
    "german": ("31.12.23, 22:05 - Ana: Oi Bo\nsee you\n01.01.24, 00:03 - Bo: <Medien ausgeschlossen>\n"
               "01.01.24, 00:04 - Bo: Ciao: tomorrow"),
    "spanish": ("31/12/23, 10:05\u202fp.\u00a0m. - Ana: Oi Bo\nsee you\n"
                "1/1/24, 12:03\u202fa.\u00a0m. - Bo: <Multimedia omitido>\n"
                "1/1/24, 12:04\u202fa.\u00a0m. - Bo: Ciao: tomorrow"),
    "french": ("31/12/2023 à 22:05 - Ana: Oi Bo\nsee you\n01/01/2024 à 00:03 - Bo: <Médias omis>\n"
               "01/01/2024 à 00:04 - Bo: Ciao: tomorrow"),
    "italian": ("31/12/23, 22.05 - Ana: Oi Bo\nsee you\n01/01/24, 00.03 - Bo: <Media omessi>\n"
                "01/01/24, 00.04 - Bo: Ciao: tomorrow"),
    "finnish": ("31.12.2023 klo 22.05 - Ana: Oi Bo\nsee you\n1.1.2024 klo 0.03 - Bo: <Media jätettiin pois>\n"
                "1.1.2024 klo 0.04 - Bo: Ciao: tomorrow"),
    "dutch": ("31-12-2023 22:05 - Ana: Oi Bo\nsee you\n01-01-2024 00:03 - Bo: <Media weggelaten>\n"
              "01-01-2024 00:04 - Bo: Ciao: tomorrow"),
    "swedish": ("2023-12-31 22:05 - Ana: Oi Bo\nsee you\n2024-01-01 00:03 - Bo: <Media har utelämnats>\n"
                "2024-01-01 00:04 - Bo: Ciao: tomorrow"),
    "japanese": ("2023/12/31 22:05 - Ana: Oi Bo\nsee you\n2024/01/01 0:03 - Bo: <メディアは含まれていません>\n"
                 "2024/01/01 0:04 - Bo: Ciao: tomorrow"),
    "chinese": ("2023/12/31 下午10:05 - Ana: Oi Bo\nsee you\n2024/1/1 上午12:03 - Bo: <省略多媒体文件>\n"
                "2024/1/1 上午12:04 - Bo: Ciao: tomorrow"),
}  # fmt: skip


@pytest.mark.parametrize("locale", WHATSAPP)
def test_whatsapp_as_phones_write_it(locale: str, tmp_path: Path) -> None:
    name, records = read(tmp_path, WHATSAPP[locale], "WhatsApp Chat with Bo.txt")
    (first, last), second = [(row[1], row[2]) for row in said(records)], [row[3] for row in said(records)]
    assert (name, first, last) == ("whatsapp", ("Ana", "Oi Bo\nsee you"), ("Bo", "Ciao: tomorrow"))
    assert [at and at[:16] for at in second] == ["2023-12-31T22:05", "2024-01-01T00:04"]
    assert skipped(records)["messages without words"] == 1


def test_whatsapp_messages_that_were_taken_back_say_nothing_and_changed_ones_what_they_say(tmp_path: Path) -> None:
    lines = ("This message was deleted", "You deleted this message.", "Diese Nachricht wurde gelöscht", "此消息已删除")
    text = "\n".join(f"31/12/2023, 22:05 - Bo: {line}" for line in lines)
    changed = "31/12/2023, 22:06 - Bo: I live in Graz \u200e<This message was edited>"
    _, records = read(tmp_path, f"{text}\n{changed}", "WhatsApp Chat with Bo.txt")
    assert [row[2] for row in said(records)] == ["I live in Graz"]
    assert skipped(records)["messages without words"] == len(lines)


def test_whatsapp_says_some_things_itself_under_a_persons_name(tmp_path: Path) -> None:
    own = ("Messages and calls are end-to-end encrypted.", "Missed voice call", "Bo created this group")
    lines = [f"[12/31/23, 10:05:06\u202fPM] Bo: \u200e{line}" for line in own]
    lines += ["[12/31/23, 10:06:00\u202fPM] Bo: \u200ePOLL:\nWhen do we sail?\n\u200eOPTION: May (2 votes)",
              "[12/31/23, 10:07:00\u202fPM] Bo: I sold the boat. \u200e<This message was edited>",
              "\u200e[12/31/23, 10:08:00\u202fPM] Bo: Oi"]  # fmt: skip
    _, records = read(tmp_path, "\n".join(lines), "_chat.txt")
    assert [row[2] for row in said(records)] == [
        "POLL:\nWhen do we sail?\nOPTION: May (2 votes)", "I sold the boat.", "Oi",
    ]  # fmt: skip
    assert skipped(records) == {"messages without words": 3}


def test_whatsapp_days_and_months_are_told_by_the_order_of_dates(tmp_path: Path) -> None:
    """No number is above 12: the reading in which the days follow each other holds."""
    text = "03/04/2023, 10:00 - Ana: a\n05/04/2023, 10:00 - Ana: b\n02/05/2023, 10:00 - Ana: c"
    assert [row[3] and row[3][:10] for row in said(read(tmp_path, text)[1])] == [
        "2023-04-03",
        "2023-04-05",
        "2023-05-02",
    ]
    other = "03/04/2023, 10:00 - Ana: a\n03/05/2023, 10:00 - Ana: b\n04/02/2023, 10:00 - Ana: c"
    assert said(read(tmp_path, other)[1])[2][3] == "2023-04-02T10:00:00+00:00"
    assert said(read(tmp_path, text, day_first=False)[1])[0][3] == "2023-03-04T10:00:00+00:00"
    above = "12/31/2023, 22:05 - Ana: a\n01/02/2024, 22:05 - Ana: b"  # a month first, on a clock of 24 hours
    assert [row[3] and row[3][:10] for row in said(read(tmp_path, above)[1])] == ["2023-12-31", "2024-01-02"]
    assert said(read(tmp_path, text, zone="Europe/Lisbon")[1])[0][3] == "2023-04-03T10:00:00+01:00"


@pytest.mark.parametrize(
    ("zone", "offset"), [("+02:00", "+02:00"), ("-0530", "-05:30"), ("UTC+2", "+02:00"), ("GMT-3", "-03:00")]
)
def test_a_zone_may_be_an_offset(zone: str, offset: str, tmp_path: Path) -> None:
    text = "13/04/2023, 10:00 - Ana: a\n14/04/2023, 10:00 - Ana: b"
    assert said(read(tmp_path, text, zone=zone)[1])[0][3] == f"2023-04-13T10:00:00{offset}"


@pytest.mark.parametrize("zone", ["+25:00", "02:00", "Lisbon", "", "../etc/passwd"])
def test_another_zone_is_refused(zone: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="an offset such as"):
        read(tmp_path, "13/04/2023, 10:00 - Ana: a", zone=zone)


def test_the_zip_of_whatsapp(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "chat.zip", "w") as archive:
        archive.writestr("_chat.txt", WHATSAPP["ios uk"])
        archive.writestr("00000012-PHOTO.jpg", b"\xff\xd8")
    name, records = read_path(tmp_path / "chat.zip")
    assert (name, len(said(records))) == ("whatsapp", 2)


IRC = {
    "irssi": "--- Log opened Sun Dec 31 22:00:00 2023\n22:05 -!- Ana [~a@x] has joined #sea\n22:05 <@Ana> Oi Bo\n"
             "--- Day changed Mon Jan 01 2024\n00:04 < Bo> Ciao: tomorrow\n00:05  * Bo waves",
    "weechat": "2023-12-31 22:05:00\tAna\tOi Bo\n2023-12-31 22:06:00\t-->\tCy (c@x) has joined #sea\n"
               "2024-01-01 00:04:00\tBo\tCiao: tomorrow",
    "hexchat": "**** BEGIN LOGGING AT Sun Dec 31 22:00:00 2023\nDec 31 22:05:00 <Ana>\tOi Bo\n"
               "**** BEGIN LOGGING AT Mon Jan  1 00:00:00 2024\nJan 01 00:04:00 <Bo>\tCiao: tomorrow",
    "whole dates": "[2023-12-31T22:05:00Z] <Ana> Oi Bo\n[2024-01-01T00:04:00Z] <Bo> Ciao: tomorrow",
}  # fmt: skip


@pytest.mark.parametrize("client", IRC)
def test_logs_of_irc(client: str, tmp_path: Path) -> None:
    name, records = read(tmp_path, IRC[client], "sea.log")
    assert (name, [row[1:] for row in said(records)]) == ("irc", [
        ("Ana", "Oi Bo", "2023-12-31T22:05:00+00:00"), ("Bo", "Ciao: tomorrow", "2024-01-01T00:04:00+00:00"),
    ])  # fmt: skip


def test_what_a_nick_says_within_a_second_is_a_message_again(tmp_path: Path) -> None:
    """IRC sends each line of a message by itself. Where a log has no seconds, lines stay what they are."""
    lines = ("22:05:01] <Ana> We need:", "22:05:01] <Ana> oats", "22:05:01] <Bo> Yes", "22:05:01] <Ana> salt",
             "22:05:02] <Ana> and tea")  # fmt: skip
    _, records = read(tmp_path, "\n".join(f"[2023-12-31 {line}" for line in lines), "sea.log")
    assert [row[2] for row in said(records)] == ["We need:\noats", "Yes", "salt", "and tea"]
    short = "[2023-12-31 22:05] <Ana> one\n[2023-12-31 22:05] <Ana> two"
    assert [row[2] for row in said(read(tmp_path, short, "sea.log")[1])] == ["one", "two"]


@pytest.mark.parametrize("name", ["2023-12-31.log", "#sea_20231231.log"])
def test_a_log_of_znc_says_its_day_in_its_name(name: str, tmp_path: Path) -> None:
    log = "[22:05:00] <Ana> Oi Bo\n[22:06:00] *** Joins: Cy (c@x)\n[22:07:00] <Bo> Ciao"
    form, records = read(tmp_path, log, name)
    assert (form, [row[3] for row in said(records)]) == ("irc", [
        "2023-12-31T22:05:00+00:00", "2023-12-31T22:07:00+00:00",
    ])  # fmt: skip
    assert skipped(records) == {"messages of the app itself": 1}
    assert [row[3] for row in said(read(tmp_path, log, "99999999.log")[1])] == [None, None]


def test_a_year_ends_in_a_log_whose_lines_name_no_year(tmp_path: Path) -> None:
    log = "**** BEGIN LOGGING AT Sun Dec 31 22:00:00 2023\nDec 31 22:05:00 <Ana>\tOi\nJan 01 00:04:00 <Bo>\tCiao"
    assert [row[3] and row[3][:10] for row in said(read(tmp_path, log, "sea.log")[1])] == ["2023-12-31", "2024-01-01"]


def test_nicks_with_signs_are_people(tmp_path: Path) -> None:
    nicks = ("Ana|away", "bo-bo", "[cy]", "@+d`", "Zoë")
    log = "\n".join(f"2023-12-31 22:0{number}:00\t{nick}\tOi" for number, nick in enumerate(nicks))
    marks = "".join(f"\n2023-12-31 22:07:00\t{mark}\tCy came" for mark in ("-->", "<--", "--", " *", "=!=", ""))
    _, records = read(tmp_path, log + marks, "sea.weechatlog")
    assert [row[1] for row in said(records)] == ["Ana|away", "bo-bo", "[cy]", "d`", "Zoë"]
    assert skipped(records) == {"messages of the app itself": 6}
    _, records = read(tmp_path, "[2023-12-31 22:05:00] <@+Ana> Oi", "sea.log")
    assert said(records)[0][1] == "Ana"


def test_a_log_tells_the_program_from_the_person_by_the_name(tmp_path: Path) -> None:
    chats = {
        "sea.log": "[2023-12-31 22:05:00] <user> Oi\n[2023-12-31 22:06:00] <assistant> Ciao",
        "WhatsApp Chat with Meta AI.txt": "31/12/2023, 22:05 - You: Oi\n31/12/2023, 22:06 - Meta AI: Ciao",
    }
    for name, text in chats.items():
        (record,) = read(tmp_path, text, name)[1]
        assert isinstance(record, ImportedThread)
        assert [message["role"] for message in record.messages] == ["user", "assistant"]
        assert "name" not in record.messages[0]


def test_a_log_with_labels(tmp_path: Path) -> None:
    name, records = read(tmp_path, "USER: I keep bees.\nThree hives.\n\nASSISTANT: Lovely.\nUSER: Yes.", "log.txt")
    assert (name, [row[2] for row in said(records)]) == ("labelled", ["I keep bees.\nThree hives.", "Lovely.", "Yes."])


def test_a_vault_of_notes(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / "daily").mkdir(parents=True)
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian/app.json").write_text("{}")
    (vault / "map.png").write_bytes(b"x")
    (vault / "Kitchen.md").write_text(
        "---\ncreated: 2024-03-02\ntags: [home, food]\naliases: [galley]\nrooms: 2\n---\n# Kitchen\n\n"
        "The oven is a Bosch. See [[Garden|the garden]].\n\n"
        "## Bread\nRye on Sundays. #baking\n```\n# no heading #no\n```\n"
    )
    (vault / "Garden.md").write_text("Roses by Tomas. Back to [the kitchen](Kitchen.md).")
    (vault / "daily/2024-05-06.md").write_text("Planted beans.")
    name, records = read_path(vault)
    kitchen = next(item for item in documents(records) if item.id.endswith("Kitchen.md"))
    assert (name, [item.text for item in kitchen.statements]) == ("markdown", [
        "Kitchen: The oven is a Bosch. See the garden.",
        "Kitchen › Bread: Rye on Sundays. #baking\n```\n# no heading #no\n```",
    ])  # fmt: skip
    statement = kitchen.statements[0]
    assert (statement.created_at, statement.tags) == (datetime(2024, 3, 2, tzinfo=UTC), ("home", "food", "baking"))
    assert statement.metadata == {"created": "2024-03-02", "rooms": 2, "note": "Kitchen.md", "aliases": ["galley"]}
    assert kitchen.links == ("notes/vault/Garden.md",)
    times = {item.id: item.statements[0].created_at for item in documents(records)}
    assert times["notes/vault/daily/2024-05-06.md"] == datetime(2024, 5, 6, tzinfo=UTC)
    assert times["notes/vault/Garden.md"] is None
    assert skipped(records) == {"files that are no notes": 1}


def test_tables(tmp_path: Path) -> None:
    columns = {"text": "Note", "created_at": "Day"}
    name, records = read(tmp_path, 'Note;Day\nOven is new;3.4.2024\n"Two\nlines";4.4.2024\n', "n.csv", mapping=columns)
    assert (name, [item.statements[0].text for item in documents(records)]) == ("csv", ["Oven is new", "Two\nlines"])
    assert [item.statements[0].created_at for item in documents(records)] == [
        datetime(2024, 4, 3, tzinfo=UTC),
        datetime(2024, 4, 4, tzinfo=UTC),
    ]
    quoted = 'text,created_at\n"He said ""no, thanks"", and left; so, well",2024-01-01\n'
    assert (
        documents(read(tmp_path, quoted, "q.csv")[1])[0].statements[0].text
        == 'He said "no, thanks", and left; so, well'
    )
    talk = "thread,speaker,message,timestamp\nt1,Ana,Oi,2024-01-01T10:00:00Z\nt2,Bo,Ciao,2024-01-01T11:00:00Z\n"
    assert said(read(tmp_path, talk, "t.csv")[1]) == [
        ("t1", "Ana", "Oi", "2024-01-01T10:00:00+00:00"),
        ("t2", "Bo", "Ciao", "2024-01-01T11:00:00+00:00"),
    ]
    source = ImportSource(tmp_path / "t.csv", ImportOptions(mapping={"text": "Words"}))
    with pytest.raises(InvalidInput, match="no column 'Words'"):
        list(find_reader(source, "csv").read(source))


def test_a_database_is_read_by_any_thread(tmp_path: Path) -> None:
    """Records are read some at a time, off the event loop."""
    with closing(sqlite3.connect(tmp_path / "store.db")) as db:
        db.execute("CREATE TABLE store (prefix TEXT, key TEXT, value TEXT, created_at TEXT)")
        rows = [(key, '{"content": "Bob plays chess."}') for key in "ab"]
        db.executemany("INSERT INTO store VALUES ('m', ?, ?, '2024-01-01')", rows)
        db.commit()
    source = ImportSource(tmp_path / "store.db")
    records = find_reader(source).read(source)
    found = [next(records)]
    with ThreadPoolExecutor(1) as other:
        found += other.submit(list, records).result()
    assert [record.id for record in found if isinstance(record, ImportedDocument)] == ["langgraph/m/a", "langgraph/m/b"]


def test_what_is_none_of_them_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\x00\x01\x02" * 50)
    with pytest.raises(InvalidInput, match="none of the formats"):
        find_reader(ImportSource(tmp_path / "x.bin"))
    with pytest.raises(InvalidInput, match="format is one of"):
        find_reader(ImportSource(tmp_path / "x.bin"), "signal")
