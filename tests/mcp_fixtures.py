"""The tools, resources and prompts that the conformance suite of MCP asks a server for, added to one of ours."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CallToolResult,
    Completion,
    ContentBlock,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    EmbeddedResource,
    ImageContent,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SILENCE = base64.b64encode(
    b"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\2\0\0\0\0\0"
).decode()
Ctx = Context[Any, Any]


def text(words: str) -> TextContent:
    return TextContent(text=words)


def image() -> ImageContent:
    return ImageContent(data=PIXEL, mime_type="image/png")


def embedded(uri: str, words: str, kind: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(resource=TextResourceContents(uri=uri, text=words, mime_type=kind))


def form(message: str, **fields: str) -> ElicitRequest:
    """A question to a person with a form of these fields."""
    schema = {"type": "object", "properties": {name: {"type": kind} for name, kind in fields.items()}}
    schema["required"] = list(fields)
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(question: str) -> CreateMessageRequest:
    asked = [SamplingMessage(role="user", content=text(question))]
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=asked, max_tokens=100))


def add_fixtures(server: MCPServer[Any]) -> None:
    """Add what the suite asks for."""
    add_contents(server)
    add_talk(server)
    add_questions(server)
    add_resources(server)
    add_prompts(server)

    @server.completion()  # type: ignore[no-untyped-call,untyped-decorator]  # the package has no types for it
    async def complete(ref: Any, argument: Any, context: Any) -> Completion:
        return Completion(values=[], total=0, has_more=False)


def add_contents(server: MCPServer[Any]) -> None:
    contents: dict[str, list[ContentBlock]] = {
        "test_simple_text": [text("This is a simple text response for testing.")],
        "test_image_content": [image()],
        "test_audio_content": [AudioContent(data=SILENCE, mime_type="audio/wav")],
        "test_embedded_resource": [embedded("test://embedded-resource", "This is an embedded resource content.")],
        "test_multiple_content_types": [
            text("Multiple content types test:"),
            image(),
            embedded("test://mixed-content-resource", '{"test": "data", "value": 123}', "application/json"),
        ],
    }
    for name, blocks in contents.items():

        def give(_: Ctx, result: CallToolResult = CallToolResult(content=blocks)) -> CallToolResult:  # noqa: B008
            return result

        add(server, name, give)

    @server.tool(description="Fails on purpose", structured_output=False)
    def test_error_handling() -> CallToolResult:
        return CallToolResult(content=[text("This tool intentionally returns an error for testing")], is_error=True)


def add_talk(server: MCPServer[Any]) -> None:
    @server.tool(description="Talks while it runs")
    async def test_tool_with_progress(ctx: Ctx) -> str:
        for step in (0, 50, 100):
            await ctx.report_progress(step, 100, f"Completed step {step} of 100")
        return "done"

    @server.tool(description="Talks while it runs")
    async def test_logging_tool(ctx: Ctx) -> str:
        await ctx.info("a line")
        return "done"

    @server.tool(description="Talks while it runs")
    async def test_missing_capability(ctx: Ctx) -> str:
        can = ctx.client_capabilities
        if can is None or can.sampling is None:
            needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "this takes sampling", needed)
        return "there"


def value_of(answer: Any) -> str:
    """What a client gave: a form's fields, a model's words, or roots."""
    given: dict[str, Any] = answer.model_dump(mode="json")
    return json.dumps(given.get("content") or given.get("roots"))


def asking(*rounds: dict[str, InputRequest], state: bool = False) -> Callable[[Ctx], Any]:
    """A call that asks round after round, and then says what it was given."""

    def ask(ctx: Ctx) -> CallToolResult | InputRequiredResult:
        answers = ctx.input_responses or {}
        said: list[str] = json.loads(ctx.request_state) if ctx.request_state else []
        wanted = rounds[min(len(said), len(rounds) - 1)]
        if not all(fits(wanted[key], answers.get(key)) for key in wanted):
            needed = {key: value for key, value in wanted.items() if not fits(value, answers.get(key))}
            return InputRequiredResult(input_requests=needed, request_state=json.dumps(said) if state else None)
        said.append(" ".join(value_of(answers[key]) for key in wanted))
        if len(said) < len(rounds):
            return InputRequiredResult(input_requests=rounds[len(said)], request_state=json.dumps(said))
        return CallToolResult(content=[text(f"state-ok {' '.join(said)}")])

    return ask


def fits(asked: InputRequest, answer: Any) -> bool:
    """Whether an answer is there, and has what the form asks for."""
    if answer is None or not isinstance(asked, ElicitRequest):
        return answer is not None
    schema: Any = asked.params.requested_schema  # type: ignore[union-attr]
    return all(name in (getattr(answer, "content", None) or {}) for name in schema["required"])


def add_questions(server: MCPServer[Any]) -> None:
    name = form("What is your name?", name="string")
    capital = sample("What is the capital of France?")
    roots = ListRootsRequest()
    confirm = form("Please confirm", ok="boolean")
    calls = {
        "elicitation": asking({"user_name": name}),
        "sampling": asking({"capital_question": capital}),
        "list_roots": asking({"client_roots": roots}),
        "request_state": asking({"confirm": confirm}, state=True),
        "tampered_state": asking({"confirm": confirm}, state=True),
        "multiple_inputs": asking({"user_name": name, "greeting": sample("Greet."), "client_roots": roots}, state=True),
        "multi_round": asking({"step1": name}, {"step2": form("Which color?", color="string")}, state=True),
    }
    for label, ask in calls.items():
        add(server, f"test_input_required_result_{label}", ask)
    add(server, "test_streaming_elicitation", calls["elicitation"])

    def by_capability(ctx: Ctx) -> CallToolResult | InputRequiredResult:
        can = ctx.client_capabilities
        wanted: dict[str, InputRequest] = {}
        if can is not None and can.sampling is not None:
            wanted["capital_question"] = capital
        if can is not None and can.elicitation is not None:
            wanted["user_name"] = name
        result: CallToolResult | InputRequiredResult = asking(wanted)(ctx)
        return result

    add(server, "test_input_required_result_capabilities", by_capability)

    @server.prompt(description="A fixture")
    def test_input_required_result_prompt(ctx: Ctx) -> Any:
        answer = (ctx.input_responses or {}).get("user_context")
        asked = form("What context should the prompt use?", context="string")
        if answer is None:
            return InputRequiredResult(input_requests={"user_context": asked})
        return [UserMessage(content=text(f"Use this context: {value_of(answer)}"))]


def add(server: MCPServer[Any], name: str, ask: Callable[[Ctx], Any]) -> None:
    def call(ctx: Ctx) -> CallToolResult | InputRequiredResult:
        result: CallToolResult | InputRequiredResult = ask(ctx)
        return result

    server.add_tool(call, name=name, description=f"Fixture {name}", structured_output=False)


def add_resources(server: MCPServer[Any]) -> None:
    @server.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        return base64.b64decode(PIXEL)

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def add_prompts(server: MCPServer[Any]) -> None:
    @server.prompt(description="A fixture")
    def test_simple_prompt() -> str:
        return "This is a simple prompt for testing."

    @server.prompt(description="A fixture")
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt(description="A fixture")
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803  # the suite's name
        resource = embedded(resourceUri, "Embedded resource content for testing.")
        return [UserMessage(content=resource), UserMessage(content=text("Please process the embedded resource above."))]

    @server.prompt(description="A fixture")
    def test_prompt_with_image() -> list[UserMessage]:
        return [UserMessage(content=image()), UserMessage(content=text("Please analyze the image above."))]
