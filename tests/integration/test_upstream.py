"""The provider that the tests of SDKs speak to: it keeps what came over the wire, and breaks when it is told to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from upstream import Upstream

LOCK = Path(__file__).parents[1] / "aimock" / "package-lock.json"
ASKED: list[Any] = [{"role": "user", "content": "Which cake? Für Ana: 🎂"}]


def test_both_sdks_get_what_was_scripted_and_what_they_sent_is_kept(upstream: Upstream) -> None:
    upstream.says("Almond cake.", after="cake")
    chat = openai.OpenAI(base_url=f"{upstream.url}/v1", api_key="none", max_retries=0)
    claude = anthropic.Anthropic(base_url=upstream.url, api_key="none", max_retries=0)
    system: Any = [{"type": "text", "text": "Be short.", "cache_control": {"type": "ephemeral"}}]

    completion = chat.chat.completions.create(model="gpt-5", messages=ASKED)
    assert completion.choices[0].message.content == "Almond cake."
    assert chat.responses.create(model="gpt-5", input=ASKED, instructions="Be short.").output_text == "Almond cake."
    message = claude.messages.create(model="claude-opus-5", max_tokens=9, system=system, messages=ASKED)
    assert message.content[0].type == "text"

    assert [item.path for item in upstream.received()] == ["/v1/chat/completions", "/v1/responses", "/v1/messages"]
    assert upstream.prompts() == [
        {"model": "gpt-5", "messages": ASKED},
        {"model": "gpt-5", "input": ASKED, "instructions": "Be short."},
        {"model": "claude-opus-5", "max_tokens": 9, "system": system, "messages": ASKED},
    ]
    upstream.reset()
    assert upstream.received() == []


def test_an_answer_breaks_off_after_some_of_its_words(upstream: Upstream) -> None:
    upstream.breaks_off("one two three four five six", chunks=5)
    chat = openai.OpenAI(base_url=f"{upstream.url}/v1", api_key="none", max_retries=0)
    got = ""
    stream = chat.chat.completions.create(model="gpt-5", messages=ASKED, stream=True)
    with pytest.raises(openai.APIError):  # noqa: PT012  the words before it breaks off are what is looked at
        for event in stream:
            got += event.choices[0].delta.content or ""
    assert got
    assert got != "one two three four five six"
    assert "one two three four five six".startswith(got)


def test_the_lock_file_names_no_registry() -> None:
    """npm writes the address of each package into its lock file, unless .npmrc beside it says otherwise."""
    packages = json.loads(LOCK.read_text("utf-8"))["packages"]
    assert packages["node_modules/@copilotkit/aimock"]["integrity"].startswith("sha512-")
    assert not [name for name, package in packages.items() if "resolved" in package]
