"""The words of whole responses and of streams, from the objects of an SDK and from their JSON alike."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.lib.streaming import MessageStreamEvent
from anthropic.types import Message, TextBlock
from langchain_core.messages import AIMessage, AIMessageChunk
from openai.lib.streaming.chat import ChunkEvent, ContentDeltaEvent
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionMessage
from openai.types.responses import Response, ResponseOutputMessage
from pydantic import TypeAdapter

from memwarden.conversation.formats import FORMATS, ToolCall
from memwarden.errors import InvalidInput


def completion(message: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}, "logprobs": None}
    other = {**choice, "index": 1, "message": {"role": "assistant", "content": "Another one."}}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice, other]}


def chunk(delta: dict[str, Any], index: int = 0) -> dict[str, Any]:
    choices = [{"index": index, "delta": delta, "finish_reason": None}]
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}


def response(*output: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def output(*content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": list(content)}


def part(words: str) -> dict[str, Any]:
    return {"type": "output_text", "text": words, "annotations": []}


def message_of(content: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content, "usage": usage}


TOOL_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
FUNCTION_CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"content": "In Porto."}, "In Porto."),
        ({"content": None, "tool_calls": [TOOL_CALL]}, ""),
        ({"content": None, "refusal": "I cannot say."}, "I cannot say."),
    ],
)
def test_a_chat_completion(message: dict[str, Any], words: str) -> None:
    form, plain = FORMATS["openai_chat"], completion(message)
    assert form.answer(plain) == form.answer(ChatCompletion.model_validate(plain)) == words
    assert form.answer("In Porto.") == "In Porto."


def test_the_stream_of_a_chat() -> None:
    form = FORMATS["openai_chat"]
    deltas = [{"role": "assistant", "content": ""}, {"content": "In "}, {"content": "Porto"}, {"refusal": "."}, {}]
    raw = [chunk(delta) for delta in deltas] + [chunk({"content": "Other."}, 1)]
    raw += [{**chunk({}), "choices": []}, chunk({"tool_calls": [{**TOOL_CALL, "index": 0}]})]
    events = [ChatCompletionChunk.model_validate(item) for item in raw]
    assert "".join(map(form.delta, raw)) == "".join(map(form.delta, events)) == "In Porto."
    own = [
        ChunkEvent.model_construct(type="chunk", chunk=events[1]),
        ContentDeltaEvent(type="content.delta", delta="In ", snapshot="In "),
    ]
    assert "".join(map(form.delta, own)) == "In "
    assert form.delta("In ") == "In "


def test_the_message_of_a_chat_completion_is_its_answer() -> None:
    """As a program has it that takes the message out of a response, and a chat model of LangChain gives it."""
    form = FORMATS["openai_chat"]
    whole = ChatCompletion.model_validate(completion({"content": "Rye."}))
    assert form.answer(whole.choices[0].message) == form.answer({"role": "assistant", "content": "Rye."}) == "Rye."
    assert form.answer(AIMessage("Rye.")) == form.answer(AIMessage([{"type": "text", "text": "Rye."}])) == "Rye."
    pieces = [
        AIMessageChunk(content="R"),
        AIMessageChunk(content=[{"type": "text", "text": "ye."}]),
        AIMessageChunk(content=""),
    ]
    assert "".join(map(form.delta, pieces)) == "Rye."
    with pytest.raises(InvalidInput):
        form.delta(object())


def test_a_response() -> None:
    form = FORMATS["openai_responses"]
    whole = response(
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]},
        output(part("In "), part("Porto")),
        FUNCTION_CALL,
        output({"type": "refusal", "refusal": "."}),
    )
    made = Response.model_validate(whole)
    assert form.answer(whole) == form.answer(made) == "In Porto."
    assert made.output_text == "In Porto"  # of refusals it says nothing
    assert form.answer(response(FUNCTION_CALL)) == ""


def test_the_stream_of_a_response() -> None:
    from openai.types.responses import ResponseStreamEvent

    form = FORMATS["openai_responses"]
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    raw: list[dict[str, Any]] = [
        {"type": "response.created", "response": response(), "sequence_number": 0},
        {"type": "response.output_text.delta", "delta": "In ", "logprobs": [], "sequence_number": 1, **place},
        {"type": "response.reasoning_summary_text.delta", "delta": "hm", "summary_index": 0, "sequence_number": 2}
        | {"item_id": "r", "output_index": 0},
        {"type": "response.output_text.delta", "delta": "Porto", "logprobs": [], "sequence_number": 3, **place},
        {"type": "response.refusal.delta", "delta": ".", "sequence_number": 4, **place},
        {"type": "response.function_call_arguments.delta", "delta": "{}", "sequence_number": 5}
        | {"item_id": "f", "output_index": 1},
        {"type": "response.output_text.done", "text": "In Porto", "logprobs": [], "sequence_number": 6, **place},
        {"type": "response.completed", "response": response(output(part("In Porto"))), "sequence_number": 7},
    ]
    events = [TypeAdapter[Any](ResponseStreamEvent).validate_python(item) for item in raw]
    assert "".join(map(form.delta, raw)) == "".join(map(form.delta, events)) == "In Porto."


def test_a_message_of_anthropic() -> None:
    form = FORMATS["anthropic"]
    content: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "In ", "citations": None},
        {"type": "tool_use", "id": "c", "name": "f", "input": {}},
        {"type": "text", "text": "Porto."},
    ]
    whole = message_of(content)
    assert form.answer(whole) == form.answer(Message.model_validate(whole)) == "In Porto."
    assert form.answer(message_of([])) == ""


def test_the_stream_of_anthropic() -> None:
    form = FORMATS["anthropic"]
    raw: list[dict[str, Any]] = [
        {"type": "message_start", "message": message_of([])},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "In "}},
        {"type": "text", "text": "In ", "snapshot": "In "},  # the SDK's own streams tell it twice
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Porto."}},
        {"type": "content_block_stop", "index": 1, "content_block": {"type": "text", "text": "In Porto."}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop", "message": message_of([])},
    ]
    events = [TypeAdapter[Any](MessageStreamEvent).validate_python(item) for item in raw]
    assert "".join(map(form.delta, raw)) == "".join(map(form.delta, events)) == "In Porto."
    assert form.delta({"type": "ping"}) == ""


def test_plain_answers() -> None:
    form = FORMATS["plain"]
    assert form.answer("Hi.") == form.answer({"role": "assistant", "content": "Hi."}) == "Hi."
    assert form.answer({"content": [{"type": "text", "text": "Hi."}]}) == "Hi."
    assert "".join(map(form.delta, ["H", "i", {"content": "."}, {"done": True}])) == "Hi."


@pytest.mark.parametrize("name", list(FORMATS))
@pytest.mark.parametrize("wrong", [None, 7, {}, {"error": "overloaded"}])
def test_what_is_no_response_is_refused(name: str, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="a response is a text or has"):
        FORMATS[name].answer(wrong)


def test_what_an_sdk_answered_is_read_again_as_what_was_said() -> None:
    ours = [{"role": "user", "content": "Where?"}, ChatCompletionMessage(role="assistant", content="In Porto.")]
    heard = [{"role": "user", "content": "Where?"}, {"role": "assistant", "content": "In Porto."}]
    assert FORMATS["openai_chat"].read_turns(ours) == heard
    again = [*ours, {"role": "user", "content": "Sure?"}]
    assert FORMATS["openai_chat"].with_block(again, "x", "system_append")[1:] == again
    item = ResponseOutputMessage.model_validate(output(part("In Porto.")))
    assert FORMATS["openai_responses"].read_turns({"input": [ours[0], item]}) == heard
    blocks = [TextBlock(type="text", text="In Porto.")]
    request = {"system": "", "messages": [ours[0], {"role": "assistant", "content": blocks}]}
    assert FORMATS["anthropic"].read_turns(request) == heard


ADD = {"a": 1, "b": [2]}
ADDING = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": [2]}'}}
BROKEN = {"id": "c2", "type": "function", "function": {"name": "add", "arguments": '{"a": '}}
FREE = {"id": "c3", "type": "custom", "custom": {"name": "say", "input": "{not JSON"}}
ASKED = {"role": "user", "content": "Add."}


def test_calls_of_tools_in_a_chat_completion() -> None:
    form, plain = FORMATS["openai_chat"], completion({"content": None, "tool_calls": [ADDING, BROKEN, FREE]})
    wanted = (ToolCall("c1", "add", ADD), ToolCall("c2", "add", '{"a": '), ToolCall("c3", "say", "{not JSON"))
    results = {"c1": "3", "c2": "no JSON", "c3": "said"}
    for whole in (plain, ChatCompletion.model_validate(plain)):
        assert form.calls(whole) == wanted
        assert form.with_results({"model": "m", "messages": [ASKED]}, whole, results) == {
            "model": "m",
            "messages": [
                ASKED,
                {"role": "assistant", "content": None, "tool_calls": [ADDING, BROKEN, FREE]},
                {"role": "tool", "tool_call_id": "c1", "content": "3"},
                {"role": "tool", "tool_call_id": "c2", "content": "no JSON"},
                {"role": "tool", "tool_call_id": "c3", "content": "said"},
            ],
        }
    assert form.with_results([ASKED], plain, results)[0] == ASKED
    assert form.calls(completion({"content": "Hi."})) == ()


def test_calls_of_tools_in_a_response() -> None:
    form = FORMATS["openai_responses"]
    thought = {"type": "reasoning", "id": "r", "summary": []}
    call = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a": 1, "b": [2]}'}
    plain = response(thought, output(part("I add.")), call)
    for whole in (plain, Response.model_validate(plain)):
        assert form.calls(whole) == (ToolCall("c1", "add", ADD),)
        assert form.with_results({"input": "Add."}, whole, {"c1": "3"}) == {
            "input": [
                ASKED,
                thought,
                output(part("I add.")),
                call,
                {"type": "function_call_output", "call_id": "c1", "output": "3"},
            ]
        }


def test_calls_of_tools_in_a_message_of_anthropic() -> None:
    form = FORMATS["anthropic"]
    content: list[dict[str, Any]] = [
        {"type": "text", "text": "I add."},
        {"type": "tool_use", "id": "c1", "name": "add", "input": ADD},
    ]
    request = {"system": "Be kind.", "messages": [ASKED]}
    for whole in (message_of(content), Message.model_validate(message_of(content))):
        assert form.calls(whole) == (ToolCall("c1", "add", ADD),)
        assert form.with_results(request, whole, {"c1": "3"}) == {
            "system": "Be kind.",
            "messages": [
                ASKED,
                {"role": "assistant", "content": content},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "3"}]},
            ],
        }


def test_plain_messages_call_no_tools() -> None:
    assert FORMATS["plain"].calls("Hi.") == ()
    with pytest.raises(InvalidInput, match="openai_chat"):
        FORMATS["plain"].with_results([ASKED], "Hi.", {})
