"""The exact messages of every form and mode (C2), and what each form reads from requests, responses and streams."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, convert_to_openai_messages

from memwarden.conversation.formats import FORMATS, detect_format
from memwarden.errors import InvalidInput

MODES = (
    "system_append",
    "context_message",
    "user_prefix",
)

BLOCK = "<memories>\n1. Ana lives in Porto.\n</memories>"
CACHED = {"cache_control": {"type": "ephemeral"}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def system(words: Any) -> dict[str, Any]:
    return {"role": "system", "content": words}


def developer(words: Any) -> dict[str, Any]:
    return {"role": "developer", "content": words}


def user(words: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": words, **more}


def assistant(words: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": words, **more}


CALL = assistant(None, tool_calls=[{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}])
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "42"}
USE = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
DONE = {"type": "tool_result", "tool_use_id": "c1", "content": "42"}
THINKS = {"type": "thinking", "thinking": "hm", "signature": "s"}
FUNCTION_CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
FUNCTION_RESULT = {"type": "function_call_output", "call_id": "c1", "output": "42"}


def spoken(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "input_text", "text": words, **more}


# Each: the form, the request, and what becomes of it in system_append, context_message, user_prefix.
CASES: dict[str, tuple[str, Any, Any, Any, Any]] = {
    "chat, nobody spoke before": (
        "openai_chat",
        [user("Hi.")],
        [system(BLOCK), user("Hi.")],
        [system(BLOCK), user("Hi.")],
        [user(f"{BLOCK}\n\nHi.")],
    ),
    "chat, with a system prompt": (
        "openai_chat",
        [system("Be kind."), user("Hi."), assistant("Hello."), user("Where do I live?")],
        [system(f"Be kind.\n\n{BLOCK}"), user("Hi."), assistant("Hello."), user("Where do I live?")],
        [system("Be kind."), user("Hi."), assistant("Hello."), system(BLOCK), user("Where do I live?")],
        [system("Be kind."), user("Hi."), assistant("Hello."), user(f"{BLOCK}\n\nWhere do I live?")],
    ),
    "chat, a developer prompt of parts, an image": (
        "openai_chat",
        [developer([text("Be kind.", **CACHED)]), user([IMAGE, text("What is this?")])],
        [developer([text("Be kind.", **CACHED), text(BLOCK)]), user([IMAGE, text("What is this?")])],
        [developer([text("Be kind.", **CACHED)]), developer(BLOCK), user([IMAGE, text("What is this?")])],
        [developer([text("Be kind.", **CACHED)]), user([IMAGE, text(BLOCK), text("What is this?")])],
    ),
    "chat, two system prompts, one later, tools under way": (
        "openai_chat",
        [system("One."), system("Two."), user("Count.", name="ana"), CALL, RESULT, system("Hurry.")],
        [system("One."), system(f"Two.\n\n{BLOCK}"), user("Count.", name="ana"), CALL, RESULT, system("Hurry.")],
        [system("One."), system("Two."), system(BLOCK), user("Count.", name="ana"), CALL, RESULT, system("Hurry.")],
        [system("One."), system("Two."), user(f"{BLOCK}\n\nCount.", name="ana"), CALL, RESULT, system("Hurry.")],
    ),
    "chat, an empty system prompt, an image alone": (
        "openai_chat",
        [system(""), user([IMAGE])],
        [system(BLOCK), user([IMAGE])],
        [system(""), system(BLOCK), user([IMAGE])],
        [system(""), user([text(BLOCK), IMAGE])],
    ),
    "chat, no user": (
        "openai_chat",
        [system("Begin.")],
        [system(f"Begin.\n\n{BLOCK}")],
        [system("Begin."), system(BLOCK)],
        [system("Begin."), user(BLOCK)],
    ),
    "chat, the arguments of the call": (
        "openai_chat",
        {"model": "m", "messages": [user("Hi.")], "stream": True},
        {"model": "m", "messages": [system(BLOCK), user("Hi.")], "stream": True},
        {"model": "m", "messages": [system(BLOCK), user("Hi.")], "stream": True},
        {"model": "m", "messages": [user(f"{BLOCK}\n\nHi.")], "stream": True},
    ),
    "plain": (
        "plain",
        [system("Be kind."), user("Hi."), assistant("Hello."), user("Where do I live?")],
        [system(f"Be kind.\n\n{BLOCK}"), user("Hi."), assistant("Hello."), user("Where do I live?")],
        [
            system("Be kind."),
            user("Hi."),
            assistant("Hello."),
            {"role": "context", "content": BLOCK},
            user("Where do I live?"),
        ],
        [system("Be kind."), user("Hi."), assistant("Hello."), user(f"{BLOCK}\n\nWhere do I live?")],
    ),
    "responses, a text": (
        "openai_responses",
        {"model": "m", "input": "Hi."},
        {"model": "m", "input": "Hi.", "instructions": BLOCK},
        {"model": "m", "input": [developer(BLOCK), user("Hi.")]},
        {"model": "m", "input": f"{BLOCK}\n\nHi."},
    ),
    "responses, instructions and items": (
        "openai_responses",
        {"instructions": "Be kind.", "input": [user([spoken("Count.")]), FUNCTION_CALL, FUNCTION_RESULT]},
        {"instructions": f"Be kind.\n\n{BLOCK}", "input": [user([spoken("Count.")]), FUNCTION_CALL, FUNCTION_RESULT]},
        {
            "instructions": "Be kind.",
            "input": [developer(BLOCK), user([spoken("Count.")]), FUNCTION_CALL, FUNCTION_RESULT],
        },
        {
            "instructions": "Be kind.",
            "input": [user([spoken(BLOCK), spoken("Count.")]), FUNCTION_CALL, FUNCTION_RESULT],
        },
    ),
    "responses, a system prompt among the items": (
        "openai_responses",
        {"instructions": None, "input": [system([spoken("Be kind.")]), user("Hi.", type="message")]},
        {"instructions": None, "input": [system([spoken("Be kind."), spoken(BLOCK)]), user("Hi.", type="message")]},
        {"instructions": None, "input": [system([spoken("Be kind.")]), system(BLOCK), user("Hi.", type="message")]},
        {"instructions": None, "input": [system([spoken("Be kind.")]), user(f"{BLOCK}\n\nHi.", type="message")]},
    ),
    "anthropic, no system prompt": (
        "anthropic",
        {"max_tokens": 9, "messages": [user("Hi.")]},
        {"max_tokens": 9, "messages": [user("Hi.")], "system": BLOCK},
        {"max_tokens": 9, "messages": [user([text(BLOCK), text("Hi.")])]},
        {"max_tokens": 9, "messages": [user(f"{BLOCK}\n\nHi.")]},
    ),
    "anthropic, a system prompt": (
        "anthropic",
        {"system": "Be kind.", "messages": [user("Hi."), assistant([text("Hello.")]), user("Where?")]},
        {"system": f"Be kind.\n\n{BLOCK}", "messages": [user("Hi."), assistant([text("Hello.")]), user("Where?")]},
        {
            "system": "Be kind.",
            "messages": [user("Hi."), assistant([text("Hello.")]), user([text(BLOCK), text("Where?")])],
        },
        {"system": "Be kind.", "messages": [user("Hi."), assistant([text("Hello.")]), user(f"{BLOCK}\n\nWhere?")]},
    ),
    "anthropic, cached blocks, words beside a result": (
        "anthropic",
        {
            "system": [text("Be kind.", **CACHED)],
            "messages": [user("Hi."), assistant([USE]), user([DONE, text("So?")])],
        },
        {
            "system": [text("Be kind.", **CACHED), text(BLOCK)],
            "messages": [user("Hi."), assistant([USE]), user([DONE, text("So?")])],
        },
        {
            "system": [text("Be kind.", **CACHED)],
            "messages": [user("Hi."), assistant([USE]), user([DONE, text(BLOCK), text("So?")])],
        },
        {
            "system": [text("Be kind.", **CACHED)],
            "messages": [user("Hi."), assistant([USE]), user([DONE, text(BLOCK), text("So?")])],
        },
    ),
    "anthropic, a result alone": (
        "anthropic",
        {"system": "", "messages": [user([text("Count.", **CACHED)]), assistant([THINKS, USE]), user([DONE])]},
        {"system": BLOCK, "messages": [user([text("Count.", **CACHED)]), assistant([THINKS, USE]), user([DONE])]},
        {
            "system": "",
            "messages": [user([text(BLOCK), text("Count.", **CACHED)]), assistant([THINKS, USE]), user([DONE])],
        },
        {
            "system": "",
            "messages": [user([text(BLOCK), text("Count.", **CACHED)]), assistant([THINKS, USE]), user([DONE])],
        },
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("mode", MODES)
def test_the_exact_messages(case: tuple[str, Any, Any, Any, Any], mode: str) -> None:
    name, request, *wanted = case
    before = copy.deepcopy(request)
    made = FORMATS[name].with_block(request, BLOCK, mode)
    assert json.dumps(made, sort_keys=True) == json.dumps(wanted[MODES.index(mode)], sort_keys=True)
    assert made == wanted[MODES.index(mode)]
    assert request == before
    assert FORMATS[name].with_block(request, "", mode) == before


SAID: dict[str, tuple[str, Any, list[dict[str, Any]]]] = {
    "chat": (
        "openai_chat",
        [
            system("Be kind."),
            user([text("What is"), IMAGE, text("this?")], name="ana", id="m1", created_at="2026-05-01"),
            assistant("A cat.", id="a1"),
            user([IMAGE]),
            CALL,
            RESULT,
            assistant(None, refusal="I cannot say."),
            assistant([text("Well: "), {"type": "refusal", "refusal": "no."}]),
            user("  "),
        ],
        [
            user("What is\nthis?", name="ana", id="m1", created_at="2026-05-01"),
            assistant("A cat.", id="a1"),
            assistant("I cannot say."),
            assistant("Well: \nno."),
        ],
    ),
    "plain": (
        "plain",
        [{"role": "context", "content": BLOCK}, user("Hi."), assistant("Hello.")],
        [user("Hi."), assistant("Hello.")],
    ),
    "responses": (
        "openai_responses",
        {
            "instructions": "Be kind.",
            "input": [
                developer("Hurry."),
                user([spoken("Count."), {"type": "input_image", "image_url": "x"}], id="mine"),
                {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]},
                FUNCTION_CALL,
                FUNCTION_RESULT,
                assistant([{"type": "output_text", "text": "42."}], id="msg_1", type="message", status="completed"),
            ],
        },
        [user("Count.", id="mine"), assistant("42.")],
    ),
    "responses, a text": ("openai_responses", {"input": "Hi."}, [user("Hi.")]),
    "anthropic": (
        "anthropic",
        {
            "system": "Be kind.",
            "messages": [
                user([text("Count."), {"type": "document", "source": {"type": "text", "data": "no words of mine"}}]),
                assistant([THINKS, text("I look."), USE]),
                user([DONE]),
                system("Hurry."),
                assistant("42."),
                user([DONE, text("Sure?")]),
            ],
        },
        [user("Count."), assistant("I look."), assistant("42."), user("Sure?")],
    ),
}


@pytest.mark.parametrize(("name", "request_", "wanted"), SAID.values(), ids=SAID)
def test_what_was_said(name: str, request_: Any, wanted: list[dict[str, Any]]) -> None:
    before = copy.deepcopy(request_)
    assert FORMATS[name].read_turns(request_) == wanted
    assert request_ == before


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        ([user("Hi.")], "openai_chat"),
        ((user("Hi."),), "openai_chat"),
        ({"messages": [user("Hi.")]}, "openai_chat"),
        ({"messages": [user("Hi.")], "system": "Be kind."}, "anthropic"),
        ({"messages": [user([DONE])]}, "anthropic"),
        ({"messages": [assistant([USE])]}, "anthropic"),
        ({"messages": [user([text("Hi.")])]}, "openai_chat"),
        ({"model": "claude-opus-5", "max_tokens": 64, "messages": [user("Hi.")]}, "anthropic"),
        ({"model": "claude-opus-5", "messages": [user("Hi.")]}, "openai_chat"),
        ({"model": "gpt-5", "max_tokens": 64, "messages": [user("Hi.")]}, "openai_chat"),
        ({"model": "claude-opus-5", "max_tokens": 64, "messages": [system("Be kind."), user("Hi.")]}, "openai_chat"),
        ({"model": "claude-opus-5", "max_tokens": 64, "stop": ["."], "messages": [user("Hi.")]}, "openai_chat"),
        ({"model": "some/claude-opus-5", "max_tokens": 64, "top_k": 3, "messages": [user("Hi.")]}, "openai_chat"),
        ({"messages": [user("Hi.")], "stop_sequences": ["."]}, "anthropic"),
        ({"messages": [user("Hi.")], "tools": [{"name": "f", "input_schema": {"type": "object"}}]}, "anthropic"),
        ({"input": "Hi."}, "openai_responses"),
        ({"input": [user("Hi.")], "instructions": "Be kind."}, "openai_responses"),
    ],
)
def test_the_form_shows(request_: Any, name: str) -> None:
    assert detect_format(request_).name == name
    assert detect_format(request_, "plain").name == "plain"


@pytest.mark.parametrize("wrong", ["Hi.", b"Hi.", [], {}, {"prompt": "Hi."}, None, 7])
def test_what_is_no_request_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="a request is"):
        detect_format(wrong)


def test_an_unknown_form_or_mode_is_refused() -> None:
    with pytest.raises(InvalidInput, match="openai_chat, openai_responses, anthropic, plain"):
        detect_format([user("Hi.")], "gemini")
    for form in FORMATS.values():
        request = {"messages": [user("Hi.")], "input": "Hi."} if form.name != "plain" else [user("Hi.")]
        with pytest.raises(InvalidInput, match="a mode is one of system_append, context_message, user_prefix"):
            form.with_block(request, BLOCK, "everywhere")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("openai_chat", "Hi."),
        ("openai_chat", {"messages": "Hi."}),
        ("openai_chat", ["Hi."]),
        ("openai_chat", {"input": "Hi."}),
        ("plain", {"role": "user", "content": "Hi."}),
        ("openai_responses", [user("Hi.")]),
        ("openai_responses", {"input": None}),
        ("anthropic", [user("Hi.")]),
        ("anthropic", {"system": "Be kind."}),
        ("anthropic", {"messages": [user(iter([text("Hi.")]))]}),
    ],
)
def test_what_is_not_of_the_form_is_refused(name: str, wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        FORMATS[name].with_block(wrong, BLOCK, "user_prefix")


@pytest.mark.parametrize("name", ["openai_chat", "anthropic", "plain"])
def test_messages_of_langchain_are_refused_and_the_way_is_named(name: str) -> None:
    messages = [HumanMessage("Hi.")]
    request: Any = {"messages": messages} if name == "anthropic" else messages
    with pytest.raises(InvalidInput, match=r"HumanMessage; .* by langchain_core\.messages\.convert_to_openai_messages"):
        FORMATS[name].read_turns(request)
    assert FORMATS["openai_chat"].read_turns(convert_to_openai_messages(messages)) == [user("Hi.")]


EARLY, LATER, LAST = BLOCK, "<memories>\nlater\n</memories>", "<memories>\nlast\n</memories>"
# Each: the form, the request, the places of the texts that go before messages, and what becomes of it.
PLACED: dict[str, tuple[str, Any, dict[int, str], Any]] = {
    "chat": (
        "openai_chat",
        [system("Be kind."), user("Hi."), CALL, RESULT, assistant("42."), user([IMAGE]), user([IMAGE, text("So?")])],
        {0: LATER, 2: LAST},
        [
            system(f"Be kind.\n\n{EARLY}"),
            user(f"{LATER}\n\nHi."),
            CALL,
            RESULT,
            assistant("42."),
            user([IMAGE]),
            user([IMAGE, text(LAST), text("So?")]),
        ],
    ),
    "chat, no system prompt, the arguments of the call": (
        "openai_chat",
        {"model": "m", "messages": [user("Hi."), assistant("Hello."), user("So?")]},
        {2: LATER},
        {"model": "m", "messages": [system(EARLY), user("Hi."), assistant("Hello."), user(f"{LATER}\n\nSo?")]},
    ),
    "chat, a summary behind the system prompt": (
        "openai_chat",
        [system("Be kind."), system("So far: nothing."), user("Hi.")],
        {},
        [system(f"Be kind.\n\n{EARLY}"), system("So far: nothing."), user("Hi.")],
    ),
    "responses, a summary behind the system prompt": (
        "openai_responses",
        {"input": [developer("Be kind."), developer("So far: nothing."), user("Hi.")]},
        {},
        {"input": [developer(f"Be kind.\n\n{EARLY}"), developer("So far: nothing."), user("Hi.")]},
    ),
    "plain": ("plain", [user("Hi.")], {0: LATER}, [system(EARLY), user(f"{LATER}\n\nHi.")]),
    "responses": (
        "openai_responses",
        {"input": [user("Hi."), FUNCTION_CALL, FUNCTION_RESULT, assistant("42."), user([spoken("So?")])]},
        {0: LATER, 2: LAST},
        {
            "input": [
                user(f"{LATER}\n\nHi."),
                FUNCTION_CALL,
                FUNCTION_RESULT,
                assistant("42."),
                user([spoken(LAST), spoken("So?")]),
            ],
            "instructions": EARLY,
        },
    ),
    "responses, a text": (
        "openai_responses",
        {"instructions": "Be kind.", "input": "Hi."},
        {0: LATER},
        {"instructions": f"Be kind.\n\n{EARLY}", "input": f"{LATER}\n\nHi."},
    ),
    "anthropic": (
        "anthropic",
        {
            "system": [text("Be kind.", **CACHED)],
            "messages": [user("Hi."), assistant([USE]), user([DONE]), assistant("42."), user([DONE, text("So?")])],
        },
        {0: LATER, 2: LAST},
        {
            "system": [text("Be kind.", **CACHED), text(EARLY)],
            "messages": [
                user(f"{LATER}\n\nHi."),
                assistant([USE]),
                user([DONE]),
                assistant("42."),
                user([DONE, text(LAST), text("So?")]),
            ],
        },
    ),
}


def without_ours(words: str) -> str:
    """What was put in is taken out, and the space around it."""
    for block in (EARLY, LATER, LAST):
        words = words.replace(block, "")
    return words.strip() if words.strip() != words else words


@pytest.mark.parametrize(("name", "request_", "later", "wanted"), PLACED.values(), ids=PLACED)
def test_the_exact_messages_of_what_stays_in_its_place(
    name: str, request_: Any, later: dict[int, str], wanted: Any
) -> None:
    before, form = copy.deepcopy(request_), FORMATS[name]
    made = form.with_placed(request_, EARLY, later)
    assert json.dumps(made, sort_keys=True) == json.dumps(wanted, sort_keys=True)
    assert request_ == before
    assert form.with_placed(request_, "", {}) == before
    assert form.clean_texts(made, without_ours) == before
    assert form.clean_texts(before, without_ours) == before == request_


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("mode", MODES)
def test_what_was_put_in_can_be_taken_out(case: tuple[str, Any, Any, Any, Any], mode: str) -> None:
    name, request, *_ = case
    form = FORMATS[name]
    made = form.with_block(request, BLOCK, mode)
    cleaned = form.clean_texts(made, without_ours)
    assert BLOCK not in json.dumps(cleaned)
    assert form.read_turns(cleaned) == form.read_turns(request)
    assert form.clean_texts(cleaned, without_ours) == cleaned


def test_what_the_assistant_and_tools_said_is_not_cleaned() -> None:
    theirs = [assistant(f"You said {EARLY}"), {**RESULT, "content": EARLY}, user("So?")]
    assert FORMATS["openai_chat"].clean_texts(theirs, without_ours) == theirs


STORED_PROMPT = {"prompt": {"id": "pmpt_1", "variables": {"city": "Oslo"}}}


def test_a_stored_prompt_of_responses_needs_no_input() -> None:
    form = detect_format(STORED_PROMPT)
    assert form.name == "openai_responses"
    assert form.read_turns(STORED_PROMPT) == []
    assert form.clean_texts(STORED_PROMPT, without_ours) == STORED_PROMPT
    assert form.with_placed(STORED_PROMPT, "", {}) == STORED_PROMPT
    assert form.with_block(STORED_PROMPT, BLOCK, "system_append") == {**STORED_PROMPT, "instructions": BLOCK}
    asked = {**STORED_PROMPT, "input": "Hi."}
    assert form.with_block(asked, BLOCK, "user_prefix") == {**STORED_PROMPT, "input": f"{BLOCK}\n\nHi."}
