"""A malformed file is refused with the line, in every format, and nothing of it is in the store.

What is wrong stands behind many good records, so that reading had long begun.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import pytest

from memwarden import InvalidInput, Warden
from memwarden.remember.imports.registry import FORMATS
from memwarden.remember.imports.source import ImportOptions

CONFIG = {"embedder": "none", "extraction": "off"}
GOOD = 60  # three times what is read ahead
OTHERS = 6  # records of another file


class Malformed(NamedTuple):
    """A malformed file: its format, name and text, the line that is wrong (none in a database), and what is said."""

    form: str
    about: str
    name: str
    text: str
    line: int | None
    told: str


def node(number: int, **changed: Any) -> dict[str, Any]:
    """A chat of ChatGPT with a message."""
    message = {"id": "m", "author": {"role": "user"}, "create_time": 1704060000 + number,
               "content": {"content_type": "text", "parts": [f"We walked {number} miles."]}} | changed  # fmt: skip
    nodes = {"n": {"parent": None, "message": message}}
    return {"conversation_id": f"c{number}", "current_node": "n", "mapping": nodes}


def claude(number: int, **changed: Any) -> dict[str, Any]:
    said = {"uuid": f"m{number}", "sender": "human", "text": f"We walked {number} miles."} | changed
    return {"uuid": f"k{number}", "chat_messages": [{key: item for key, item in said.items() if item is not None}]}


def mem0(number: int, **changed: Any) -> dict[str, Any]:
    return {"id": f"a{number}", "memory": f"Ana walked {number} miles.", "user_id": "ana"} | changed


def message(number: int, **changed: Any) -> dict[str, Any]:
    return {"role": "user", "content": f"We walked {number} miles."} | changed


def zep(number: int, **changed: Any) -> dict[str, Any]:
    return {"uuid": f"z{number}", "role_type": "user", "role": "Ana", "content": f"We walked {number} miles.",
            "thread_id": f"t{number % 3}"} | changed  # fmt: skip


def item(number: int, **changed: Any) -> dict[str, Any]:
    return {"namespace": ["memories", "ana"], "key": f"k{number}", "value": {"content": f"{number} miles."}} | changed


def listed(good: list[Any], bad: str, head: str = "[", end: str = "]") -> str:
    """A list in a file, a value on each line; the bad one is on line GOOD + 2."""
    return head + "\n" + ",\n".join([*map(json.dumps, good), bad]) + "\n" + end


def line_of(text: str, part: str) -> int:
    assert text.count(part) == 1
    return text[: text.index(part)].count("\n") + 1


def store_of_langgraph(bad: str) -> str:
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE store (prefix TEXT, key TEXT, value TEXT, created_at TEXT)")
        rows = [(f"k{number:03}", json.dumps({"content": f"{number} miles"})) for number in range(GOOD)]
        db.executemany("INSERT INTO store VALUES ('m', ?, ?, '2024-01-01')", [*rows, ("z", bad)])
        db.commit()
        return db.serialize().decode("utf-8", "surrogateescape")


def malformed() -> Iterator[Malformed]:
    """Yield files that are wrong at their end."""
    many, last = range(GOOD), GOOD + 2
    lists: dict[str, tuple[Any, str, dict[str, tuple[Any, str]]]] = {
        "chatgpt": (node, "[", {
            "no author": (node(99, author=None), "no message with an author"),
            "no time": (node(99, create_time="noon"), "create_time is 'noon'"),
            "a role nobody has": ([1], "conversation 61 is no conversation"),
        }),
        "claude": (claude, "[", {
            "no uuid": (claude(99, uuid=None), "no message with a uuid"),
            "no time": (claude(99, created_at="noon"), "created_at"),
        }),
        "mem0": (mem0, '{"results": [', {
            "a list": (mem0(99, memory=["y"]), "memory 61.memory is a list"),
            "no time": (mem0(99, created_at="noon"), "memory 61.created_at"),
            "no name": (mem0(99, id=None), "memory 61 has no id"),
            "an importance above all": (mem0(99, metadata={"memwarden": {"importance": 7}}), "importance"),
        }),
        "zep": (zep, '{"messages": [', {
            "no time": (zep(99, created_at="noon"), "created_at"),
            "a number": (7, "messages 61 is the int 7"),
            "a long name": (zep(99, role="x" * 2_000), "name"),
        }),
        "langmem": (item, "[", {
            "no value": (item(99, value=3), "item 61 is an object"),
            "no time": (item(99, created_at="noon"), "item 61.created_at"),
        }),
        "messages": (message, '{"messages": [', {
            "a number": (7, "message 61 is the int 7"),
            "no time": (message(99, created_at="noon"), "created_at"),
        }),
    }  # fmt: skip
    for form, (make, head, wrong) in lists.items():
        good, end = [make(number) for number in many], "]}" if head.startswith("{") else "]"
        for about, (value, told) in wrong.items():
            yield Malformed(form, about, "file", listed(good, json.dumps(value), head, end), last, told)
        broken = listed(good, json.dumps(make(99)).replace(":", ":,", 1), head, end)
        yield Malformed(form, "no JSON", "file", broken, last, "no valid JSON")
        yield Malformed(form, "no JSON, with a mark", "file", f"\ufeff{broken}", last, "no valid JSON")
        cut = listed(good, json.dumps(make(99)), head, "")
        yield Malformed(form, "its end is missing", "file", cut, last + 1, "no valid JSON")
    deep = json.dumps([node(number) for number in many] + [node(99, content="BAD")], indent=1)
    yield Malformed("chatgpt", "in a long chat", "file", deep, line_of(deep, '"c99"') + 3, "an author and a content")
    deep = json.dumps({"messages": [*map(message, many), message(99, content={"BAD": 1})]}, indent=1)
    yield Malformed("messages", "in a long chat", "file", deep, line_of(deep, "BAD") - 3, "not a list")
    rows = [json.dumps(message(number)) for number in many]
    yield Malformed("messages", "a line", "file", "\n".join([*rows, '{"role": "user",']), GOOD + 1, "no valid JSON")
    yield Malformed("messages", "a value on a line", "file", "\n".join([*rows, "7"]), GOOD + 1, "the int 7")
    nodes = [json.dumps({"type": "entity", "name": f"n{number}", "entityType": "x", "observations": []})
             for number in many]  # fmt: skip
    yield Malformed(
        "graph", "no kind", "file", "\n".join([*nodes, '{"type":"entity","name":"x"}']), GOOD + 1, "entityT"
    )
    day = [f"31/12/2023, 22:{number % 60:02} - Ana: {number} miles" for number in many]
    yield Malformed("whatsapp", "no day", "file", "\n".join([*day, "32/12/2023, 22:05 - Ana: Oi"]), GOOD + 1, "no time")
    said = [f"USER: {number} miles\nASSISTANT: Oh." for number in many]
    yield Malformed("labelled", "no text", "file", "\n".join([*said, "USER: \udcff"]), 2 * GOOD + 1, "no UTF-8")
    chat = [f"2023-12-31 22:{number % 60:02}:00\tAna\t{number} miles" for number in many]
    yield Malformed("irc", "no day", "file", "\n".join([*chat, "2023-13-31 22:05:00\tAna\tOi"]), GOOD + 1, "no time")
    front = "---\ntitle: miles\n"
    yield Malformed("markdown", "no YAML", "n.md", f"{front}tags: [a, b\n---\nx", 3, "no YAML")
    yield Malformed("markdown", "no text", "n.md", f"{front}---\nx\n\udcff", 5, "no UTF-8")
    yield Malformed("markdown", "no day", "n.md", f"{front}created: 2024-13-01\n---\nx", 3, "'2024-13-01' is no time")
    yield Malformed("markdown", "an alias", "n.md", f"{front}a: &x 1\nb: *x\n---\nx", 2, "alias")
    own = f"{front}memwarden: memory\nvalid_to: noon\n---\nx"
    yield Malformed("markdown", "no time", "n.md", own, 4, "valid_to")
    table = ["text,created_at,tags", *(f"{number} miles,2024-01-01,a" for number in many)]
    yield Malformed("csv", "a cell too many", "file", "\n".join([*table, "Oven,2024-01-01,a,b"]), last, "4 cells")
    early = "Oven,0001-01-01T00:30:00+09:00,a"
    yield Malformed("csv", "a year before the first", "file", "\n".join([*table, early]), last, "is no time")
    for when in ("99999999999999999999", "²"):
        yield Malformed("csv", when, "file", "\n".join([*table, f"Oven,{when},a"]), last, "is no time")
    yield Malformed("csv", "no day", "file", "\n".join([*table, "Oven,noon,a"]), last, "'noon' is no time")
    talk = ["thread,role,text,id", *(f"t{number % 3},user,{number} miles,{number}" for number in many)]
    yield Malformed("csv", "a long id", "file", "\n".join([*talk, f"t1,user,Oi,{'x' * 2_000}"]), last, "id")
    yield Malformed("langgraph", "no JSON", "file", store_of_langgraph("{"), None, "item 61 holds no JSON")


@pytest.mark.parametrize("wrong", list(malformed()), ids=lambda wrong: f"{wrong.form}, {wrong.about}")
def test_a_malformed_file_is_refused_with_the_line_and_leaves_nothing(wrong: Malformed, tmp_path: Path) -> None:
    folder = tmp_path / ("vault" if wrong.form == "markdown" else "files")
    folder.mkdir()
    file = folder / wrong.name
    file.write_bytes(wrong.text.encode("utf-8", "surrogateescape"))
    place = f"'{file}'"
    if wrong.form == "markdown":  # the notes before it are good
        for number in range(GOOD):
            (folder / f"a{number}.md").write_text(f"Ana walked {number} miles.")
        file, place = folder, f"'{folder}', n.md"
    good = tmp_path / "good.json"
    good.write_text(json.dumps([mem0(number) for number in range(GOOD)]))
    with Warden.open("memory://", config=CONFIG) as warden:
        warden.scope(user="ana").remember("Ana keeps bees.")
        warden.export(tmp_path / "before", user="ana")
        with pytest.raises(InvalidInput) as refused:
            warden.import_files([good, file], user="ana", options=ImportOptions(strict=True))
        told, line = str(refused.value), "" if wrong.line is None else f", line {wrong.line:,}"
        assert re.match(rf"{re.escape(place + line)}[ ,:].*{re.escape(wrong.told)}.*; nothing was imported$", told)
        warden.export(tmp_path / "after", user="ana")
        assert (tmp_path / "after").read_bytes() == (tmp_path / "before").read_bytes()
        assert warden.users() == ["ana"]


# Formats whose malformed entries tests/unit/test_chat_app_imports.py and test_file_imports.py have.
ELSEWHERE = {"telegram", "slack", "open-webui", "claude-code", "mail", "files"}


def test_every_format_has_malformed_files() -> None:
    assert {wrong.form for wrong in malformed()} | ELSEWHERE == set(FORMATS)


def test_a_malformed_part_of_a_zip_is_named_with_its_line(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("conversations.json", listed(list(map(node, range(GOOD))), "7"))
        archive.writestr("chat.html", "x")
    with (
        Warden.open("memory://", config=CONFIG) as warden,
        pytest.raises(InvalidInput, match=rf"export\.zip', conversations\.json, line {GOOD + 2}, conversation 61"),
    ):
        warden.import_files(tmp_path / "export.zip", user="ana", options=ImportOptions(strict=True))


@pytest.mark.parametrize("wrong", list(malformed()), ids=lambda wrong: f"{wrong.form}, {wrong.about}")
def test_a_malformed_entry_is_left_out_and_named_and_the_others_come_in(wrong: Malformed, tmp_path: Path) -> None:
    folder = tmp_path / ("vault" if wrong.form == "markdown" else "files")
    folder.mkdir()
    file = folder / wrong.name
    file.write_bytes(wrong.text.encode("utf-8", "surrogateescape"))
    good = tmp_path / "good.json"
    good.write_text(json.dumps([mem0(number) for number in range(OTHERS)]))
    with Warden.open("memory://", config=CONFIG) as warden:
        done = warden.import_files([good, folder if wrong.form == "markdown" else file], user="ana")
        (named,) = [name for name in done.refused if wrong.name in name] or ["read in its encoding"]
        assert done.stored >= OTHERS
        assert wrong.told in named or wrong.told == "no UTF-8", done.refused
        if wrong.line is not None and named != "read in its encoding":
            assert f"line {wrong.line:,}" in named


def test_of_a_vault_of_100_notes_with_ten_broken_in_ten_ways_90_come_in_and_ten_are_named(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    for number in range(90):
        (vault / f"note {number}.md").write_text(f"Ana walked {number} miles.")
    broken: dict[str, bytes] = {
        "colon": b"---\ntitle: Foo: bar\n---\nx",
        "list": b"---\ntags: [a, b\n---\nx",
        "alias": b"---\na: &x 1\nb: *x\n---\nx",
        "day": b"---\ncreated: 2024-13-01\n---\nx",
        "fields": b"---\njust words\n---\nx",
        "binary": b"x\0\0\xff",
        "control": b"\x01\x02\x03 x",
        "memory": b"---\nmemwarden: memory\nvalid_to: noon\n---\nx",
        "channel": b"---\nmemwarden: memory\nchannel: radio\n---\nx",
        "thread": b"---\nmemwarden: memory\nmetadata: '{'\n---\nx",
    }
    for name, content in broken.items():
        (vault / f"{name}.md").write_bytes(content)
    with Warden.open("memory://", config=CONFIG) as warden:
        done = warden.import_files(vault, user="ana")
        assert (done.stored, len(done.refused)) == (90, 10)
        assert all(any(f"{name}.md" in refused for refused in done.refused) for name in broken)
        assert all(str(vault) in refused for refused in done.refused)
        assert warden.import_files(vault, user="ana").known == 90


def test_a_note_that_became_malformed_keeps_what_it_stated(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "boiler.md").write_text("The boiler is a Vaillant.")
    (vault / "kettle.md").write_text("The kettle is copper.")
    with Warden.open("memory://", config=CONFIG) as warden:
        warden.import_files(vault, user="ana")
        (vault / "boiler.md").write_text("---\ntitle: Foo: bar\n---\nThe boiler is a Vaillant.")
        done = warden.import_files(vault, user="ana")
        assert (done.ended, len(done.refused)) == (0, 1)
        (vault / "boiler.md").unlink()
        assert warden.import_files(vault, user="ana").ended == 1


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Die Müllers wohnen in Köln.", "latin-1"),
        ("Привет, как дела? Я живу в Москве и люблю чай.", "cp1251"),
        ("我住在上海，喜欢喝茶。我的朋友住在北京。", "gb18030"),
        ("Ana håller bin.", "utf-16"),
    ],
)
def test_a_note_of_another_encoding_is_read(text: str, encoding: str, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "old.md").write_bytes(text.encode(encoding))
    (vault / "new.md").write_text("The kettle is copper.")
    with Warden.open("memory://", config=CONFIG) as warden:
        assert warden.import_files(vault, user="ana").stored == 2
        assert [item.text for item in warden.scope(user="ana").find() if text in item.text] == [f"old: {text}"]


def said(text: str, more: str = "") -> str:
    return f'{{"role": "user", "content": "{text}"{more}}}'


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (said("x", ', "id": ' + "9" * 5_000), "is a printable text"),
        (said("x", ', "id": -' + "9" * 200_000), "is a printable text"),
        (said("x", ', "created_at": 1e400'), "is a datetime"),
        ('{"role": "user", "content": ' + "[" * 3_000 + "]" * 3_000 + "}", "nested more than 200 deep"),
        ('{"role": "user", "content": ' + '{"a":' * 300 + "1" + "}" * 300 + "}", "nested more than 200 deep"),
    ],
    ids=["digits", "many digits", "infinite", "lists", "objects"],
)
def test_numbers_and_depths_that_no_reader_takes_end_no_import(bad: str, reason: str, tmp_path: Path) -> None:
    """ijson's parser in C ended the process at the digits."""
    file = tmp_path / "chat.json"
    file.write_text(f"[{said('The kettle is copper.')},\n{bad},\n{said('The oven is steel.')}]", "utf-8")
    with Warden.open("memory://", config=CONFIG) as warden:
        done = warden.import_files(file, user="ana")
    assert done.stored == 2
    assert [reason in name and "line 2" in name for name in done.refused] == [True]


@pytest.mark.parametrize("bad", ["1e99999999999999999999", '{"role": "us', "NaN"])
def test_the_messages_before_a_broken_end_come_in(bad: str, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(f"[{said('The kettle is copper.')},{said('Der Herd ist neu.')},{bad}", "utf-8")
    with Warden.open("memory://", config=CONFIG) as warden:
        done = warden.import_files(file, user="ana")
        assert done.stored == 2
        assert ["nothing after it was read" in name for name in done.refused] == [True]
        with pytest.raises(InvalidInput):
            warden.import_files(file, user="bo", options=ImportOptions(strict=True))
        assert warden.scope(user="bo").find() == []


def test_long_digits_within_a_text_are_words(tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(f"[{said('Pi is 3.' + '1' * 5_000)}, {said('The oven is steel.')}]", "utf-8")
    with Warden.open("memory://", config=CONFIG) as warden:
        assert warden.import_files(file, user="ana").stored == 2
        assert any("1" * 5_000 in item.text for item in warden.scope(user="ana").find())


def test_a_note_whose_name_is_no_utf_8_is_read(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "a.md").write_text("Ana walked three miles.", "utf-8")
    Path(os.fsdecode(os.fsencode(tmp_path / "vault") + b"/M\xfcller.md")).write_text("Bo swims daily.", "utf-8")
    with Warden.open("memory://", config=CONFIG) as warden:
        assert warden.import_files(tmp_path / "vault", user="ana").stored == 2
        assert {item.text for item in warden.scope(user="ana").find()} == {
            "a: Ana walked three miles.",
            "M\ufffdller: Bo swims daily.",
        }


def test_lists_of_a_million_levels_take_little_time(tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(f"[{said('The kettle is copper.')}," + "[" * 1_000_000, "utf-8")
    begun = time.process_time()
    with Warden.open("memory://", config=CONFIG) as warden, pytest.raises(InvalidInput):
        warden.import_files(file, user="ana")
    assert time.process_time() - begun < 10
