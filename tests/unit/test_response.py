"""Which list of a model's answer is the one of memories."""

from __future__ import annotations

import json
import time

import pytest

from memwarden.errors import InvalidInput
from memwarden.remember.extract.model import ProposedMemory, read_response

BEES = [ProposedMemory("Ana keeps bees.")]


def read(response: str) -> list[ProposedMemory]:
    return list(read_response(response, 100_000))


@pytest.mark.parametrize(
    "response",
    [
        'I looked at [the chat] and {it}: ["Ana keeps bees."]',
        'See [1] and [2, 3]. {"memories": ["Ana keeps bees."]}',
        'Given {"facts": []}: [{"content": "Ana keeps bees."}] as asked.',
        'An empty list [] would be wrong; ["Ana keeps bees."]',
        '```python\nprint([1])\n```\nand then\n```json\n["Ana keeps bees."]\n```',
        '```\nnothing here\n```\n["Ana keeps bees."]',
        '["not this one"] but\n```json\n["Ana keeps bees."]\n```',
        '[{"content": "Ana keeps bees.", "importance": 1%s}]' % ("0" * 400),
    ],
)
def test_the_first_list_with_memories_counts(response: str) -> None:
    assert [item.text for item in read(response)] == [item.text for item in BEES]


@pytest.mark.parametrize(
    "response",
    [
        "As [1] says, there is nothing.",
        '[{"content": "Ana keeps bees.", "tags": ["bees", "honey"]',
        '[{"content": "Ana keeps bees.", "tags": ["bees"], "summary": "Ana',
        "[" * 100_000,
        '["' * 50_000,
        "{" * 100_000,
        '{"a":' * 50_000,
        '[{"content": "x", "importance": %s}]' % ("9" * 5_000),
        "```" + " " * 50_000,
    ],
    ids=lambda response: response[:20],
)
def test_what_holds_no_list_is_refused_soon(response: str) -> None:
    begun = time.process_time()
    with pytest.raises(InvalidInput, match="no list of memories"):
        read(response)
    assert time.process_time() - begun < 2.0


@pytest.mark.parametrize("response", ["[]", '{"memories": []}', '[{"summary": "no content"}]', "None: []."])
def test_an_empty_list_is_an_answer(response: str) -> None:
    assert read(response) == []


def test_tags_and_summaries_that_make_no_sense_are_left_out() -> None:
    tags = ["bees", "", " ", "x" * 257, "a\nb", "\ud800", "\x1b[1m", 5, None, ["bees"], "bees"]
    element = {"content": "Ana keeps bees.", "tags": tags, "summary": ""}
    assert read(json.dumps([element])) == [ProposedMemory("Ana keeps bees.", tags=("bees",))]
    assert read(json.dumps([{**element, "summary": " Bees "}]))[0].summary == "Bees"
    assert read(json.dumps([{**element, "tags": "bees"}])) == BEES
