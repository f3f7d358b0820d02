"""Codes of a home: kept and marked private by default, and gone from all that is written where secrets are strict."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from memwarden import AsyncWarden, redact
from memwarden.surfaces.integrations.langgraph import MemwardenSaver, MemwardenStore
from memwarden.tiers.backend import ContextItem

CODE = "40718"
TOLD = f"The door code of our flat is {CODE}."

CODES = [
    ("My locker combination is 24-8-31.", "24-8-31"),
    ("Locker 17 at the gym opens with 9042.", "9042"),
    ("The alarm panel takes 2580 and then the green button.", "2580"),
    ("5823 opens the garage.", "5823"),
    ("Buzz in with code 0417 at the front gate.", "0417"),
    ("The key safe by the back door is set to 5566.", "5566"),
    ("Enter *4411# at the intercom.", "*4411#"),
    ("The wifi password is moorhen2020.", "moorhen2020"),
    ("The password for our wifi is 'three blind mice'.", "three blind mice"),
    ("Our wifi at home is called Oak and the password for it is owl-in-the-barn.", "owl-in-the-barn"),
    ("WIFI:T:WPA;S:Home;P:plumJam88;;", "plumJam88"),
    ("Der Türcode ist 90210.", "90210"),
    ("Mein Spind hat die Kombination 17-04-33.", "17-04-33"),
    ("Das WLAN-Passwort lautet Fuchsbau-22.", "Fuchsbau-22"),
    ("Le code du portail est 4590.", "4590"),
    ("La clave de la caja fuerte es 1965.", "1965"),
    ("Il codice del cancello è 3310.", "3310"),
    ("A senha do wifi é caju2024.", "caju2024"),
    ("De code van de voordeur is 6612.", "6612"),
    ("Kod do drzwi to 4455.", "4455"),
    ("Код от двери 4512.", "4512"),
    ("门的密码是 5678。", "5678"),
    ("玄関の暗証番号は4019です", "4019"),
]
NO_CODES = [
    "The door costs 450 euros, and the garage door is 2400 mm wide.",
    "We met at the gate at 1030. The building was opened in 1904.",
    "Set the alarm to 6:45. Gate 23 closes at 1540 hours.",
    "The WiFi password is printed on the back of the router.",
    "The wifi password is wrong again.",
    "Error code 404 in the portal. The source code of the panel has 3000 lines.",
    "Le code postal est 75011, el código postal es 28013.",
    "The lift takes 1200 people a day. The hotel safe takes two keys.",
    "Das WLAN-Passwort steht auf dem Router. La clave es la constancia.",
]


@pytest.mark.parametrize(("text", "code"), CODES)
def test_strict_takes_a_code_out_and_the_default_keeps_it_where_a_person_asks_for_it(text: str, code: str) -> None:
    cleaned = redact(text, strict=True)
    assert code not in cleaned.text
    assert cleaned.found
    assert redact(cleaned.text, strict=True).text == cleaned.text


@pytest.mark.parametrize("text", NO_CODES)
def test_numbers_beside_doors_are_no_codes(text: str) -> None:
    assert redact(text, strict=True).text == text


async def test_by_default_a_code_is_kept_answered_and_marked_private(embedded_url: str) -> None:
    async with AsyncWarden.open(embedded_url, config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana")
        await me.observe([{"role": "user", "content": TOLD}, {"role": "user", "content": "The dog is called Rex."}])
        await me.remember("The wifi at home is called Oak and its password is owl-in-the-barn.", tags=["home"])
        marked = await me.find({"tags": "private"})
        assert {CODE in item.text or "owl-in-the-barn" in item.text for item in marked} == {True}
        assert len(marked) == 2
        assert ("home", "private") in [item.tags for item in marked]
        assert CODE in (await me.query("What is the door code?")).text


async def test_strict_leaves_no_code_by_any_way_in(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    config = {"embedder": "none", "secrets": "strict"}
    async with AsyncWarden.open(f"sqlite:///{tmp_path / 'm.db'}", config=config) as warden:
        me = warden.scope(user="ana", thread="t1")
        (said,) = (await me.observe([{"role": "user", "content": TOLD, "metadata": {"door code": CODE}}])).results
        assert "secrets taken out: home-code" in said.reason
        stated = await me.remember(TOLD, summary=TOLD, context=TOLD, tags=[TOLD], metadata={"note": TOLD})
        fact = stated.results[0].id
        assert fact is not None
        await me.update(fact, text=f"The door code is {CODE} again.", metadata={"door code": CODE})
        await me.extract(f'[{{"content": "The door code of the flat is {CODE}."}}]')
        await me.state.save("flat", {"door code": CODE, "notes": [TOLD]}, description=TOLD)
        await me.sessions.finalize_current_cycle("s1", TOLD, f"Noted: the door code is {CODE}.")
        await me.sessions.prepare_messages_for_agent("s1", TOLD)
        await me.tool_cache.store("s1", "lookup", {"door code": CODE}, TOLD, 5)
        item = ContextItem("i1", "note", payload={"door code": CODE, "a": [{"b": TOLD}]})
        await warden.backend("task/k1").add(item)
        await warden.tiers.project("p1").add_decision(TOLD, [TOLD])
        await _use_langgraph(warden)
        found = await me.find({"channel": ["turn", "semantic"]})
    assert len(found) >= 2
    assert all("[redacted:home-code]" in memory.text for memory in found)
    on_disk = _read_files(tmp_path)
    assert on_disk.count(b"[redacted:home-code]") >= 12
    assert CODE.encode() not in on_disk
    assert CODE not in caplog.text


def _read_files(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())


class _Talk(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    notes: dict[str, Any]


async def _use_langgraph(warden: AsyncWarden) -> None:
    store = MemwardenStore(warden)
    await store.aput(("home",), "flat", {"door code": CODE, "notes": [TOLD]})
    kept = await store.aget(("home",), "flat")
    assert kept is not None
    assert kept.value == {
        "door code": "[redacted:home-code]",
        "notes": ["The door code of our flat is [redacted:home-code]."],
    }

    def answer(state: _Talk) -> dict[str, Any]:
        return {"messages": [AIMessage(f"The door code is {CODE}.")], "notes": {"deep": [{"door code": CODE}]}}

    builder = StateGraph(_Talk)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    saver = MemwardenSaver(warden)
    graph = builder.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t1"}, "metadata": {"note": TOLD}}
    await graph.ainvoke({"messages": [HumanMessage(TOLD)], "notes": {}}, config)
    state = (await graph.aget_state(config)).values
    assert [type(message) for message in state["messages"]] == [HumanMessage, AIMessage]
    assert state["messages"][1].content == "The door code is [redacted:home-code]."
    assert state["notes"] == {"deep": [{"door code": "[redacted:home-code]"}]}
