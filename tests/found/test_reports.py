"""Symptoms that users of memory systems reported in public: each id of the reports has a test with the right value.

Each test is named by ``report``. Reports whose test lives elsewhere are in ``ELSEWHERE``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memwarden import InvalidInput, Warden
from memwarden.api.blocking import BoundScope
from memwarden.api.imports import ImportSummary

ROOT = Path(__file__).parents[2]
ELSEWHERE = {
    "graph-add": "tests/integration/test_parallel_calls.py::test_graph_tools_at_once_lose_nothing",
    "graph-create": "tests/integration/test_parallel_calls.py::test_graph_tools_at_once_lose_nothing",
    "race-remember": "tests/integration/test_parallel_calls.py::test_one_text_remembered_at_once_is_one_memory",
    "race-update": "tests/integration/test_parallel_calls.py::test_updates_at_once_are_applied_one_after_another",
    "surrogate-proxy": "tests/integration/test_proxy.py::test_half_a_surrogate_pair_is_kept",
    "surrogate-hook": "tests/integration/test_hooks.py::test_half_a_surrogate_pair_in_a_prompt_is_kept",
    "hook-stdin": "tests/integration/test_hooks.py::test_an_open_stdin_is_answered",
    "hook-lock": "tests/integration/test_hooks.py::test_a_locked_store_is_an_error_in_time",
    "hook-worktree": "tests/integration/test_hooks.py::test_a_linked_worktree_is_the_same_project",
    "pgbouncer": "tests/integration/test_pgbouncer.py::test_a_pool_of_transactions_is_served",
}
REPORTS: dict[str, Callable[..., Any]] = {}


def report(*ids: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Name the reports whose right value a test checks."""

    def named(test: Callable[..., Any]) -> Callable[..., Any]:
        REPORTS.update(dict.fromkeys(ids, test))
        return test

    return named


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture
def ana(warden: Warden) -> BoundScope:
    return warden.scope(user="ana", thread="t1")


def test_every_report_has_a_test() -> None:
    for place in ELSEWHERE.values():
        file, _, name = place.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text("utf-8"), place
    data = os.environ.get("MEMWARDEN_DATA")
    if data and (Path(data) / "found/reports.jsonl").exists():
        lines = (Path(data) / "found/reports.jsonl").read_text("utf-8").splitlines()
        assert {json.loads(line)["id"] for line in lines} <= REPORTS.keys() | ELSEWHERE.keys()


# --- statements that end each other


SUPERSEDED = {
    "sup-ja-allergy": ("私は卵アレルギーです。", "私はエビアレルギーです。"),
    "sup-ja-illness": ("私は糖尿病です。", "私は高血圧です。"),
    "sup-en-second-car": ("I drive a Saab.", "I bought a second car, a Fiat."),
    "sup-fr-second-car": ("Je conduis une Saab.", "J'ai acheté une deuxième voiture, une Fiat."),
    "sup-fr-past": ("J'habite à Graz.", "J'ai habité à Linz quand j'étais petite."),
    "sup-fr-plan": ("J'habite à Graz.", "Je voudrais déménager à Linz un jour."),
    "sup-en-two-dates": ("I have a dentist appointment on Monday.", "I have a dentist appointment on Thursday."),
    "further-de-illness": ("Ich habe Diabetes.", "Ich habe Bluthochdruck."),
    "further-es-second-car": ("Conduzco un Saab.", "Compré un segundo coche, un Fiat."),
}


@report(*(name for name in SUPERSEDED if name.startswith("sup-")))
@pytest.mark.parametrize("pair", SUPERSEDED.values(), ids=SUPERSEDED)
def test_both_statements_stay_true(pair: tuple[str, str], ana: BoundScope) -> None:
    for text in pair:
        ana.remember(text)
    assert {item.text for item in ana.find() if item.valid_to is None} == set(pair)


# --- chats of WhatsApp


def chat(warden: Warden, folder: Path, text: str) -> tuple[ImportSummary, list[tuple[str, str, str]]]:
    """Import a chat; return the summary, and hour, speaker and text of each message, oldest first."""
    file = folder / "WhatsApp Chat.txt"
    file.write_text(text, encoding="utf-8")
    done = warden.import_files(file, user="ana")
    told = warden.scope(user="ana").find({"channel": "turn"}, limit=50)
    said = sorted(told, key=lambda item: (item.created_at, item.id))
    return done, [(item.created_at.strftime("%H:%M"), item.name or "", item.text) for item in said]


CLOCKS = {
    "wa-arabic": (
        "20/12/2023، 5:46 م - علي: الغلاية معطلة\n21/12/2023، 5:46 ص - ليلى: سأتصل",
        [("17:46", "علي", "الغلاية معطلة"), ("05:46", "ليلى", "سأتصل")],
    ),
    "wa-greek": (
        "20/12/23, 5:46 μ.μ. - Νίκος: ένα\n21/12/23, 5:46 π.μ. - Εύα: δύο",
        [("17:46", "Νίκος", "ένα"), ("05:46", "Εύα", "δύο")],
    ),
    "wa-vietnamese": (
        "20/12/2023, 5:46 CH - Lan: một\n21/12/2023, 5:46 SA - Huy: hai",
        [("17:46", "Lan", "một"), ("05:46", "Huy", "hai")],
    ),
    "wa-turkish": (
        "20.12.2023 ÖS 5:46 - Ayşe: bir\n21.12.2023 ÖÖ 5:46 - Can: iki",
        [("17:46", "Ayşe", "bir"), ("05:46", "Can", "iki")],
    ),
    "wa-bulgarian": (
        "20.12.2023 г., 17:46 ч. - Иван: едно\n21.12.2023 г., 5:46 ч. - Оля: две",
        [("17:46", "Иван", "едно"), ("05:46", "Оля", "две")],
    ),
    "wa-persian-ampm": (
        "20/12/2023, 5:46 ب.ظ. - A: one\n21/12/2023, 5:46 ق.ظ. - B: two",
        [("17:46", "A", "one"), ("05:46", "B", "two")],
    ),
    "wa-hungarian": (
        "2023. 12. 20. du. 5:46 - Béla: egy\n2023. 12. 21. de. 5:46 - Kati: kettő",
        [("17:46", "Béla", "egy"), ("05:46", "Kati", "kettő")],
    ),
    "wa-glued-zh": (
        "2023/12/20 下午5:46 - 小明: 鍋爐壞了\n2023/12/20 晚上9:46 - 小美: 我打電話\n2023/12/21 上午8:30 - 小明: 早",
        [("17:46", "小明", "鍋爐壞了"), ("21:46", "小美", "我打電話"), ("08:30", "小明", "早")],
    ),
    "further-ko": (
        "2023. 12. 20. 오후 5:46 - 민수: 하나\n2023. 12. 21. 오전 5:46 - 지은: 둘",
        [("17:46", "민수", "하나"), ("05:46", "지은", "둘")],
    ),
    "further-albanian": (
        "20.12.2023, 5:46 e pasdites - Ana: një\n21.12.2023, 5:46 e paradites - Beni: dy",
        [("17:46", "Ana", "një"), ("05:46", "Beni", "dy")],
    ),
    "further-hindi": (
        "20/12/2023, 5:46 pm - राम: एक\n21/12/2023, 5:46 am - सीता: दो",
        [("17:46", "राम", "एक"), ("05:46", "सीता", "दो")],
    ),
    "further-thai-year": (
        "20/12/2566 17:46 - สมชาย: หนึ่ง\n21/12/2566 5:46 - มาลี: สอง",
        [("17:46", "สมชาย", "หนึ่ง"), ("05:46", "มาลี", "สอง")],
    ),
}


@report(*(name for name in CLOCKS if name.startswith("wa-")))
@pytest.mark.parametrize("case", CLOCKS.values(), ids=CLOCKS)
def test_clocks_of_phones_are_read(case: tuple[str, Any], warden: Warden, tmp_path: Path) -> None:
    text, right = case
    done, said = chat(warden, tmp_path, text)
    assert said == right
    assert done.first_at is not None
    assert done.first_at[:10] == "2023-12-20"


def test_a_line_with_a_day_and_an_unknown_clock_is_counted_and_glued_to_nobody(warden: Warden, tmp_path: Path) -> None:
    text = "20/12/2023, 17:46 - Ann: tea?\n20/12/2023, 5:46 xx. - Bob: yes\n20/12/2023, 17:50 - Ann: good"
    done, said = chat(warden, tmp_path, text)
    assert [item[2] for item in said] == ["tea?", "good"]
    assert list(done.refused) == [name for name in done.refused if "line 2" in name]
    assert len(done.refused) == 1


NOTICES = {
    "wa-group-title": '20/12/2023, 17:46 - Ann created group "Flat: 3B"',
    "wa-title-de": '20/12/2023, 17:46 - Anna hat den Gruppennamen zu "WG: 3B" geändert',
    "wa-invite": "20/12/2023, 17:46 - Ben joined using this group's invite link: https://chat.whatsapp.com/x",
    "wa-attach-en": "20/12/2023, 17:46 - Ann: IMG-20231220-WA0001.jpg (file attached)",
    "wa-attach-es": "20/12/2023, 17:46 - Ann: IMG-20231220-WA0001.jpg (archivo adjunto)",
    "wa-attach-tr": "20/12/2023, 17:46 - Ann: IMG-20231220-WA0001.jpg (dosya ekli)",
    "wa-missed-call": "20/12/2023, 17:46 - Ann: Missed voice call",
    "further-attach-pl": "20/12/2023, 17:46 - Ann: PTT-20231220-WA0003.opus (plik dołączony)",
    "further-title-fr": '20/12/2023, 17:46 - Zoé a créé le groupe "Coloc : 3B"',
    "further-call-de": "20/12/2023, 17:46 - Ann: Verpasster Sprachanruf",
    "further-call-es": "20/12/2023, 17:46 - Ann: Videollamada perdida",
}


@report(*(name for name in NOTICES if name.startswith("wa-")))
@pytest.mark.parametrize("notice", NOTICES.values(), ids=NOTICES)
def test_notices_files_and_calls_are_no_memories(notice: str, warden: Warden, tmp_path: Path) -> None:
    done, said = chat(warden, tmp_path, f"{notice}\n20/12/2023, 17:47 - Bob: hi all, tea?")
    assert said == [("17:47", "Bob", "hi all, tea?")]
    assert sum(done.skipped.values()) == 1


@pytest.mark.parametrize("end", ["\r", "\r\r\n", "\r\n"])
def test_a_line_of_another_system_is_glued_to_nobody(end: str, warden: Warden, tmp_path: Path) -> None:
    text = end.join(["20/12/2023, 17:46 - Ann: Tee?", "20/12/2023, 17:47 - Bob: ja", ""])
    (tmp_path / "WhatsApp Chat.txt").write_bytes(text.encode())
    warden.import_files(tmp_path / "WhatsApp Chat.txt", user="ana")
    assert {item.text for item in warden.scope(user="ana").find()} == {"Tee?", "ja"}


def test_the_caption_of_a_picture_is_kept(warden: Warden, tmp_path: Path) -> None:
    text = "20/12/2023, 17:46 - Ann: IMG-20231220-WA0001.jpg (file attached)\nthe new boiler"
    assert chat(warden, tmp_path, text)[1] == [("17:46", "Ann", "the new boiler")]


# --- hidden reasoning, marks, broken characters


@report("think", "think-details", "chatgpt-cite")
@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("<think>The user is probably poor.</think>Take the Alpha pump.", "Take the Alpha pump."),
        (
            '<details type="reasoning" done="true"><summary>Thought for 3 seconds</summary>hidden</details>Pump three.',
            "Pump three.",
        ),
        ("The boiler is new.\ue200cite\ue202turn0search1\ue201", "The boiler is new."),
        ("The boiler is new 【10†source】.", "The boiler is new."),
    ],
)
def test_of_an_answer_only_its_words_are_recalled(answer: str, left: str, ana: BoundScope) -> None:
    ana.observe([{"role": "user", "content": "Which pump?"}, {"role": "assistant", "content": answer}])
    assert [item.text for item in ana.find({"role": "assistant"})] == [left]
    block = ana.context([{"role": "user", "content": "Which pump is new?"}], threshold=0.0).text
    assert answer not in block


@report("surrogate-api")
def test_half_a_surrogate_pair_becomes_the_replacement_character(ana: BoundScope) -> None:
    text, kept = "My kettle \ud83d is copper.", "My kettle \ufffd is copper."
    assert ana.remember(text).results[0].outcome == "created"
    ana.observe({"role": "user", "content": text.replace("kettle", "oven")})
    assert {item.text for item in ana.find()} == {kept, kept.replace("kettle", "oven")}
    assert ana.query("kettle \ud83d copper", threshold=0.0).items
    ana.observe({"role": "user", "content": "The lamp\0 is brass."})
    assert any(item.text == "The lamp\ufffd is brass." for item in ana.find())


def test_tags_sources_names_and_state_keep_the_replacement_character(ana: BoundScope) -> None:
    ana.remember("The kettle is copper.", tags=["kitchen \ud83d"], source="Küche\0")
    ana.observe({"role": "user", "content": "The oven is steel.", "name": "Zoé \ud83d", "id": "m\udc00"})
    ana.state.save("kettle", {"note \ud83d": ["copper \udc00"]})
    held = {item.text: item for item in ana.find() if item.channel != "state"}
    assert held["The kettle is copper."].tags == ("kitchen \ufffd",)
    assert held["The kettle is copper."].source == "Küche\ufffd"
    assert held["The oven is steel."].name == "Zoé \ufffd"
    assert ana.state.load("kettle") == {"note \ufffd": ["copper \ufffd"]}


def test_metadata_keeps_the_replacement_character(ana: BoundScope) -> None:
    ana.remember("The kettle is copper.", metadata={"shop \ud83d": ["a\0b", "\ud83d\ude00"]})
    assert dict(ana.find()[0].metadata) == {"shop \ufffd": ["a\ufffdb", "\U0001f600"]}


# --- turns


@pytest.mark.parametrize("again", ["Which pump fits?\nIt is wet.\n", "Which pump fits?\r\nIt is wet.", " {} "])
def test_a_first_message_is_the_same_with_other_line_ends_and_blanks(again: str, ana: BoundScope) -> None:
    asked = "Which pump fits?\nIt is wet."
    for number, text in enumerate((asked, again.format(asked))):
        with ana.turn({"messages": [{"role": "user", "content": text}]}) as turn:
            turn.record_response({"choices": [{"message": {"role": "assistant", "content": f"Pump {number}."}}]})
    assert len(ana.find({"channel": "turn", "role": "user"})) == 1


@report("retry-first")
def test_a_first_message_that_is_sent_again_is_stored_once(ana: BoundScope) -> None:
    request = {"messages": [{"role": "user", "content": "Which pump fits the cellar?"}]}
    for number in range(3):
        with ana.turn(request) as turn:
            turn.record_response({"choices": [{"message": {"role": "assistant", "content": f"Pump {number}."}}]})
    texts = [item.text for item in ana.find({"channel": "turn"}, limit=20)]
    assert sorted(texts) == ["Pump 0.", "Pump 1.", "Pump 2.", "Which pump fits the cellar?"]


# --- imports


def imported(warden: Warden, folder: Path, content: Any, name: str = "conversations.json") -> ImportSummary:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return warden.import_files(file, user="ana")


def node(identity: str, parent: str | None, text: str, **changed: Any) -> dict[str, Any]:
    message = {
        "id": identity, "author": {"role": "user"}, "create_time": 1700000000,
        "content": {"content_type": "text", "parts": [text]}, **changed,
    }  # fmt: skip
    return {"id": identity, "parent": parent, "message": message}


def chatgpt(*nodes: dict[str, Any], name: str = "c1") -> dict[str, Any]:
    mapping = {item["id"]: item for item in nodes}
    return {"conversation_id": name, "title": "Boiler", "mapping": mapping, "current_node": nodes[-1]["id"]}


GOOD = chatgpt(node("a", None, "The boiler is a Vaillant."))


@report("chatgpt-null-mapping", "chatgpt-single", "chatgpt-null-author")
@pytest.mark.parametrize(
    ("content", "stored", "refused"),
    [
        ([GOOD, {"conversation_id": "c2", "title": "x", "mapping": None}], 1, 1),
        (GOOD, 1, 0),
        ([chatgpt(node("a", None, "One."), node("b", "a", "Two.", author=None), node("c", "b", "Three."))], 2, 1),
        ([chatgpt(node("a", None, "One."), node("b", "a", "Two.", content=None), node("c", "b", "Three."))], 2, 1),
        ([GOOD, chatgpt(node("b", None, "Two.", create_time="soon"), name="c2")], 1, 1),
    ],
    ids=["null mapping", "single", "null author", "null content", "no time"],
)
def test_good_chats_come_in(content: Any, stored: int, refused: int, warden: Warden, tmp_path: Path) -> None:
    done = imported(warden, tmp_path, content)
    assert (done.stored, len(done.refused), done.formats) == (stored, refused, ("chatgpt",))


def test_a_single_chat_of_claude_is_read(warden: Warden, tmp_path: Path) -> None:
    message = {"uuid": "m1", "sender": "human", "text": "The boiler is new.", "created_at": "2024-05-01T10:00:00Z"}
    done = imported(warden, tmp_path, {"uuid": "c1", "name": "Boiler", "chat_messages": [message]})
    assert (done.stored, done.formats) == (1, ("claude",))


@report("claude-attachment")
def test_a_pasted_text_of_claude_is_kept(warden: Warden, tmp_path: Path) -> None:
    attached = {"file_name": "paste.txt", "extracted_content": "The boiler is a Vaillant ecoTEC."}
    message = {"uuid": "m1", "sender": "human", "text": "", "attachments": [attached]}
    imported(warden, tmp_path, [{"uuid": "c1", "name": "Boiler", "chat_messages": [message]}])
    assert any("Vaillant ecoTEC" in item.text for item in warden.scope(user="ana").find())


def test_titles_notes_and_custom_instructions_of_chatgpt_are_kept(warden: Warden, tmp_path: Path) -> None:
    noted = node("b", "a", "Keeps bees.", author={"role": "assistant"}, recipient="bio")
    asked = node("c", "b", "", content={"content_type": "user_editable_context", "user_profile": "I live in Graz."})
    imported(warden, tmp_path, [chatgpt(node("a", None, "The boiler is new."), noted, asked)])
    held = warden.scope(user="ana").find()
    assert {item.text for item in held} == {"The boiler is new.", "Keeps bees.", "I live in Graz."}
    assert [item.metadata["title"] for item in held if item.text == "The boiler is new."] == ["Boiler"]
    assert {item.trust for item in held if item.channel != "turn"} == {"external"}


@report("vault-yaml", "vault-latin1")
@pytest.mark.parametrize("bad", [b"---\ntitle: Foo: bar\n---\nx", "Die Müllers wohnen in Köln.".encode("latin-1")])
def test_the_other_notes_of_a_folder_come_in(bad: bytes, warden: Warden, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    for number in range(5):
        (vault / f"{number}.md").write_text(f"Ana walked {number} miles.")
    (vault / "1 bad.md").write_bytes(bad)  # among the others
    done = warden.import_files(vault, user="ana")
    assert done.stored + len(done.refused) == 6
    assert done.stored >= 5


# --- arguments


@report("ts-digits")
@pytest.mark.parametrize(
    "stamp",
    [
        "1714557600", "1714557600.000200", "1714557600000", "1714557600000000", 1714557600000000000,
        "Wed, 01 May 2024 12:00:00 +0200", "١٧١٤٥٥٧٦٠٠",
    ],
)  # fmt: skip
def test_digits_in_a_text_are_a_time(stamp: str, ana: BoundScope) -> None:
    ana.observe({"role": "user", "content": "I love hiking.", "timestamp": stamp})
    (item,) = ana.find()
    assert item.created_at.replace(microsecond=0) == datetime(2024, 5, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize("stamp", ["1714557600", "1714557600000"])
def test_digits_in_a_text_are_a_time_in_our_own_field_too(stamp: str, ana: BoundScope) -> None:
    ana.observe({"role": "user", "content": "I love hiking.", "created_at": stamp})
    (item,) = ana.find()
    assert item.created_at.replace(microsecond=0) == datetime(2024, 5, 1, 10, tzinfo=UTC)


@report("content-dict")
def test_one_part_without_a_list_is_a_part(ana: BoundScope) -> None:
    ana.observe({"role": "user", "content": {"type": "text", "text": "I love hiking."}})
    ana.observe({"role": "user", "content": {"type": "input_text", "text": "I love rowing."}})
    ana.observe({"role": "user", "content": {"text": "Ich segle gern."}})
    ana.observe({"role": "user", "content": {"content_type": "text", "parts": ["J'aime nager."]}})
    texts = {"I love hiking.", "I love rowing.", "Ich segle gern.", "J'aime nager."}
    assert {item.text for item in ana.find()} == texts


@pytest.mark.parametrize(
    ("message", "role"),
    [
        ({"role": "model", "parts": [{"text": "我喜欢徒步。"}, {"inline_data": {"data": "x"}}]}, "assistant"),
        ({"type": "human", "data": {"content": "我喜欢徒步。", "additional_kwargs": {}, "name": None}}, "user"),
        ({"type": "ai", "content": [{"type": "text", "text": "我喜欢徒步。"}], "id": "run-1"}, "assistant"),
        (
            {
                "lc": 1,
                "type": "constructor",
                "id": ["langchain", "HumanMessage"],
                "kwargs": {"content": "我喜欢徒步。"},
            },
            "user",
        ),
    ],
    ids=["google", "langchain", "langchain, flat", "langchain, dumped"],
)
def test_messages_that_other_libraries_write_are_read(message: Any, role: str, ana: BoundScope) -> None:
    ana.observe(message)
    assert [(item.role, item.text) for item in ana.find()] == [(role, "我喜欢徒步。")]


@report("roles-langchain")
@pytest.mark.parametrize(
    ("role", "kept"),
    [("human", "user"), ("ai", "assistant"), ("User", "user"), ("Assistant", "assistant"), ("bot", "assistant")],
)
def test_roles_of_other_libraries_are_read(role: str, kept: str, ana: BoundScope) -> None:
    ana.observe({"role": role, "content": "I love hiking."})
    assert [item.role for item in ana.find()] == [kept]


@report("outcome-type")
def test_outcomes_have_one_type(ana: BoundScope) -> None:
    observed = ana.observe({"role": "user", "content": "I love hiking."}).results[0].outcome
    remembered = ana.remember("Ana loves rowing.").results[0].outcome
    assert type(observed) is type(remembered)
    assert observed.value == remembered.value == "created"


@report("url-query", "url-home")
def test_a_url_that_means_something_else_is_no_file_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for url in (
        f"sqlite:///{tmp_path}/x.db?mode=ro", "json:///folder?mode=ro", "sqlite:///x.db?pgbouncer=true",
        "sqlite:///$HOME/x.db", "json:///${HOME}/x", "sqlite:///a%20b.db", "sqlite:///a\0b.db", "sqlite:///\ud83d.db",
        "sqlite:///~nobody-of-this-name/x.db",
    ):  # fmt: skip
        with pytest.raises(InvalidInput):
            Warden.open(url).close()
    with Warden.open("sqlite:///~/x.db") as warden:
        warden.scope(user="ana").remember("The kettle is copper.")
    assert (tmp_path / "home/x.db").exists()
    assert list((tmp_path / "work").iterdir()) == []
    assert not [name for name in tmp_path.iterdir() if "?" in name.name]


@report("time-say")
@pytest.mark.parametrize(
    "question",
    [
        "What did I say in March 2026?",
        "What did I do in March 2026?",
        "Was habe ich im März 2026 gesagt?",
    ],
)
def test_a_question_for_the_words_of_a_month_finds_them(question: str, ana: BoundScope) -> None:
    ana.observe({"role": "user", "content": "The roof was repaired.", "created_at": "2026-03-14T10:00:00Z"})
    ana.observe({"role": "user", "content": "The garden is dry.", "created_at": "2026-06-14T10:00:00Z"})
    assert [item.memory.text for item in ana.query(question).items] == ["The roof was repaired."]
