"""The examples that need a provider of models, run as programs against one on this machine."""

from __future__ import annotations

import io
import json
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from memwarden import Warden
from upstream import Upstream

EXAMPLES = Path(__file__).parents[2] / "examples"
TOLD = "Please remember: I am allergic to hazelnuts."
ASKED = "Which cake can you bake that Ana, who is allergic to hazelnuts, can eat?"
SYSTEM = "You help in the kitchen. Answer in one sentence."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store that holds what was said in a conversation before."""
    with Warden.open(f"sqlite:///{tmp_path / 'chat.db'}") as warden:
        warden.scope(user="ana", thread="before").observe({"role": "user", "content": TOLD})
    return tmp_path / "chat.db"


Talk = Callable[..., list[str]]


@pytest.fixture
def talk(upstream: Upstream, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Talk:
    """Runs an example as a program, in this process to save what it imports, and returns the lines that it prints."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{upstream.url}/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", upstream.url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")

    def run(script: str, *words: str, lines: Sequence[str]) -> list[str]:
        monkeypatch.setattr(sys, "argv", [script, str(file), *words])
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        runpy.run_path(str(EXAMPLES / script), run_name="__main__")
        return capsys.readouterr().out.splitlines()

    return run


def stored(file: Path) -> list[tuple[str | None, str]]:
    """What was said after the conversation before."""
    with Warden.open(f"sqlite:///{file}") as warden:
        turns = warden.scope(user="ana").find({"channel": "turn"}, order_by="written", descending=False)
    return [(turn.role, turn.text) for turn in turns[1:]]


def test_the_loop_around_openai(talk: Talk, file: Path, upstream: Upstream) -> None:
    """It knows what was said before; a call that is refused is told, and what was asked is stored."""
    upstream.fails(401, times=1)
    upstream.says("Almond cake.")
    lines = talk("openai_loop.py", lines=(ASKED, "And now?"))
    assert (lines[0], lines[-1]) == ("", "Almond cake.")
    assert lines[1].startswith("(no answer: ")
    refused, answered = (prompt["messages"] for prompt in upstream.prompts())
    assert refused[0]["content"].startswith(f"{SYSTEM}\n\n<memories>\n")
    assert TOLD.removeprefix("Please remember: ") in refused[0]["content"]
    assert refused[1:] == [{"role": "user", "content": ASKED}]
    assert answered[1:] == [*refused[1:], {"role": "user", "content": "And now?"}]
    assert stored(file) == [("user", ASKED), ("user", "And now?"), ("assistant", "Almond cake.")]


def test_the_loop_around_anthropic(talk: Talk, file: Path, upstream: Upstream) -> None:
    """The model saves a value by a tool within a turn; what it is told then is the tool's own answer."""
    call = {"name": "saveState", "arguments": {"key": "cake", "value": "almond"}, "id": "toolu_1"}
    moment = {"content": "A moment.", "toolCalls": [call]}
    upstream.script({"match": {"userMessage": ASKED, "hasToolResult": False}, "response": moment})
    upstream.says("Almond cake.", after=ASKED)
    upstream.says("Bye.", after="Thanks")
    assert talk("anthropic_loop.py", lines=(ASKED, "Thanks.")) == ["A moment.Almond cake.", "Bye."]
    first, second, third = upstream.prompts()
    assert first["system"].startswith(f"{SYSTEM}\n\n<memories>\n")
    assert first["messages"] == [{"role": "user", "content": ASKED}]
    assert first["system"] == second["system"]
    asked, called, told = second["messages"]
    assert asked == first["messages"][0]
    assert [block["type"] for block in called["content"]] == ["text", "tool_use"]
    assert told["content"][0]["tool_use_id"] == "toolu_1"
    assert json.loads(told["content"][0]["content"])["success"] is True
    assert [item["role"] for item in third["messages"]] == ["user", "assistant", "user", "assistant", "user"]
    answers = [("assistant", "A moment."), ("assistant", "Almond cake.")]
    assert stored(file) == [("user", ASKED), *answers, ("user", "Thanks."), ("assistant", "Bye.")]
    with Warden.open(f"sqlite:///{file}") as warden:
        assert warden.scope(user="ana").state.load("cake") == "almond"


def test_an_invented_tool_is_told_to_the_model_and_empty_lines_say_nothing(talk: Talk, upstream: Upstream) -> None:
    call = {"name": "bakeCake", "arguments": {"cake": "almond"}, "id": "toolu_1"}
    upstream.script({"match": {"userMessage": ASKED, "hasToolResult": False}, "response": {"toolCalls": [call]}})
    upstream.says("I cannot bake.", after=ASKED)
    assert talk("anthropic_loop.py", lines=("", ASKED, "  ")) == ["I cannot bake."]
    _, second = upstream.prompts()
    told = json.loads(second["messages"][-1]["content"][0]["content"])
    assert (told["success"], "there is no tool 'bakeCake'" in told["error"]) == (False, True)


@pytest.mark.parametrize("script", ["openai_loop.py", "anthropic_loop.py", "langgraph_agent.py"])
def test_without_a_key_an_example_says_how_it_is_used(script: str, talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(SystemExit, match=r"^usage: .*_API_KEY=") as ended:
        talk(script, "monday", lines=())
    assert ended.value.code == str(ended.value)


def test_the_agent_of_langgraph(talk: Talk, file: Path, upstream: Upstream) -> None:
    """A tool is called between two turns of the model; the second question finds the first in the graph's state."""
    call = {"name": "nuts_in", "arguments": {"cake": "almond cake"}, "id": "call_1"}
    upstream.script({"match": {"userMessage": ASKED, "hasToolResult": False}, "response": {"toolCalls": [call]}})
    upstream.says("The almond cake.", after=ASKED)
    upstream.says("At four.", after="When")
    lines = talk("langgraph_agent.py", "tuesday", lines=(ASKED, "When is it ready?"))
    assert lines == ["The almond cake.", "At four."]
    first, second, third = (prompt["messages"] for prompt in upstream.prompts())
    assert TOLD.removeprefix("Please remember: ") in first[0]["content"]
    assert first[1:] == [{"role": "user", "content": ASKED}]
    assert second[:2] == first
    assert second[3] == {"role": "tool", "tool_call_id": "call_1", "content": "almonds"}
    assert [item["role"] for item in third if item["role"] != "system"] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    answers = [("assistant", "The almond cake."), ("user", "When is it ready?"), ("assistant", "At four.")]
    assert stored(file) == [("user", ASKED), *answers]
